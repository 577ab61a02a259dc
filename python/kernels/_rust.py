# SPDX-License-Identifier: Apache-2.0
"""The formats of the Kernel Hub: backends, names, versions, metadata.json, build.toml, digests, lock files.

The name and the classes are those of the native module of the released package `kernels`. Here they are small
immutable classes over the functions of kernels._native; whatever is parsed or printed, the library does it.

Names, versions, dependencies, locks and their collections compare by value, other objects by identity. Lists and
dictionaries that are handed out are fresh.
"""

from os import fspath

from kernels import _native
from kernels._native import version as __version__

__all__ = [
    "Backend",
    "BackendInfo",
    "Provenance",
    "GitStatus",
    "KernelBuilderVersion",
    "KernelName",
    "KernelVersion",
    "KernelDependency",
    "KernelLock",
    "KernelLocks",
    "NixKernelLock",
    "NixKernelLocks",
    "KernelPaths",
    "General",
    "Build",
    "Metadata",
    "Version",
    "DigestAlgorithm",
    "Digest",
    "DigestViolation",
    "DigestValidationError",
    "__version__",
]

_KERNELS, _NIX, _PATHS = 0, 1, 2  # kernels_lock_kind


# ---- what all classes share ----


class _Object:
    """Immutable, without a constructor, not to be subclassed; may be copied and pickled."""

    __slots__ = ()

    def __new__(cls, *arguments, **keywords):
        raise TypeError(f"{cls.__qualname__} cannot be called: no constructor defined")

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__qualname__} is immutable: {name!r} cannot be set")

    def __delattr__(self, name):
        raise AttributeError(f"{type(self).__qualname__} is immutable: {name!r} cannot be deleted")

    def __reduce__(self):
        return _make, (type(self), *map(self.__getattribute__, self.__slots__))


class _Value(_Object):
    """Compares and hashes by its fields."""

    __slots__ = ()

    def _key(self):
        return tuple(map(self.__getattribute__, self.__slots__))

    def __eq__(self, other):
        return self._key() == other._key() if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash((type(self).__qualname__, self._key()))


def _make(cls, *values):
    """An object of a class, its fields in the order of __slots__."""
    self = object.__new__(cls)
    for name, value in zip(cls.__slots__, values):
        object.__setattr__(self, name, value)
    return self


def _refuse_subclass(cls, **keywords):
    raise TypeError(f"{cls.__mro__[1].__qualname__} cannot be subclassed")


def _final(cls):
    cls.__init_subclass__ = classmethod(_refuse_subclass)
    return cls


def _expect(name, value, *classes):
    if not isinstance(value, classes):
        wanted = " or ".join(cls.__name__ for cls in classes)
        raise TypeError(f"argument {name!r}: expected {wanted}, found {type(value).__name__!r} object")
    return value


def _unsigned(name, value):
    """An integer of 64 bits, or what behaves as one."""
    if not hasattr(type(value), "__index__"):
        raise TypeError(f"argument {name!r}: {type(value).__name__!r} object cannot be interpreted as an integer")
    number = int(value.__index__())
    if number < 0:
        raise OverflowError(f"argument {name!r}: {number} is negative")
    if number >= 1 << 64:
        raise OverflowError(f"argument {name!r}: {number} is larger than 2**64-1")
    return number


# ---- how objects show themselves ----

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def _quote(text):
    if '"' not in text and "\\" not in text and text.isprintable():
        return f'"{text}"'
    escaped = (_ESCAPES.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text)
    return '"' + "".join(escaped) + '"'


def _show(value):
    """A field as it stands in a repr."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_show, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_show(key)}: {_show(item)}" for key, item in value.items()) + "}"
    return repr(value)


def _fields(self, *names):
    return f"{type(self).__qualname__}(" + ", ".join(f"{name}={_show(getattr(self, name))}" for name in names) + ")"


# ---- backends ----


@_final
class Backend(_Value):
    """A family of devices. The eight there are, are attributes of the class; int() gives their place in that order."""

    __slots__ = ("_number",)

    @staticmethod
    def from_str(s):
        """The backend of that name; upper and lower case are the same."""
        try:
            return _make(Backend, _native.backend_parse(s))
        except ValueError:
            names = ", ".join(name for name, _ in _native.backends)
            raise ValueError(f"Unknown backend: {s}: expected one of {names}") from None

    def __str__(self):
        return _native.backends[self._number][0]

    def __repr__(self):
        return f"Backend.{_native.backends[self._number][1]}"

    def __int__(self):
        return self._number


for _number, (_name, _attribute) in enumerate(_native.backends):
    setattr(Backend, _attribute, _make(Backend, _number))
del _number, _name, _attribute


@_final
class BackendInfo(_Object):
    """The backend of a variant and the architectures it was built for."""

    __slots__ = ("_type", "_archs")

    backend_type = property(lambda self: self._type, doc="The backend.")

    @property
    def archs(self):
        """Architectures, for example ["8.0", "9.0a"]; None when they are not known."""
        return None if self._archs is None else list(self._archs)

    def __repr__(self):
        archs = "None" if self._archs is None else f"Some({_show(self.archs)})"
        return f"BackendInfo(backend_type={self._type!r}, archs={archs})"


# ---- versions and names ----


@_final
class Version(_Value):
    """Numbers joined by dots. Trailing zeros are kept but count for nothing: 1.0 equals 1."""

    __slots__ = ("_parts",)

    @staticmethod
    def from_str(s):
        """Parses "12.8"; blanks around it are trimmed."""
        try:
            return _make(Version, _native.version_parse(s))
        except ValueError as error:
            raise ValueError(f"Cannot parse version `{s}`: {error}") from None

    def __str__(self):
        return ".".join(map(str, self._parts))

    def __repr__(self):
        return f"Version('{self}')"

    def _key(self):
        parts = self._parts
        while parts and parts[-1] == 0:
            parts = parts[:-1]
        return parts

    def __lt__(self, other):
        return self._key() < other._key() if type(other) is Version else NotImplemented

    def __le__(self, other):
        return self._key() <= other._key() if type(other) is Version else NotImplemented

    def __gt__(self, other):
        return self._key() > other._key() if type(other) is Version else NotImplemented

    def __ge__(self, other):
        return self._key() >= other._key() if type(other) is Version else NotImplemented


@_final
class KernelName(_Value):
    """The name of a kernel: a-z, then a-z, 0-9 and -, then a-z or 0-9."""

    __slots__ = ("_name", "_python_name")

    def __new__(cls, name):
        return _make(cls, name, _native.name_to_python(name))

    python_name = property(lambda self: self._python_name, doc="The name with _ for -.")

    def __str__(self):
        return self._name

    def __repr__(self):
        return f"KernelName('{self._name}')"


# ---- dependencies ----


class KernelVersion(_Value):
    """Which state of another kernel: KernelVersion.Version(number) or KernelVersion.Revision(text)."""

    __slots__ = ()


@_final
class _VersionNumber(KernelVersion):
    """The newest state of a major version."""

    __slots__ = ("_version",)
    __match_args__ = ("version",)
    __qualname__ = "KernelVersion.Version"

    def __new__(cls, version):
        return _make(cls, _unsigned("version", version))

    version = property(lambda self: self._version, doc="The major version.")

    def __repr__(self):
        return _fields(self, "version")


@_final
class _VersionRevision(KernelVersion):
    """A branch, tag or commit."""

    __slots__ = ("_revision",)
    __match_args__ = ("revision",)
    __qualname__ = "KernelVersion.Revision"

    def __new__(cls, revision):
        return _make(cls, _expect("revision", revision, str))

    revision = property(lambda self: self._revision, doc="The branch, tag or commit.")

    def __repr__(self):
        return _fields(self, "revision")


KernelVersion.Version = _VersionNumber
KernelVersion.Revision = _VersionRevision


@_final
class KernelDependency(_Value):
    """Another kernel, and which state of it."""

    __slots__ = ("_repo_id", "_version")

    def __new__(cls, repo_id, version):
        return _make(cls, _expect("repo_id", repo_id, str), _expect("version", version, KernelVersion))

    repo_id = property(lambda self: self._repo_id, doc="Repository, for example owner/name.")
    version = property(lambda self: self._version, doc="A KernelVersion.")

    def __repr__(self):
        return _fields(self, "repo_id", "version")


def _from_dependency(pair):
    repo_id, version = pair
    cls = _VersionRevision if isinstance(version, str) else _VersionNumber
    return _make(KernelDependency, repo_id, _make(cls, version))


def _to_dependency(dependency):
    (version,) = dependency._version._key()
    return dependency._repo_id, version


def _order(entry):
    """Sort key of (dependency, value): repository, versions before revisions."""
    repo_id, version = _to_dependency(entry[0])
    return (repo_id, 1, 0, version) if isinstance(version, str) else (repo_id, 0, version, "")


# ---- locks ----


def _parse(cls, function, text):
    """What the library reads from JSON; its errors name the class."""
    try:
        return function(cls._kind, text)
    except ValueError as error:
        raise ValueError(f"Cannot parse {cls.__name__}: {error}") from None


@_final
class KernelLock(_Value):
    """The commit that a dependency is locked to."""

    __slots__ = ("_commit",)
    _kind = _KERNELS

    def __new__(cls, commit):
        return _make(cls, _native.object_id_parse(commit))

    commit = property(lambda self: self._commit, doc="40 or 64 hexadecimal digits, lower case.")

    @staticmethod
    def from_json(s):
        """Reads {"commit": ...}."""
        return _make(KernelLock, _parse(KernelLock, _native.lock_parse, s)[0])

    def to_json(self):
        """The text that from_json reads."""
        return _native.lock_print(_KERNELS, self._commit, None)

    def __repr__(self):
        return _fields(self, "commit")


@_final
class NixKernelLock(_Value):
    """The commit that a dependency is locked to, with the hash of its files."""

    __slots__ = ("_commit", "_hash")
    _kind = _NIX

    def __new__(cls, commit, hash):
        return _make(cls, _native.object_id_parse(commit), _expect("hash", hash, str))

    commit = property(lambda self: self._commit, doc="40 or 64 hexadecimal digits, lower case.")
    hash = property(lambda self: self._hash, doc="The hash as it was given.")

    @staticmethod
    def from_json(s):
        """Reads {"commit": ..., "hash": ...}."""
        return _make(NixKernelLock, *_parse(NixKernelLock, _native.lock_parse, s))

    def to_json(self):
        """The text that from_json reads."""
        return _native.lock_print(_NIX, self._commit, self._hash)

    def __repr__(self):
        return _fields(self, "commit", "hash")


class _Mapping(_Value):
    """A read-only mapping with KernelDependency keys, in their order. Subclasses say what the values are:

    _check   takes what a user gives and returns what is kept
    _give    returns what a user gets for it
    _load    takes what the library read and returns what is kept
    _store   returns what the library writes
    """

    __slots__ = ()

    @classmethod
    def _build(cls, name, given):
        _expect(name, given, dict)
        items = [(_expect(name, key, KernelDependency), cls._check(name, value)) for key, value in given.items()]
        return _make(cls, dict(sorted(items, key=_order)))

    @classmethod
    def _read(cls, text):
        items = _parse(cls, _native.locks_parse, text)
        return _make(cls, {_from_dependency(pair): cls._load(value) for pair, value in items})

    def to_json(self):
        """The text that from_json reads."""
        items = [(_to_dependency(key), self._store(value)) for key, value in self._map.items()]
        return _native.locks_print(self._kind, items)

    def _key(self):
        return tuple(self._map.items())

    def __len__(self):
        return len(self._map)

    def __iter__(self):
        return iter(self._map)

    def __contains__(self, dependency):
        return isinstance(dependency, KernelDependency) and dependency in self._map

    def __getitem__(self, dependency):
        if _expect("dependency", dependency, KernelDependency) not in self._map:
            raise KeyError(repr(dependency))
        return self._give(self._map[dependency])

    def get(self, dependency, default=None):
        """The value of a dependency, else the default, which must be of the same kind or None."""
        if default is not None:
            default = self._give(self._check("default", default))
        return self[dependency] if dependency in self else default

    def keys(self):
        """List of the dependencies."""
        return list(self._map)

    def values(self):
        """List of the values, in the order of the keys."""
        return list(map(self._give, self._map.values()))

    def items(self):
        """List of (dependency, value)."""
        return list(zip(self.keys(), self.values()))

    def __repr__(self):
        return f"{type(self).__name__}({_show(self._map)})"


class _LockMapping(_Mapping):
    """The values are locks of the class _lock."""

    __slots__ = ()

    @classmethod
    def _check(cls, name, lock):
        return _expect(name, lock, cls._lock)

    @staticmethod
    def _give(lock):
        return lock

    @classmethod
    def _load(cls, fields):
        return _make(cls._lock, *fields)

    @staticmethod
    def _store(lock):
        return lock._commit, getattr(lock, "_hash", None)


@_final
class KernelLocks(_LockMapping):
    """A kernels.lock: the lock of each dependency."""

    __slots__ = ("_map",)
    _kind, _lock = _KERNELS, KernelLock

    def __new__(cls, locks):
        return cls._build("locks", locks)

    @staticmethod
    def from_json(s):
        """Reads the text of a kernels.lock. That of releases before 0.17 is a ValueError."""
        return KernelLocks._read(s)


@_final
class NixKernelLocks(_LockMapping):
    """As KernelLocks, with the hashes that Nix wants."""

    __slots__ = ("_map",)
    _kind, _lock = _NIX, NixKernelLock

    def __new__(cls, locks):
        return cls._build("locks", locks)

    @staticmethod
    def from_json(s):
        """Reads the text that to_json gives."""
        return NixKernelLocks._read(s)


@_final
class KernelPaths(_Mapping):
    """Folders of dependencies that are on this machine; the values are pathlib.Path objects."""

    __slots__ = ("_map",)
    _kind = _PATHS

    def __new__(cls, paths):
        return cls._build("paths", paths)

    @staticmethod
    def from_json(s):
        """Reads the text that to_json gives."""
        return KernelPaths._read(s)

    @staticmethod
    def _check(name, path):
        return _expect(name, fspath(path), str)

    @staticmethod
    def _give(path):
        from pathlib import Path

        return Path(path)

    @staticmethod
    def _load(path):
        return path

    _store = _load


# ---- digests ----


@_final
class DigestAlgorithm(_Value):
    """SHA256 or SHA512."""

    __slots__ = ("_number",)

    def __str__(self):
        return ("sha256", "sha512")[self._number]

    def __repr__(self):
        return f"DigestAlgorithm.{str(self).upper()}"

    def __int__(self):
        return self._number


DigestAlgorithm.SHA256 = _make(DigestAlgorithm, 0)
DigestAlgorithm.SHA512 = _make(DigestAlgorithm, 1)


class DigestViolation(_Object):
    """One difference between two digests; its classes are attributes."""

    __slots__ = ()


@_final
class _MissingFile(DigestViolation):
    """A file that the expected digest has and the other lacks."""

    __slots__ = ("_path",)
    __match_args__ = ("path",)
    __qualname__ = "DigestViolation.MissingFile"

    def __new__(cls, path):
        return _make(cls, _expect("path", path, str))

    path = property(lambda self: self._path, doc="Path in the variant.")

    def __str__(self):
        return f"Missing file: {self._path}"

    def __repr__(self):
        return _fields(self, "path")


@_final
class _UnknownFile(DigestViolation):
    """A file that the expected digest does not have."""

    __slots__ = ("_path",)
    __match_args__ = ("path",)
    __qualname__ = "DigestViolation.UnknownFile"

    def __new__(cls, path):
        return _make(cls, _expect("path", path, str))

    path = property(lambda self: self._path, doc="Path in the variant.")

    def __str__(self):
        return f"Unknown file: {self._path}"

    def __repr__(self):
        return _fields(self, "path")


@_final
class _HashMismatch(DigestViolation):
    """A file whose content differs."""

    __slots__ = ("_path", "_expected", "_got")
    __match_args__ = ("path", "expected", "got")
    __qualname__ = "DigestViolation.HashMismatch"

    def __new__(cls, path, expected, got):
        texts = {"path": path, "expected": expected, "got": got}
        return _make(cls, *(_expect(name, text, str) for name, text in texts.items()))

    path = property(lambda self: self._path, doc="Path in the variant.")
    expected = property(lambda self: self._expected, doc="Base64 of the expected hash.")
    got = property(lambda self: self._got, doc="Base64 of the file's hash.")

    def __str__(self):
        return f"File hash mismatch for {self._path}: expected: {self._expected}, got: {self._got}"

    def __repr__(self):
        return _fields(self, "path", "expected", "got")


@_final
class _AlgorithmMismatch(DigestViolation):
    """Digests that cannot be compared."""

    __slots__ = ("_expected", "_got")
    __match_args__ = ("expected", "got")
    __qualname__ = "DigestViolation.AlgorithmMismatch"

    def __new__(cls, expected, got):
        return _make(cls, _expect("expected", expected, DigestAlgorithm), _expect("got", got, DigestAlgorithm))

    expected = property(lambda self: self._expected, doc="A DigestAlgorithm.")
    got = property(lambda self: self._got, doc="A DigestAlgorithm.")

    def __str__(self):
        return f"Algorithm mismatch: expected: {str(self._expected).upper()}, got: {str(self._got).upper()}"

    def __repr__(self):
        return _fields(self, "expected", "got")


DigestViolation.MissingFile = _MissingFile
DigestViolation.UnknownFile = _UnknownFile
DigestViolation.HashMismatch = _HashMismatch
DigestViolation.AlgorithmMismatch = _AlgorithmMismatch


def _violation(kind, path, expected, got):
    if kind == 3:  # KERNELS_VIOLATION_ALGORITHM_MISMATCH
        return _AlgorithmMismatch(getattr(DigestAlgorithm, expected), getattr(DigestAlgorithm, got))
    return _HashMismatch(path, expected, got) if kind == 2 else (_MissingFile, _UnknownFile)[kind](path)


class DigestValidationError(Exception):
    """A kernel is not what its digest says. Digest.validate sets the attribute `violations`."""


@_final
class Digest(_Object):
    """The hash of every file of a variant."""

    __slots__ = ("_content",)  # (number of the algorithm, ((path, hash), ...)), as the library gives it

    @staticmethod
    def hash_variant(algorithm, variant_path):
        """Hashes the files of a variant's folder; metadata.json and what Python compiled are left out."""
        number = _expect("algorithm", algorithm, DigestAlgorithm)._number
        return _make(Digest, _native.digest_hash_variant(number, variant_path))

    algorithm = property(lambda self: _make(DigestAlgorithm, self._content[0]), doc="A DigestAlgorithm.")
    files = property(lambda self: dict(self._content[1]), doc="Path to hash (base64), ascending by path.")

    def validate(self, other):
        """Raises DigestValidationError unless the other digest is equal to this one, which is the expected."""
        found = _native.digest_validate(self._content, _expect("other", other, Digest)._content)
        if found:
            message, violations = found
            error = DigestValidationError(message)
            error.violations = [_violation(*violation) for violation in violations]
            raise error

    def __repr__(self):
        return _fields(self, "algorithm", "files")


# ---- metadata ----


@_final
class GitStatus(_Object):
    """The commit something was built from, and whether files had been changed."""

    __slots__ = ("_commit", "_dirty")

    commit = property(lambda self: self._commit, doc="40 or 64 hexadecimal digits, lower case.")
    dirty = property(lambda self: self._dirty, doc="Had files been changed?")

    def __repr__(self):
        return _fields(self, "commit", "dirty")


@_final
class KernelBuilderVersion(_Object):
    """The program that built a kernel."""

    __slots__ = ("_version", "_git")

    version = property(lambda self: self._version, doc="Its version.")
    git = property(lambda self: _git_status(self._git), doc="What it was built from: a GitStatus, or None.")

    def __repr__(self):
        return _fields(self, "version", "git")


@_final
class Provenance(_Object):
    """Where a kernel comes from."""

    __slots__ = ("_version", "_builder", "_kernel")

    @property
    def kernel_builder(self):
        """The program that built it, a KernelBuilderVersion."""
        return _make(KernelBuilderVersion, self._version, self._builder)

    kernel = property(lambda self: _git_status(self._kernel), doc="The kernel's own source: a GitStatus, or None.")

    @property
    def dirty(self):
        """Had files of the kernel or of the builder been changed?"""
        return any(status is not None and status[1] for status in (self._builder, self._kernel))

    def __repr__(self):
        return _fields(self, "kernel_builder", "kernel")


def _git_status(pair):
    return None if pair is None else _make(GitStatus, *pair)


@_final
class Metadata(_Object):
    """The metadata.json of a variant."""

    __slots__ = ("_content",)  # the dictionary that the library gives

    @staticmethod
    def from_bytes(bytes):
        """Parses the content of a metadata.json."""
        try:
            return _make(Metadata, _native.metadata_parse(bytes))
        except ValueError as error:
            raise ValueError(f"Cannot parse metadata: {error}") from None

    @staticmethod
    def read_from_file(metadata_path):
        """Reads a metadata.json; OSError when it cannot be opened, ValueError when it is not right."""
        path = fspath(metadata_path)
        try:
            return _make(Metadata, _native.metadata_read(path))
        except ValueError as error:
            raise ValueError(f"Cannot parse metadata from {path!r}: {error}") from None

    id = property(lambda self: self._content["id"], doc="Name of the module and of the namespace of its ops.")
    name = property(lambda self: KernelName(self._content["name"]), doc="A KernelName.")
    version = property(lambda self: self._content["version"], doc="Major version.")
    license = property(lambda self: self._content["license"], doc="Licence id of the Hub.")
    upstream = property(lambda self: self._content["upstream"], doc="Address of the original project, or None.")
    source = property(lambda self: self._content["source"], doc="Address of the kernel's source, or None.")
    python_depends = property(lambda self: list(self._content["python_depends"]), doc="Names of Python dependencies.")

    @property
    def kernels_minver(self):
        """The oldest version of this package that can load the kernel: a Version, or None."""
        minver = self._content["kernels_minver"]
        return None if minver is None else Version.from_str(minver)

    @property
    def kernel_depends(self):
        """The kernels it needs, a list of KernelDependency."""
        return list(map(_from_dependency, self._content["kernel_depends"]))

    @property
    def backend(self):
        """The BackendInfo of the variant."""
        return _make(BackendInfo, _make(Backend, self._content["backend"]), self._content["archs"])

    @property
    def digest(self):
        """The Digest of the variant's files, or None."""
        content = self._content["digest"]
        return None if content is None else _make(Digest, content)

    @property
    def provenance(self):
        """The Provenance, or None."""
        content = self._content["provenance"]
        return None if content is None else _make(Provenance, *content)

    def __repr__(self):
        return _fields(self, "name", "id", "version", "kernels_minver", "license", "upstream", "source",
                       "python_depends", "kernel_depends", "backend", "digest", "provenance")


# ---- build.toml ----


@_final
class General(_Object):
    """The section [general] of a build.toml."""

    __slots__ = ("_backends",)

    @property
    def backends(self):
        """The backends in the order of the file, with repeats."""
        return [_make(Backend, number) for number in self._backends]

    def __repr__(self):
        return _fields(self, "backends")


@_final
class Build(_Object):
    """A build.toml."""

    __slots__ = ("_backends", "_kernel_depends")

    @staticmethod
    def open(kernel_dir):
        """Reads the build.toml in a folder. A file of edition 4 logs a warning, older ones are a ValueError."""
        path = fspath(kernel_dir)
        try:
            backends, kernel_depends, warning = _native.build_read(path)
        except ValueError as error:
            raise ValueError(f"Cannot parse build configuration in {path!r}: {error}") from None
        if warning:
            import logging

            logging.getLogger(__name__).warning(warning)
        return _make(Build, backends, kernel_depends)

    general = property(lambda self: _make(General, self._backends), doc="The section [general].")

    def all_kernel_depends(self, backend):
        """The kernels that it needs on a backend: those of [general], then the backend's own; repeats are kept."""
        number = _expect("backend", backend, Backend)._number
        return list(map(_from_dependency, self._kernel_depends[number]))

    def __repr__(self):
        return _fields(self, "general")
