# SPDX-License-Identifier: Apache-2.0
"""The Hub as this process sees it: its configuration, kept until the environment it was made from changes."""

import os
import sys

from kernels import _native
from kernels._record import dataclass

# Whatever the library reads when a configuration is made.
_VARIABLES = (
    "KERNELS_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DISABLE_TELEMETRY",
    "DO_NOT_TRACK", "HF_HUB_USER_AGENT_ORIGIN", "HF_ENDPOINT", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE",
    "XDG_CACHE_HOME", "HOME", "HF_TOKEN", "HF_TOKEN_PATH", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_DISABLE_IMPLICIT_TOKEN",
    "HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_DISABLE_SYMLINKS",
)  # fmt: skip
_LOGGERS = {"trust": "kernels.hf_hub", "hub": "kernels.hf_hub", "versions": "kernels._versions",
            "variants": "kernels.variants", "status": "kernels.status", "dirty": "kernels.validate"}  # fmt: skip
_CONTEXTS_MAX = 8  # different configurations kept

_contexts: dict = {}  # key of HubApi.context -> _native.Context, in order of first use


def _get_cache_dir() -> str | None:
    """KERNELS_CACHE, or None: then kernels are kept in the cache of the Hub."""
    folder = os.environ.get("KERNELS_CACHE")
    return os.path.expanduser(folder) if folder else None


CACHE_DIR = _CACHE_DIR_AT_IMPORT = _get_cache_dir()


@dataclass(frozen=True)
class RepoInfo:
    """Where on the Hub a kernel comes from. revision is a commit, or the text that was given as revision."""

    repo_id: str
    revision: str


class HubApi:
    """What the functions of this package take as `api`.

    user_agent is what is told to the Hub beside the facts about this machine: a text or a dictionary. endpoint and
    token are those of the environment unless given.
    """

    def __init__(self, user_agent: str | dict | None = None, endpoint: str | None = None, token: str | None = None):
        if isinstance(user_agent, dict):
            user_agent = "; ".join(f"{key}/{value}" for key, value in user_agent.items())
        self.user_agent = user_agent if user_agent and isinstance(user_agent, str) else None  # the release passes over others
        self.endpoint = endpoint
        self.token = token
        self._made: dict = {}  # (process, cache_only) -> context

    @property
    def offline(self) -> bool:
        """Is the Hub out of bounds?"""
        return self.context().offline

    def context(self, cache_only: bool = False) -> "_native.Context":
        """The library's configuration, for the environment at the first call. cache_only: the Hub is asked for nothing."""
        key = (os.getpid(), cache_only)
        if key not in self._made:
            usual = self.context() if cache_only else None
            self._made[key] = usual if usual is not None and usual.offline else self._find_context(cache_only)
        return self._made[key]

    def _find_context(self, cache_only: bool) -> "_native.Context":
        from kernels import _machine

        system = _machine.system()
        offline, telemetry = _switches()
        offline = True if cache_only else offline
        folder = CACHE_DIR if CACHE_DIR != _CACHE_DIR_AT_IMPORT else None
        given = (offline, telemetry, self.user_agent, self.token, self.endpoint, folder)
        key = (os.getpid(), *given, *map(os.environ.get, _VARIABLES), *system.values())
        found = _contexts.get(key)
        if found is None:
            found = _native.Context(system, offline=offline, telemetry=telemetry, user_agent=self.user_agent,
                                    token=self.token, endpoint=self.endpoint, cache_directory=folder, warn=_warn)
            for oldest in list(_contexts)[: 1 - _CONTEXTS_MAX]:
                _contexts.pop(oldest, None)
            _contexts[key] = found
        return found


def _get_hf_api(user_agent: str | dict | None = None) -> HubApi:
    return HubApi(user_agent)


def _as_api(api) -> HubApi:
    """Also takes an HfApi of huggingface_hub, of which endpoint, token and user agent count."""
    if api is None or isinstance(api, HubApi):
        return api or HubApi()
    token = getattr(api, "token", None)
    return HubApi(getattr(api, "user_agent", None), getattr(api, "endpoint", None), token if isinstance(token, str) else None)


def _switches() -> tuple:
    """(offline, telemetry); None: as the environment says. A Hub client that is loaded may have been switched since."""
    constants = sys.modules.get("huggingface_hub.constants")
    if constants is None:
        return None, None
    return bool(constants.HF_HUB_OFFLINE), not constants.HF_HUB_DISABLE_TELEMETRY


def _platform() -> str:
    """CPU and operating system as build variants name them, "x86_64-linux"."""
    from kernels import _machine

    system = _machine.system()
    return f"{system['cpu']}-{system['os']}"


def _trusted(trust_remote_code) -> bool | list[str]:
    """True for the object True alone, a copy of a list of repository ids, else False."""
    if trust_remote_code is True:
        return True
    return [name for name in trust_remote_code if isinstance(name, str)] if isinstance(trust_remote_code, list) else False


def _check_trust_remote_code(repo_id: str, local_files_only: bool, trust_remote_code: bool | list[str]) -> None:
    """ValueError unless the publisher is trusted or the caller says so. With local_files_only nobody is asked."""
    HubApi().context(cache_only=local_files_only).check_trust(repo_id, trust=_trusted(trust_remote_code))


def _warn(category: str, message: str) -> None:
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger(_LOGGERS.get(category, "kernels.hf_hub")).warning("%s", message)
    elif sys.stderr is not None:  # nobody can have set it up: what it would do, without importing it
        print(message, file=sys.stderr)
