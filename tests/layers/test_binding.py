# SPDX-License-Identifier: Apache-2.0
"""Host layers, functions, and what happens to an instance."""
import copy
import inspect
import io
import logging
import pickle
import sys
import types

import pytest

from kernels import Mode, kernelize, replace_kernel_forward_from_hub, use_kernel_forward_from_hub, use_kernelized_func
from kernels.layer.layer import _replace_forward, kernelize_layer, KernelizeFallback
from kernels import Device, use_kernel_mapping


@pytest.fixture
def mapping(Kernel, repository):
    return {"Host": {"cpu": repository(Kernel)}}


def test_kernelizing_again_starts_from_the_original(Host, Kernel, repository, kernelized, mapping):
    from torch import nn

    class Second(nn.Module):
        def forward(self, x):
            return x + self.bias

    model = Host()
    for _ in range(2):
        assert kernelized(mapping, model)(0) == 1000
        assert kernelized({"Host": {"cpu": repository(Second)}}, model)(0) == 7
        assert kernelized({}, model)(0) == 1


def test_the_class_stays_as_it_was(Host, kernelized, mapping):
    original, signature = Host.forward, inspect.signature(Host.forward)
    model, other = Host(), Host()
    kernelized(mapping, model)
    assert type(model) is Host and Host.forward is original and inspect.signature(Host.forward) == signature
    assert other(0) == 1 and Host.forward(model, 0) == 1
    assert isinstance(model.forward, types.MethodType) and model.forward.__self__ is model


def test_subclasses(Host, kernelized, mapping):
    class Plain(Host):
        pass

    class Calling(Host):
        def forward(self, x):
            return super().forward(x) + 10

    plain, calling = Plain(), Calling()
    kernelized(mapping, plain)
    kernelized(mapping, calling)
    assert plain(0) == 1000 and calling(0) == 1000
    assert Calling.forward(calling, 0) == 11  # within it, super().forward is the host's own
    kernelized({"Host": {}}, calling)
    assert calling(0) == 11 and Plain()(0) == 1 and Host()(0) == 1


def test_hooks_stay(Host, kernelized, mapping):
    seen = []
    model = Host()
    model.register_forward_hook(lambda module, inputs, output: seen.append(output))
    kernelized(mapping, model)(1)
    assert seen == [1001]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: model._replicate_for_data_parallel()])
def test_copies_run_on_themselves(copied, Host, repository, kernelized):
    from torch import nn

    class Kernel(nn.Module):
        def forward(self, x):
            return x + self.bias

    model = kernelized({"Host": {"cpu": repository(Kernel)}}, Host())
    other = copied(model)
    other.__dict__["bias"] = 50
    assert (model(0), other(0)) == (7, 50) and other.forward.__self__ is other
    kernelized({}, other)
    assert (model(0), other(0)) == (7, 1)


class Named:
    """Where pickle finds the classes of the next tests."""


def test_pickle_gives_the_original(kernelized, mapping):
    from torch import nn

    def forward(self, x):
        return x + 1

    Named.Host = use_kernel_forward_from_hub("Host")(type("Host", (nn.Module,), {
        "forward": forward, "__module__": __name__, "__qualname__": "Named.Host"}))
    model = kernelized(mapping, Named.Host())
    assert pickle.loads(pickle.dumps(model))(0) == 1 and model(0) == 1000
    without = io.BytesIO(pickle.dumps(model)).getvalue()
    assert b"kernels" not in without.replace(b"_kernels_forward", b"")


def test_the_wrappers_of_others_come_back(Host, kernelized, mapping):
    model = Host()
    original = model.forward
    model.forward = lambda x: original(x) * 2
    assert kernelized({"Host": {}}, model)(0) == 2  # nothing of ours is there
    assert kernelized(mapping, model)(0) == 1000
    assert kernelized(mapping, model)(0) == 1000
    assert kernelized({}, model)(0) == 2
    kernelized(mapping, model)
    assert copy.deepcopy(model)(0) == 1000 and pickle  # the wrapper travels along


def test_wrappers_that_are_put_around_a_kernel(Host, kernelized, mapping):
    model = kernelized(mapping, Host())
    kept = model.forward
    model.forward = lambda x: kept(x) * 2
    assert model(0) == 2000
    model.forward = kept  # as who removes a hook does
    assert model(0) == 1000 and kernelized({}, model)(0) == 1


def test_unusual_forwards(Host, kernelized, repository):
    from torch import nn

    class Static(nn.Module):
        @staticmethod
        def forward(self, x):
            return x + self.bias

    class Callable_:
        def __call__(self, module, x):
            return x + module.bias + 1

    assert kernelized({"Host": {"cpu": repository(Static)}}, Host())(0) == 7
    _replace_forward(model := Host(), type("K", (nn.Module,), {"forward": Callable_()}))
    assert model(0) == 8
    _replace_forward(model, Host)
    assert model(0) == 1


def test_one_layer(Host, Kernel, repository, mapping):
    model = Host()
    with use_kernel_mapping(mapping):
        kernelize_layer(model, mode=Mode.INFERENCE, device_type=Device("cpu"), use_fallback=KernelizeFallback.NONE)
    assert model(0) == 1000


# ---- marking ----


def test_marking_a_class(Host, kernelized, mapping):
    from torch import nn

    class Foreign(nn.Module):
        def forward(self, x):
            return x + 1

    assert replace_kernel_forward_from_hub(Foreign, "Host") is None
    assert kernelized(mapping, Foreign())(0) == 1000

    class ByHand(nn.Module):
        kernel_layer_name = "Host"

        def forward(self, x):
            return x + 1

    assert kernelized(mapping, ByHand())(0) == 1000
    unmarked = nn.Identity()
    unmarked.kernel_layer_name = "Host"
    assert kernelized(mapping, unmarked)(3) == 3


@pytest.mark.parametrize("thing", [abs, "x", [].append, object()])
def test_what_cannot_be_marked(thing):
    with pytest.raises(TypeError, match="can only be applied to classes or functions"):
        use_kernel_forward_from_hub("X")(thing)


def test_conditions(kernelized, mapping, caplog):
    from torch import nn

    caplog.set_level(logging.INFO)

    @use_kernel_forward_from_hub("Host", condition=lambda module: module.wanted)
    class Host(nn.Module):
        wanted = True

        def forward(self, x):
            return x + 1

    model = nn.Sequential(Host(), Host(), Host())
    model[1].__dict__["wanted"] = model[2].__dict__["wanted"] = False
    kernelized(mapping, model)
    assert [layer(0) for layer in (model[0], model[1], model[2])] == [1000, 1, 1]
    skipped = [record for record in caplog.records if record.name == "kernels.layer.kernelize"]
    assert len(skipped) == 1 and skipped[0].levelno == logging.INFO and "`Host`" in caplog.text
    model[0].__dict__["wanted"] = False
    kernelized({}, model)
    assert model[0](0) == 1000  # stays as it is, also when that is a kernel
    Host.kernel_condition = staticmethod(lambda module: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        kernelized(mapping, model)


# ---- functions ----


def plus(x, *, y=1):
    """Adds."""
    return x + y


@pytest.fixture
def function_mapping(repository):
    from kernels.layer.layer import _create_func_module

    return {"Plus": {"cpu": repository(_create_func_module(lambda x, *, y=1: x + 1000))}}


def test_a_function_becomes_a_module(function_mapping, kernelized):
    from torch import nn

    made = use_kernel_forward_from_hub("Plus")(plus)
    assert isinstance(made, nn.Module) and made(1, y=3) == 4 and made.kernel_layer_name == "Plus"
    assert (made.__name__, made.__qualname__, made.__doc__, made.__module__) == ("plus", "plus", "Adds.", __name__)
    assert made.__wrapped__ is plus and inspect.signature(made) == inspect.signature(plus)
    assert copy.copy(made) is made and copy.deepcopy(made) is made
    globals()["plus"], original = made, plus
    try:
        assert pickle.loads(pickle.dumps(made)) is made
    finally:
        globals()["plus"] = original
    kernelized(function_mapping, made)
    assert made(1) == 1001
    kernelized({"Plus": {}}, made)
    assert made(1) == 2


@pytest.fixture
def Model():
    from torch import nn

    function = use_kernel_forward_from_hub("Plus")(plus)

    @use_kernelized_func(function)
    class Model(nn.Module):
        def __init__(self, start=0):
            """Begins."""
            super().__init__()
            self.start = start

        def forward(self, x):
            return function(x + self.start)

    return Model


def test_functions_of_a_class(Model, function_mapping, kernelized):
    model = Model(start=5)
    assert Model.__init__.__doc__ == "Begins." and "start" in inspect.signature(Model).parameters
    assert [name for name, _ in model.named_modules()] == [""] and list(model._kernel_funcs) == ["plus"]
    assert kernelized(function_mapping, model)(1) == 1006
    twin = copy.deepcopy(model)
    assert twin(1) == 1006
    assert kernelized({}, twin)(1) == 7 and model(1) == 7  # one function for all


def test_functions_are_asked_their_condition(function_mapping, kernelized):
    from torch import nn

    asked = []
    function = use_kernel_forward_from_hub("Plus", condition=lambda module: asked.append(module))(plus)
    model = use_kernelized_func(function)(type("Model", (nn.Module,), {"forward": lambda self, x: function(x)}))()
    assert kernelized(function_mapping, model)(1) == 2 and asked == [function]


def test_functions_of_one_name_are_all_kernelized(function_mapping, repository, kernelized):
    from torch import nn

    def made():
        def same(x, *, y=1):
            return x + y
        return use_kernel_forward_from_hub("Plus")(same)

    one, two = made(), made()
    model = use_kernelized_func(one, two)(type("Model", (nn.Module,), {"forward": lambda self, x: one(two(x))}))()
    assert list(model._kernel_funcs) == ["same", "same#2"]
    assert kernelized(function_mapping, model)(0) == 2000
    kernelized({}, model)


def test_functions_that_are_not_decorated():
    with pytest.raises(ValueError, match="Function `plus` is not decorated"):
        use_kernelized_func(plus)
    with pytest.raises(ValueError, match="Function `<object"):
        use_kernelized_func(object())


def test_a_function_within_a_model_is_found(function_mapping, kernelized):
    from torch import nn

    model = nn.Sequential(use_kernel_forward_from_hub("Plus")(plus))
    assert kernelized(function_mapping, model)(1) == 1001
    kernelized({}, model)


def test_lambdas():
    assert use_kernel_forward_from_hub("X")(lambda x: x * 2)(3) == 6
    assert kernelize(use_kernel_forward_from_hub("X")(lambda x: x), mode=Mode.INFERENCE, device="cpu")(3) == 3


def test_torch_is_not_imported_before_it_is_needed():
    import subprocess

    code = ("import sys, kernels.layer as l; l.register_kernel_mapping({'A': {'cuda': l.LayerRepository('a/b', "
            "layer_name='X', version=1)}}); assert 'torch' not in sys.modules and 'huggingface_hub' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("module, names", [
    ("mode", "Mode"), ("device", "Device CUDAProperties ROCMProperties"),
    ("globals", "_KERNEL_MAPPING _DISABLE_KERNEL_MAPPING"),
    ("repos", "RepositoryProtocol DeviceRepos _CPURepos _CUDARepos _ROCMRepos _MPSRepos _XPURepos _NPURepos _NeuronRepos "
              "_TPURepos _select_repository _MODE_FALLBACK_PRIORITY _find_capability"),
    ("_interval_tree", "IntervalTree _Node"),
    ("layer", "LayerRepository LocalLayerRepository LockedLayerRepository KernelizeFallback _CACHED_LAYER _KERNEL_MAPPING "
              "_validate_layer kernelize_layer _create_func_module _get_kernel_layer _replace_forward "
              "_validate_layer_has_mode replace_kernel_forward_from_hub use_kernel_forward_from_hub use_kernelized_func"),
    ("func", "FuncRepository LocalFuncRepository LockedFuncRepository use_kernel_func_from_hub"),
    ("kernelize", "kernelize use_kernel_mapping register_kernel_mapping _validate_device_type _find_device "
                  "_is_cuda_platform _is_rocm_platform _has_neuron_ops")])
def test_names_that_programs_reach(module, names):
    import importlib

    found = importlib.import_module(f"kernels.layer.{module}")
    assert [name for name in names.split() if not hasattr(found, name)] == []
