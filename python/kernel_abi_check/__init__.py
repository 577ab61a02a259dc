# SPDX-License-Identifier: Apache-2.0
"""What a compiled kernel demands of the machine it is loaded on. The names and behaviour of the released module
`kernel_abi_check` 0.14.1; what loaders see is read, so that stripped libraries are checked too.

    for symbol in ObjectFile("k.abi3.so").check_manylinux("manylinux_2_28"):
        print(symbol)

New: `check_torch_stable_abi`, and `symbols="symtab"`, which reads what the released module reads.
"""
import os

from kernel_abi_check import _native

__version__ = "0.14.1"  # the release whose behaviour is provided
__all__ = ["BinaryFormat", "IncompatibleAbi3Symbol", "IncompatibleMacOSVersion", "IncompatibleManylinuxSymbol",
           "MissingMacOSVersion", "NonAbi3Symbol", "ObjectFile", "__version__"]


class _Value:
    """Read-only attributes, equality by value. Texts of classes name no module, as in the released one."""

    __slots__ = ()
    __module__ = "builtins"

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute '{name}' of '{type(self).__name__}' objects is not writable")

    def _set(self, **values):
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    def _values(self) -> tuple:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other):
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    __hash__ = None

    def __repr__(self):
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({values})"


class BinaryFormat(_Value):
    """Format of an object file; `int()` gives its index."""

    __slots__ = ("_name", "_index")
    __module__ = "builtins"

    def __new__(cls, *_, **__):
        raise TypeError("cannot create 'builtins.BinaryFormat' instances")

    def __int__(self):
        return self._index

    def __hash__(self):
        return hash(self._index)

    def __repr__(self):
        return f"BinaryFormat.{self._name}"


for _index, _name in enumerate(("COFF", "ELF", "MACH_O", "PE", "WASM", "XCOFF")):
    setattr(BinaryFormat, _name, object.__new__(BinaryFormat)._set(_name=_name, _index=_index))


def _text(value, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"argument '{what}': '{type(value).__name__}' object cannot be converted to 'PyString'")
    return value


def _version(text, subject: str) -> str:
    try:
        return _native.normal_version(text)
    except ValueError as error:
        raise ValueError(f"Cannot parse {subject} `{text}`: {error}") from None


class IncompatibleManylinuxSymbol(_Value):
    """A symbol whose version the policy does not allow."""

    __slots__ = ("name", "dep", "version")
    __module__ = "builtins"

    def __init__(self, *, name: str, dep: str, version: str):
        self._set(name=_text(name, "name"), dep=_text(dep, "dep"), version=_text(version, "version"))


class IncompatibleAbi3Symbol(_Value):
    """A symbol that came into Python's stable ABI later."""

    __slots__ = ("name", "version_added")
    __module__ = "builtins"

    def __init__(self, *, name: str, added: str):
        self._set(name=_text(name, "name"), version_added=_version(_text(added, "added"), "the version the symbol was added"))


class _Found(_Value):
    __slots__ = ()
    __module__ = "builtins"

    def __new__(cls, *_, **__):
        raise TypeError(f"cannot create 'builtins.{cls.__name__}' instances")


class NonAbi3Symbol(_Found):
    """A symbol of Python that is not in its stable ABI."""

    __slots__ = ("name",)
    __module__ = "builtins"


class MissingMacOSVersion(_Value):
    """The file does not say which macOS it needs."""

    __slots__ = ()
    __module__ = "builtins"

    def __init__(self):
        pass


class IncompatibleMacOSVersion(_Value):
    """The file needs a newer macOS."""

    __slots__ = ("version",)
    __module__ = "builtins"

    def __init__(self, *, version: str):
        self._set(version=_version(_text(version, "version"), "the version the symbol was added"))


class IncompatibleTorchSymbol(_Found):
    """A function that came into torch's stable ABI later."""

    __slots__ = ("name", "added")
    __module__ = "builtins"


class NonStableTorchSymbol(_Found):
    """A symbol of torch outside of its stable ABI."""

    __slots__ = ("name", "mangled")
    __module__ = "builtins"


def _found(cls, **values):
    return object.__new__(cls)._set(**values)


class ObjectFile:
    """A library. The file must be readable at once; each check maps it again."""

    __module__ = "builtins"

    def __init__(self, filename):
        path = os.fspath(filename)
        if not isinstance(path, str):
            raise TypeError(f"argument 'filename': '{type(path).__name__}' object cannot be converted to 'PyString'")
        self._path = path
        try:
            with open(path, "rb") as file:
                self._head = file.read(4096)
        except OSError as error:
            raise OSError(f"Cannot open object file `{path}`: {error.strerror} (os error {error.errno})") from None

    def __repr__(self):
        return f"<builtins.ObjectFile object at {id(self):#x}>"

    def format(self) -> BinaryFormat:
        index = _native.recognise(self._head)
        for name in ("COFF", "ELF", "MACH_O", "PE"):
            if int(getattr(BinaryFormat, name)) == index:
                return getattr(BinaryFormat, name)
        self._check("python", "3.9")  # says what it is instead
        raise ValueError(f"Cannot parse object file `{self._path}`")

    def _check(self, check: str, argument: str, symbols: str = "dynamic") -> list[tuple]:
        if symbols not in ("dynamic", "symtab"):
            raise ValueError(f"symbols must be 'dynamic' or 'symtab', not {symbols!r}")
        return _native.check(self._path, check, argument, symbols == "symtab")

    def check_manylinux(self, manylinux_version: str, *, symbols: str = "dynamic") -> list:
        rows = self._check("manylinux", _text(manylinux_version, "manylinux_version"), symbols)
        return [IncompatibleManylinuxSymbol(name=name, dep=dep, version=version)
                for kind, name, dep, version, _, _ in rows if kind == "version-not-allowed"]

    def check_python_abi(self, abi_version: str, *, symbols: str = "dynamic") -> list:
        rows = self._check("python", _text(abi_version, "abi_version"), symbols)
        return [IncompatibleAbi3Symbol(name=name, added=added) if kind == "too-new" else _found(NonAbi3Symbol, name=name)
                for kind, name, _, _, added, _ in rows if kind in ("too-new", "not-abi3")]

    def check_macos(self, macos_version: str) -> list:
        rows = self._check("macos", _text(macos_version, "macos_version"))
        return [IncompatibleMacOSVersion(version=version) if kind == "os-version-too-new" else MissingMacOSVersion()
                for kind, _, _, version, _, _ in rows if kind.startswith("os-version-")]

    def check_torch_stable_abi(self, version: str, *, symbols: str = "dynamic") -> list:
        rows = self._check("torch", _text(version, "version"), symbols)
        return [_found(IncompatibleTorchSymbol, name=name, added=added) if kind == "too-new" else
                _found(NonStableTorchSymbol, name=name, mangled=mangled) for kind, name, _, _, added, mangled in rows]
