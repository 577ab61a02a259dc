# SPDX-License-Identifier: Apache-2.0
"""The classes of kernels.errors for where huggingface_hub is not installed."""


class _Answer:
    """What is known of an HTTP answer."""

    def __init__(self, status_code: int, url: str | None):
        self.status_code = status_code
        self.url = url
        self.headers: dict = {}
        self.text = ""


class HTTPError(Exception):
    """A failed exchange with a server."""


class HfHubHTTPError(HTTPError, OSError):
    """An answer of the Hub that is a failure. response.status_code and response.url tell more."""

    request_id: str | None = None
    server_message: str | None = None

    def __init__(self, message: str = "", http_status: int = 0, url: str | None = None):
        super().__init__(message)
        self.response = _Answer(http_status, url)


class EntryNotFoundError(Exception):
    """There is no such file."""


class RepositoryNotFoundError(HfHubHTTPError):
    """There is no such repository, or it is private and the token does not open it."""


class GatedRepoError(RepositoryNotFoundError):
    """Access to the repository must be asked for on the Hub."""


class RevisionNotFoundError(HfHubHTTPError):
    """The repository has no such branch, tag or commit."""


class RemoteEntryNotFoundError(HfHubHTTPError, EntryNotFoundError):
    """The repository has no such file."""


class DisabledRepoError(HfHubHTTPError):
    """The Hub has shut the repository."""


class BadRequestError(HfHubHTTPError, ValueError):
    """The Hub did not understand the request."""


class LocalEntryNotFoundError(FileNotFoundError, EntryNotFoundError):
    """A file is not in the cache, and the Hub was not asked or did not answer."""


class OfflineModeIsEnabled(ConnectionError):
    """The Hub is out of bounds: HF_HUB_OFFLINE is set."""


class LocalTokenNotFoundError(OSError):
    """A token is needed and there is none."""


class HFValidationError(ValueError):
    """A text is no repository id."""


for _each in list(vars().values()):
    if isinstance(_each, type) and issubclass(_each, Exception):
        _each.__module__ = "kernels.errors"
