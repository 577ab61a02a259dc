# SPDX-License-Identifier: Apache-2.0
"""Exceptions for failures of the Hub: the classes of huggingface_hub.errors where that package is installed, else classes of
the same names and bases. Whoever catches one of either module catches what this package raises.

    HfHubHTTPError (HTTPError, OSError)     an answer of the Hub that is a failure; response, server_message, request_id
      RepositoryNotFoundError               also repo_id, repo_type
        GatedRepoError                      access must be asked for first
      RevisionNotFoundError                 also repo_id, repo_type
      RemoteEntryNotFoundError              (also EntryNotFoundError) no such file in the repository
      DisabledRepoError
      BadRequestError                       (also ValueError)
    LocalEntryNotFoundError                 (FileNotFoundError, EntryNotFoundError) not in the cache
    OfflineModeIsEnabled (ConnectionError)
    LocalTokenNotFoundError (OSError)
    HFValidationError (ValueError)

An attribute `status` of what is raised names the failure: "REPOSITORY_NOT_FOUND".
"""

import sys

from kernels._machine import find_spec

_NAMES = (
    "HTTPError", "HfHubHTTPError", "EntryNotFoundError", "RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError",
    "RemoteEntryNotFoundError", "DisabledRepoError", "BadRequestError", "LocalEntryNotFoundError", "OfflineModeIsEnabled",
    "LocalTokenNotFoundError", "HFValidationError",
)  # fmt: skip

# Status of the library to name of a class; other failures are exceptions of Python.
_OF_STATUS = {
    "HTTP": "HfHubHTTPError",
    "AUTHENTICATION": "HfHubHTTPError",
    "FORBIDDEN": "HfHubHTTPError",
    "CONFLICT": "HfHubHTTPError",
    "RATE_LIMITED": "HfHubHTTPError",
    "REPOSITORY_NOT_FOUND": "RepositoryNotFoundError",
    "REVISION_NOT_FOUND": "RevisionNotFoundError",
    "ENTRY_NOT_FOUND": "RemoteEntryNotFoundError",
    "GATED_REPOSITORY": "GatedRepoError",
    "DISABLED_REPOSITORY": "DisabledRepoError",
    "BAD_REQUEST": "BadRequestError",
    "OFFLINE": "OfflineModeIsEnabled",
    "TOKEN_NOT_FOUND": "LocalTokenNotFoundError",
}

_own: dict = {}  # name -> class, made when first needed


def __getattr__(name):
    if name in _NAMES:
        return _class(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_NAMES})


def _class(name: str) -> type:
    """The class that is raised and caught under a name. huggingface_hub is imported here, not before."""
    module = sys.modules.get("huggingface_hub.errors")
    if module is None and find_spec("huggingface_hub") is not None:
        try:
            from huggingface_hub import errors as module
        except ImportError:
            module = None
    found = getattr(module, name, None)
    return found if isinstance(found, type) else _own_class(name)


def _own_class(name: str) -> type:
    if not _own:
        from kernels import _errors

        _own.update({each: getattr(_errors, each) for each in _NAMES})
    return _own[name]


def make(status: str, message: str, http_status: int, subject: str | None) -> Exception | None:
    """The exception for a failure of the library; None when it is none of the Hub's. subject: the URL it is about."""
    name = _OF_STATUS.get(status)
    if name is None:
        return None
    cls = _class(name)
    if not issubclass(cls, _class("HfHubHTTPError")):
        return cls(message)
    exception = _http_error(cls, message, http_status, subject)
    repo_id = _repository_of(subject)
    if repo_id and not getattr(exception, "repo_id", None) and hasattr(exception, "__dict__"):
        exception.repo_id, exception.repo_type = repo_id, "kernel"
    return exception


def _http_error(cls: type, message: str, http_status: int, url: str | None) -> Exception:
    """The Hub's client builds its errors from an answer; it gets one with the status and the URL."""
    if cls.__module__ == "kernels.errors":
        return cls(message, http_status, url)
    try:
        from importlib import import_module

        client = import_module(_class("HTTPError").__module__.split(".")[0])  # httpx, or what took its place
        request = client.Request("GET", url or "http://unknown.invalid")
        return cls(message, response=client.Response(http_status or 500, request=request))
    except Exception:  # a release that is built on another kind of library
        exception = cls.__new__(cls, message)
        exception.args = (message,)
        exception.response = exception.server_message = exception.request_id = None
        return exception


def _repository_of(url: str | None) -> str | None:
    """"owner/name" of https://.../kernels/owner/name/...; None for other URLs."""
    if not url or "://" not in url:
        return None
    _, found, rest = url.partition("/kernels/")
    parts = rest.split("?")[0].split("/")
    return f"{parts[0]}/{parts[1]}" if found and len(parts) >= 2 and parts[1] else None
