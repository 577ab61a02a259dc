# SPDX-License-Identifier: Apache-2.0
"""The Python side of "from disk to first result": the same StableHLO file, through `import jax`.

    first_result.py FILE.mlirbc
"""
import sys

import jax
import jax.extend
import numpy
from jaxlib import xla_client

with open(sys.argv[1], "rb") as file:
    program = file.read()
x = numpy.random.default_rng(0).standard_normal((256, 1024), dtype=numpy.float32)
backend = jax.extend.backend.get_backend("cpu")
devices = xla_client.DeviceList(tuple(backend.local_devices()[:1]))
executable = backend.compile_and_load(program, devices, xla_client.CompileOptions())
outputs = executable.execute_sharded([jax.device_put(x)]).disassemble_into_single_device_arrays()
assert numpy.array_equal(numpy.asarray(outputs[0][0]), numpy.maximum(x, 0))
