# SPDX-License-Identifier: Apache-2.0
"""What needs the real torch: compiling, exporting, saving, gradients."""
import io

import pytest

from kernels import Mode, use_kernel_forward_from_hub


@pytest.fixture(autouse=True)
def real_torch(is_stand_in):
    if is_stand_in:
        pytest.skip("the stand-in for torch calculates nothing")


@pytest.fixture
def model(Host):
    from torch import nn

    return nn.Sequential(Host(), nn.Linear(2, 2), Host())


def test_compile(model, Kernel, repository, kernelized):
    import torch

    x = torch.ones(2, 2)
    mode = Mode.INFERENCE | Mode.TORCH_COMPILE
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    original = model(x)
    assert torch.equal(compiled(x), original)
    kernelized({"Host": {"cpu": repository(Kernel)}}, model, mode)
    wanted = model(x)
    assert not torch.equal(wanted, original)
    assert torch.equal(compiled(x), wanted)  # what was compiled before is compiled again
    assert torch.equal(torch.compile(model, backend="eager", fullgraph=True)(x), wanted)
    kernelized({"Host": {}}, model, mode)
    assert torch.equal(compiled(x), original)


def test_export(model, Kernel, repository, kernelized):
    import torch

    x = torch.ones(2, 2)
    kernelized({"Host": {"cpu": repository(Kernel)}}, model)
    assert torch.equal(torch.export.export(model, (x,)).module()(x), model(x))


class Saved:
    """Where torch.load finds the class."""


def test_save(Kernel, repository, kernelized):
    import torch

    Saved.Host = use_kernel_forward_from_hub("Host")(type("Host", (torch.nn.Linear,), {
        "forward": lambda self, x: x + 1, "__module__": __name__, "__qualname__": "Saved.Host"}))
    model = Saved.Host(2, 2)
    names = list(model.state_dict())
    kernelized({"Host": {"cpu": repository(Kernel)}}, model)
    assert list(model.state_dict()) == names
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    x = torch.zeros(2)
    assert torch.equal(torch.load(file, weights_only=False)(x), x + 1) and torch.equal(model(x), x + 1000)


def test_gradients_flow_through_kernels(Host, repository, kernelized):
    import torch

    class Scale(torch.nn.Module):
        weight: torch.Tensor

        def forward(self, x):
            return x * self.weight

    class WithWeight(Host):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.full((2,), 3.0))

    model = kernelized({"Host": {"cpu": repository(Scale)}}, WithWeight(), Mode.TRAINING)
    model(torch.ones(2)).sum().backward()
    assert torch.equal(model.weight.grad, torch.ones(2))


def test_functions_compile(repository, kernelized):
    import torch

    from kernels import use_kernelized_func

    from kernels.layer.layer import _create_func_module

    @use_kernel_forward_from_hub("Plus")
    def plus(x):
        return x + 1

    def kernel(x):
        return x + 1000

    kernel.can_torch_compile = True

    @use_kernelized_func(plus)
    class Model(torch.nn.Module):
        def forward(self, x):
            return plus(x)

    model, x = Model(), torch.zeros(2)
    mapping = {"Plus": {"cpu": repository(_create_func_module(kernel))}}
    kernelized(mapping, model, Mode.INFERENCE | Mode.TORCH_COMPILE)
    assert torch.equal(torch.compile(model, backend="eager", fullgraph=True)(x), x + 1000)
    kernelized({"Plus": {}}, model)


def test_parametrized_hosts(Host, Kernel, repository, kernelized):
    """torch.nn.utils.parametrize gives an instance a class of its own."""
    import torch

    class WithWeight(Host):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

    model = WithWeight()
    torch.nn.utils.parametrize.register_parametrization(model, "weight", torch.nn.Identity())
    assert kernelized({"Host": {"cpu": repository(Kernel)}}, model)(0) == 1000


def test_wrapped_models(Host, Kernel, repository, kernelized):
    import torch

    compiled = torch.compile(torch.nn.Sequential(Host()), backend="eager")
    kernelized({"Host": {"cpu": repository(Kernel)}}, compiled)
    assert torch.equal(compiled(torch.zeros(1)), torch.full((1,), 1000.0))
