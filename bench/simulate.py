# SPDX-License-Identifier: Apache-2.0
"""What torch and the simulation of a TPU add to a kernel: relu as an op of torch on CPU tensors, and the same program called through
kernels.native, which goes straight to the plugin.

    simulate.py FOLDER CALLS      FOLDER: relu-tpu, built

Prints a line for each shape: its text, median seconds of the op, median seconds of the plugin. The calls take turns, so that other
programs on the machine disturb both alike. Run it with a Python that has torch, and a PJRT plugin for the CPU.
"""
import pathlib
import statistics
import sys
import time

import torch

import kernels
import kernels.native

SHAPES = ((16, 16), (256, 1024))


def seconds(call) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def measure(op, raw, shape, calls: int) -> tuple[float, float]:
    x = torch.randn(shape)
    assert torch.equal(op(x), x.relu()) and torch.equal(torch.from_dlpack(raw(x)), x.relu())
    pairs = [(seconds(lambda: op(x)), seconds(lambda: raw(x))) for _ in range(calls)]
    return tuple(statistics.median(column) for column in zip(*pairs[calls // 10 :]))


def main():
    folder, calls = sys.argv[1], int(sys.argv[2])
    kernels.simulate("tpu")
    op = kernels.get_local_kernel(pathlib.Path(folder)).relu
    raw = kernels.native.load_local(folder).relu
    for shape in SHAPES:
        print(f"f32{list(shape)}".replace(" ", ""), *measure(op, raw, shape, calls))


main()
