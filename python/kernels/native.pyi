import os
from typing import Any, Protocol

class SupportsDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

class Tensor:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Function:
    @property
    def platform(self) -> str: ...
    @property
    def plugin(self) -> str: ...
    # arguments: objects with __dlpack__ or the buffer protocol; several results come as a tuple
    def __call__(self, *arguments: SupportsDLPack | bytes | bytearray | memoryview | Any) -> Any: ...

class Kernel:
    @property
    def path(self) -> str: ...
    @property
    def variant(self) -> str: ...
    @property
    def repo_id(self) -> str | None: ...
    @property
    def revision(self) -> str | None: ...
    @property
    def verified(self) -> bool: ...
    @property
    def functions(self) -> dict[str, tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]]: ...
    def __getattr__(self, name: str) -> Function: ...

def load(
    repo_id: str,
    *,
    version: int | None = None,
    revision: str | None = None,
    backend: str | None = None,
    trust_remote_code: bool = False,
    plugin: str | os.PathLike[str] | None = None,
    strict: bool = False,
) -> Kernel: ...
def load_local(
    path: str | os.PathLike[str],
    *,
    backend: str | None = None,
    plugin: str | os.PathLike[str] | None = None,
    strict: bool = False,
) -> Kernel: ...
