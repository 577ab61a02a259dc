# SPDX-License-Identifier: Apache-2.0
"""One side of the benchmark of layers: kernelize a model of 1,000 layers with whichever `kernels` is importable, and torch.

    layers.py RUNS

Prints the seconds of each run, a line each; one run before, which loads and checks the kernel layer, is not counted.
Seconds of the processor, so that other programs on the machine count little.
"""
import os
import sys
import time

import torch.nn as nn
from kernels import Mode, kernelize, use_kernel_forward_from_hub, use_kernel_mapping

LAYERS = 1000


@use_kernel_forward_from_hub("Norm")
class Norm(nn.Module):
    def forward(self, x):
        return x + 1


class Kernel(nn.Module):
    def forward(self, x):
        return x + 2


class Repository:
    layer_name = "Kernel"

    def load(self):
        return Kernel


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()
        self.act = nn.ReLU()


model = nn.Sequential(*(Block() for _ in range(LAYERS)))
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
with use_kernel_mapping({"Norm": {"cpu": Repository()}}):
    for run in range(int(sys.argv[1]) + 1):
        begin = time.process_time()
        kernelize(model, mode=Mode.INFERENCE, device="cpu")
        if run > 0:
            print(time.process_time() - begin)
assert model[LAYERS - 1].norm(1) == 3
