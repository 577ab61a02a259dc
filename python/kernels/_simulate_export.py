# SPDX-License-Identifier: Apache-2.0
"""Making programs for the CPU in this process, with jax, and keeping them.

    $KERNELS_EXPORTED_CACHE, else $XDG_CACHE_HOME/kernels/exported, else ~/.cache/kernels/exported

One folder a program, laid out as the variant of a kernel with one exported function. Its name is the hash of all that
decides on the program. It can be deleted at any time; an empty KERNELS_EXPORTED_CACHE switches the cache off.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from kernels._simulate_shapes import parse_shape

_FORMAT = "kernels exported program 1"  # changes when what stands in the folders does
_VERSION = re.compile(rb"ML\xefR.StableHLO_v([0-9.]+)\0", re.DOTALL)
_SOURCES_MAX = 10_000  # files of a kernel

_exporting = threading.local()
_scratch: list = []  # where programs are that are not kept


def program(name: str, function, shapes, call, layout: str, variant: Path | None, op: str) -> Path:
    """The folder with the program of an op for arrays of these shapes; made unless it is kept.

    RuntimeError: jax cannot make it. variant None: the function belongs to no kernel, and its program is not kept.
    """
    home = _home() if variant is not None else None
    if home is not None:
        folder = home / _key(function, shapes, layout, variant, name)
        if _is_usable(folder):
            return folder
        return _move(_make(name, shapes, call, op, home), folder)
    return _make(name, shapes, call, op, _scratch_folder())


def result_shapes(shapes, call, op: str) -> tuple[str, ...]:
    """Shapes of the results of an op, found without making a program."""
    import jax

    with _explained(op, shapes), _wide(shapes):
        return tuple(map(_print_shape, jax.tree.leaves(jax.eval_shape(call, *map(_struct, shapes)))))


# ---- the cache ----


def _home() -> Path | None:
    given, xdg = os.environ.get("KERNELS_EXPORTED_CACHE"), os.environ.get("XDG_CACHE_HOME", "")
    if given is not None:
        return Path(given) if given else None
    base = Path(xdg) if os.path.isabs(xdg) else Path.home() / ".cache"
    return base / "kernels" / "exported"


def _key(function, shapes, layout: str, variant: Path, name: str) -> str:
    import jax
    import jaxlib

    facts = [_FORMAT, jax.__version__, jaxlib.__version__, _sources(variant), name, _describe(function), layout, *shapes]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _describe(function) -> str:
    """Which function of the kernel's sources it is."""
    bound = []
    while isinstance(function, functools.partial):
        bound.append(f"{function.args!r} {sorted(function.keywords.items())!r}")
        function = function.func
    return " ".join([getattr(function, "__module__", ""), getattr(function, "__qualname__", ""), *bound])


def _sources(variant: Path) -> str:
    """Changes with the kernel's Python files."""
    hashed = hashlib.sha256()
    for number, file in enumerate(sorted(variant.rglob("*.py"))):
        if number == _SOURCES_MAX:
            raise RuntimeError(f"{variant}: more than {_SOURCES_MAX} Python files")
        content = file.read_bytes()
        hashed.update(f"{file.relative_to(variant)} {len(content)}\n".encode() + content)
    return hashed.hexdigest()


def _is_usable(folder: Path) -> bool:
    """Is it there, written by this user alone, since it becomes machine code, and whole?"""
    try:
        found = folder.stat()
        if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & 0o022):
            return False
        (function,) = json.loads((folder / "aot" / "manifest.json").read_bytes())["functions"]
        (row,) = function["specialisations"]
        return hashlib.sha256((folder / "aot" / row["file"]).read_bytes()).hexdigest() == row["sha256"]
    except (OSError, ValueError, KeyError):
        return False


def _scratch_folder() -> Path:
    if not _scratch:
        _scratch.append(tempfile.TemporaryDirectory(prefix="kernels-exported-"))
    return Path(_scratch[0].name)


def _move(made: Path, folder: Path) -> Path:
    """Where the program is now: in folder, unless somebody else's is there."""
    for _ in range(2):
        try:
            made.rename(folder)
        except OSError:
            if _is_usable(folder):  # another process was faster
                shutil.rmtree(made, ignore_errors=True)
                return folder
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return folder
    return made


def _make(name: str, shapes, call, op: str, home: Path) -> Path:
    """A new folder below home, or where no folder can be made there, elsewhere."""
    artifact, outputs = _export(name, shapes, call, op)
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = Path(tempfile.mkdtemp(prefix=".new-", dir=home))
    except OSError:
        folder = Path(tempfile.mkdtemp(dir=_scratch_folder()))
    _write(folder, name, shapes, outputs, artifact)
    return folder


def _write(folder: Path, name: str, shapes, outputs, artifact: bytes) -> None:
    file = f"{name}.cpu.0.mlirbc"
    version = _VERSION.match(artifact)
    row = {
        "platform": "cpu", "inputs": list(shapes), "outputs": list(outputs), "file": file,
        "sha256": hashlib.sha256(artifact).hexdigest(), "stablehlo": version.group(1).decode() if version else "0.0.0",
    }  # fmt: skip
    arguments = [f"argument{number}" for number in range(len(shapes))]
    function = {"name": name, "arguments": arguments, "generations": [], "specialisations": [row]}
    metadata = {
        "name": "exported", "id": "_exported", "version": 1, "license": "", "python-depends": [], "kernel-depends": [],
        "backend": {"type": "tpu"},
    }  # fmt: skip
    (folder / "aot").mkdir()
    (folder / "aot" / file).write_bytes(artifact)
    (folder / "aot" / "manifest.json").write_text(json.dumps({"format": 1, "functions": [function]}, indent=2))
    (folder / "metadata.json").write_text(json.dumps(metadata, indent=2))


# ---- jax ----


def _export(name: str, shapes, call, op: str) -> tuple[bytes, tuple[str, ...]]:
    """The portable program, and the shapes of its results."""
    import jax
    import jax.export

    def renamed(*arrays):
        return call(*arrays)

    renamed.__name__ = name
    with _explained(op, shapes), _wide(shapes), _interpreting():
        exported = jax.export.export(jax.jit(renamed, keep_unused=True), platforms=["cpu"])(*map(_struct, shapes))
        return exported.mlir_module_serialized, tuple(map(_print_shape, exported.out_avals))


@contextmanager
def _explained(op: str, shapes):
    try:
        yield
    except Exception as error:
        lines = " ".join(str(error).split())[:500]
        raise RuntimeError(
            f"{op}: jax can make no program for the CPU from it, for ({', '.join(shapes)}): {type(error).__name__}: {lines}"
        ) from error


@contextmanager
def _interpreting():
    """In this thread Pallas kernels become ordinary operations. What jax traced before, and what it traces meanwhile,
    must not be mixed.
    """
    import jax
    import jax.experimental.pallas as pallas

    compiled = pallas.pallas_call
    patched = _bound_to(compiled)

    def pallas_call(*arguments, **options):
        if getattr(_exporting, "now", False):
            options["interpret"] = True
        return compiled(*arguments, **options)

    jax.clear_caches()
    _exporting.now = True
    for names, key in patched:
        names[key] = pallas_call
    try:
        yield
    finally:
        for names, key in patched:
            names[key] = compiled
        _exporting.now = False
        jax.clear_caches()


def _bound_to(value) -> list[tuple[dict, str]]:
    """Where modules hold this object: `from jax.experimental.pallas import pallas_call` in a kernel. Not inside jax
    itself, but for the one module that kernels take it from.
    """
    found = []
    for name, module in list(sys.modules.items()):
        if name.startswith(("jax.", "jaxlib.", "torch.")) and name != "jax.experimental.pallas":
            continue
        names = getattr(module, "__dict__", None) or {}
        found += [(names, key) for key, held in list(names.items()) if held is value]
    return found


@contextmanager
def _wide(shapes):
    """Elements of 64 bits where an argument has them, as the builder exports."""
    import jax

    with jax.enable_x64(any(parse_shape(shape)[0] in ("s64", "u64", "f64") for shape in shapes)):
        yield


def _dtypes() -> dict:
    import jax.numpy as jnp

    return {
        "pred": jnp.bool_, "s8": jnp.int8, "s16": jnp.int16, "s32": jnp.int32, "s64": jnp.int64, "u8": jnp.uint8,
        "u16": jnp.uint16, "u32": jnp.uint32, "u64": jnp.uint64, "f16": jnp.float16, "bf16": jnp.bfloat16,
        "f32": jnp.float32, "f64": jnp.float64,
    }  # fmt: skip


def _struct(text: str):
    import jax

    dtype, sizes = parse_shape(text)
    return jax.ShapeDtypeStruct(sizes, _dtypes()[dtype])


def _print_shape(value) -> str:
    import numpy

    for name, dtype in _dtypes().items():
        if numpy.dtype(dtype) == value.dtype:
            return f"{name}[{','.join(map(str, value.shape))}]"
    raise ValueError(f"a result has elements of {value.dtype}, which programs do not have")
