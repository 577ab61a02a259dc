# SPDX-License-Identifier: Apache-2.0
"""Tests of kernels.layer inside the Python that they are about: tests/program/test_layers.py starts them, with the package
of a build folder and either the stand-in for torch beside this file or the real one.

    vectors      vectors("mode_ops.json") -> the document
    Host, Kernel a host layer named "Host" (x + 1) and a kernel layer (x + 1000); calls of Host's forward are counted
    repository   repository(cls) -> something to register that loads this class
    kernelized   kernelized(mapping, model=, mode=, device=, ...) -> the model, after kernelize within that mapping
"""
import json
import os
import pathlib

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "layers"


@pytest.fixture(scope="session")
def vectors():
    return lambda name: json.loads((DATA / name).read_text())


@pytest.fixture(autouse=True)
def nothing_is_registered():
    from kernels.layer.globals import _KERNEL_MAPPING, _PROCESS_MAPPING
    from kernels.layer.layer import _CACHED_LAYER

    _PROCESS_MAPPING.register({}, clear=True)
    _CACHED_LAYER.clear()
    yield
    assert _KERNEL_MAPPING.get(None) is None, "a test left a mapping behind"


@pytest.fixture
def is_stand_in():
    import torch

    return "stand_in" in os.fspath(torch.__file__)


class Repository:
    """Loads what it is given; equal to none but itself."""

    def __init__(self, layer, label=""):
        self.layer = layer
        self.label = label
        self.loads = 0

    def load(self):
        self.loads += 1
        if isinstance(self.layer, Exception):
            raise self.layer
        return self.layer

    def __str__(self):
        return f"`{self.label or 'test/repository'}`, layer `{getattr(self.layer, '__name__', self.layer)}`"


@pytest.fixture
def repository():
    return Repository


@pytest.fixture
def Host():
    from torch import nn

    from kernels import use_kernel_forward_from_hub

    @use_kernel_forward_from_hub("Host")
    class Host(nn.Module):
        bias = 7
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return x + 1

    return Host


@pytest.fixture
def Kernel():
    from torch import nn

    class Kernel(nn.Module):
        can_torch_compile = True

        def forward(self, x):
            return x + 1000

    return Kernel


@pytest.fixture
def kernelized():
    from kernels import Mode, kernelize, use_kernel_mapping

    def run(mapping, model, mode=Mode.INFERENCE, device="cpu", **options):
        with use_kernel_mapping(mapping, inherit_mapping=False):
            return kernelize(model, mode=mode, device=device, **options)

    return run


def mode_of(text):
    """Mode of "INFERENCE|TORCH_COMPILE"."""
    from kernels import Mode

    mode = Mode._NONE
    for name in text.split("|"):
        mode |= Mode[name]
    return mode


@pytest.fixture
def counted(request):
    """counted(cases, number): all of them, and there are so many. The number is shown with the test's name."""

    def check(cases, number):
        cases = list(cases)
        assert len(cases) == number
        request.node.user_properties.append(("cases", number))
        return cases

    return check


def pytest_terminal_summary(terminalreporter):
    reports = terminalreporter.getreports("passed")
    cases = sum(value for report in reports for name, value in report.user_properties if name == "cases")
    terminalreporter.write_line(f"vectors: {cases} cases")
