# SPDX-License-Identifier: Apache-2.0
"""Exporter of TPU kernels, compiled into kernel-builder and run by it in a build environment that has jax.

    python -I -B - export REQUEST.json      functions -> portable StableHLO files, and what is known about them
    python -I -B - reference REQUEST.json   inputs and what the reference functions make of them

REQUEST.json (written by tpu_request.c) says where the project is (source_dir), where results go (output_dir)
and lists the functions. The answer is <output_dir>/result.json; messages go to standard error. Exit 1: one
function failed, the last line "error: ..." says which and why.
"""

import base64
import importlib.util
import json
import pathlib
import re
import sys
import traceback

import jax
import jax.experimental.pallas
import jax.export
import numpy as np

DTYPES = {
    "pred": np.bool_, "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8,
    "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "bf16": jax.numpy.bfloat16,
    "f32": np.float32, "f64": np.float64,
}
DTYPE_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
REASON_LIMIT = 500  # characters


class Failure(Exception):
    """What went wrong, for people; the traceback was printed already."""


def parse_shape(text: str) -> jax.ShapeDtypeStruct:
    dtype, dimensions = text.removesuffix("]").split("[")
    return jax.ShapeDtypeStruct([int(d) for d in dimensions.split(",") if d], DTYPES[dtype])


def print_shape(value) -> str:
    dtype = np.dtype(value.dtype)
    if dtype not in DTYPE_NAMES:
        raise ValueError(f"a result has the dtype {dtype}, which has no shape text")
    return f"{DTYPE_NAMES[dtype]}[{','.join(str(d) for d in value.shape)}]"


def one_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)}"[:REASON_LIMIT]


def needs_x64(shapes) -> bool:
    return any(np.dtype(shape.dtype).itemsize == 8 for shape in shapes)


def load_attribute(source_dir: pathlib.Path, source: str):
    """The function FILE:ATTRIBUTE. The file is loaded by itself: the package around it, which imports torch, is not."""
    file, attribute = source.rsplit(":", 1)
    spec = importlib.util.spec_from_file_location("aot_source", source_dir / file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["aot_source"] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    function = getattr(module, attribute)
    if not callable(function):
        raise TypeError(f"{attribute} is not a function")
    return function


def interpret_pallas() -> None:
    """From now on Pallas kernels are made of ordinary XLA operations. Works for files loaded afterwards."""
    compiled = jax.experimental.pallas.pallas_call

    def pallas_call(*arguments, **options):
        return compiled(*arguments, **{**options, "interpret": True})

    jax.experimental.pallas.pallas_call = pallas_call


def stablehlo_version(artifact: bytes) -> str:
    match = re.match(rb"ML\xefR.StableHLO_v([0-9.]+)\0", artifact, re.DOTALL)
    if not match:
        raise ValueError("jax.export wrote no portable StableHLO artifact")
    return match.group(1).decode()


def mosaic_version(artifact: bytes) -> str | None:
    """The newest version among the TPU programs inside, None when there is none."""
    from jax._src.lib import tpu  # no public way leads to the TPU dialect; the environment pins jax
    from jaxlib.mlir import ir

    versions = []
    for body in re.findall(rb'\{"custom_call_config": \{"body": "([A-Za-z0-9+/=]+)"', artifact):
        with ir.Context() as context:
            tpu.register_dialect(context)
            context.allow_unregistered_dialects = True
            attributes = ir.Module.parse(base64.b64decode(body)).operation.attributes
            versions.append(ir.IntegerAttr(attributes["stable_mosaic.version"]).value)
    if not versions and b"tpu_custom_call" in artifact:
        raise ValueError("a tpu_custom_call without a Mosaic program: this jax writes it in another way")
    return str(max(versions)) if versions else None


def export_one(function, name: str, platform: str, shapes) -> jax.export.Exported:
    def call(*arguments):
        return function(*arguments)

    call.__name__ = name
    with jax.enable_x64(needs_x64(shapes)):
        return jax.export.export(jax.jit(call, keep_unused=True), platforms=[platform])(*shapes)


def export_specialisation(function, description, platform: str, index: int, output_dir: pathlib.Path):
    texts = description["inputs"][index]
    exported = export_one(function, description["name"], platform, [parse_shape(text) for text in texts])
    outputs = [print_shape(value) for value in exported.out_avals]
    artifact = exported.mlir_module_serialized
    file = f"{description['name']}.{platform}.{index}.mlirbc"
    facts = {"platform": platform, "index": index, "outputs": outputs, "file": file,
             "stablehlo": stablehlo_version(artifact)}
    version = mosaic_version(artifact)
    if version is not None:
        facts["mosaic"] = version
    (output_dir / file).write_bytes(artifact)
    print(f"{file}: {', '.join(texts)} -> {', '.join(outputs)}, {len(artifact)} bytes", file=sys.stderr)
    return facts


def export_platform(description, platform: str, source_dir: pathlib.Path, output_dir: pathlib.Path, answer) -> None:
    optional = platform == "cpu" and "tpu" in description["platforms"]
    where = f"{description['name']} for {platform}"
    try:
        function = load_attribute(source_dir, description["source"])
    except Exception as error:
        traceback.print_exc()
        raise Failure(f"{where}: {description['source']} cannot be loaded: {one_line(error)}") from None
    for index, texts in enumerate(description["inputs"]):
        try:
            answer["specialisations"].append(export_specialisation(function, description, platform, index, output_dir))
        except Exception as error:
            traceback.print_exc()
            if not optional:
                raise Failure(f"{where}: {', '.join(texts)}: {one_line(error)}") from None
            print(f"{where}: {', '.join(texts)} is left out: {one_line(error)}", file=sys.stderr)
            answer["skipped"].append({"platform": platform, "index": index, "reason": one_line(error)})


def run_export(request, source_dir: pathlib.Path, output_dir: pathlib.Path):
    # File names in the programs: those of the project, wherever it lies.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", "^" + re.escape(str(source_dir) + "/"))
    answers = [{"specialisations": [], "skipped": []} for _ in request["functions"]]
    for platform in ("tpu", "cpu"):
        if platform == "cpu":
            interpret_pallas()
        for description, answer in zip(request["functions"], answers):
            if platform in description["platforms"]:
                export_platform(description, platform, source_dir, output_dir, answer)
    return answers


def random_array(generator: np.random.Generator, shape: jax.ShapeDtypeStruct) -> np.ndarray:
    """What ":random" means: standard normal, or 0..9 for integers."""
    dtype = np.dtype(shape.dtype)
    if dtype == np.bool_:
        return generator.integers(0, 2, shape.shape).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 10, shape.shape).astype(dtype)
    return generator.standard_normal(shape.shape).astype(dtype)


def write_arrays(arrays, prefix: str, output_dir: pathlib.Path):
    described = []
    for number, array in enumerate(arrays):
        array = np.asarray(array)
        file = f"{prefix}{number}.bin"
        (output_dir / file).write_bytes(array.tobytes())
        described.append({"shape": print_shape(array), "file": file})
    return described


def refer(function, description, index: int, output_dir: pathlib.Path):
    generator = np.random.default_rng(0)
    shapes = [parse_shape(text) for text in description["inputs"][index]]
    inputs = [random_array(generator, shape) for shape in shapes]
    with jax.enable_x64(needs_x64(shapes)):
        outputs = jax.tree.leaves(function(*(jax.numpy.asarray(value) for value in inputs)))
    prefix = f"{description['name']}.{index}"
    return {"inputs": write_arrays(inputs, f"{prefix}.in", output_dir),
            "outputs": write_arrays(outputs, f"{prefix}.out", output_dir)}


def run_reference(request, source_dir: pathlib.Path, output_dir: pathlib.Path):
    answers = []
    for description in request["functions"]:
        try:
            function = load_attribute(source_dir, description["reference"])
            specialisations = [refer(function, description, index, output_dir)
                               for index in range(len(description["inputs"]))]
        except Exception as error:
            traceback.print_exc()
            raise Failure(f"reference of {description['name']}: {one_line(error)}") from None
        answers.append({"specialisations": specialisations})
    return answers


def installed(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def main() -> int:
    mode, request_file = sys.argv[1:]
    request = json.loads(pathlib.Path(request_file).read_text())
    output_dir = pathlib.Path(request["output_dir"])
    run = {"export": run_export, "reference": run_reference}[mode]
    try:
        answers = run(request, pathlib.Path(request["source_dir"]), output_dir)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    versions = {package: installed(package) for package in ("jax", "jaxlib", "libtpu")}
    (output_dir / "result.json").write_text(json.dumps({**versions, "functions": answers}))
    return 0


sys.exit(main())
