# SPDX-License-Identifier: Apache-2.0
"""Makes the exported sample kernel in sample/ (needs jax 0.10.2): python make.py"""

import hashlib
import json
from pathlib import Path

import jax
from jax import export

SOURCE = """
import jax.numpy as jnp
def relu(x):
    return jnp.maximum(x, 0)
def sum_and_dot(x, y):
    return x + y, jnp.sum(x * y)
def unchanged_flags(flags):
    return ~flags
"""
FUNCTIONS = {
    "relu": (["x"], [["f32[4,8]"], ["bf16[4,8]"], ["s32[]"], ["f32[0,8]"]]),
    "sum_and_dot": (["x", "y"], [["f32[3,2]", "f32[3,2]"]]),
    "unchanged_flags": (["flags"], [["pred[5]"]]),
}
NAMES = {"f32": "float32", "bf16": "bfloat16", "s32": "int32", "pred": "bool"}


def parse(text):
    dtype, dimensions = text.rstrip("]").split("[")
    return jax.ShapeDtypeStruct([int(d) for d in dimensions.split(",") if d], NAMES[dtype])


def show(aval):
    dtype = {name: short for short, name in NAMES.items()}[str(aval.dtype)]
    return f"{dtype}[{','.join(map(str, aval.shape))}]"


def main():
    # No path of the machine that runs this gets into the programs.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")
    folder = Path(__file__).parent / "sample" / "build" / "torch-tpu"
    (folder / "aot").mkdir(parents=True, exist_ok=True)
    scope = {}
    exec(compile(SOURCE, "sample.py", "exec"), scope)
    functions = []
    for name, (arguments, combinations) in FUNCTIONS.items():
        specialisations = []
        for platform in ["tpu", "cpu"]:
            for index, inputs in enumerate(combinations):
                exported = export.export(jax.jit(scope[name]), platforms=[platform])(*map(parse, inputs))
                program = exported.mlir_module_serialized
                file = f"{name}.{platform}.{index}.mlirbc"
                (folder / "aot" / file).write_bytes(program)
                specialisations.append(
                    {
                        "platform": platform,
                        "inputs": inputs,
                        "outputs": [show(aval) for aval in exported.out_avals],
                        "file": file,
                        "sha256": hashlib.sha256(program).hexdigest(),
                        "stablehlo": program[4:].split(b"StableHLO_v")[1].split(b"\0")[0].decode(),
                    }
                )
        functions.append(
            {
                "name": name,
                "arguments": arguments,
                "generations": ["v5e", "v6e"],
                "tolerance": {"rtol": 1e-05, "atol": 1e-06},
                "specialisations": specialisations,
            }
        )
    manifest = {
        "format": 1,
        "exporter": {"kernel-builder": "0.1.0", "jax": jax.__version__, "jaxlib": "0.10.2", "libtpu": None},
        "functions": functions,
    }
    metadata = {
        "name": "sample",
        "id": "_sample_tpu_0000000",
        "version": 1,
        "license": "Apache-2.0",
        "python-depends": [],
        "backend": {"type": "tpu"},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata, indent=2))
    (folder / "aot" / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


if __name__ == "__main__":
    main()
