# SPDX-License-Identifier: Apache-2.0
"""Devices and their properties."""
import dataclasses
import sys

import pytest

from kernels import CUDAProperties, Device, Mode, ROCMProperties, kernelize, register_kernel_mapping
from kernels.layer import TPUProperties
from kernels.layer.kernelize import _find_device, _has_neuron_ops, _is_cuda_platform, _is_rocm_platform


def device_of(case):
    properties = case.get("properties")
    if properties:
        kind = CUDAProperties if properties["kind"] == "cuda" else ROCMProperties
        properties = kind(properties["min"], properties["max"])
    return Device(case["type"], properties)


def test_construction_and_registration(vectors, counted, repository):
    for case in counted(vectors("device.json")["construct"], 36):
        if case["construct"] == "error":
            with pytest.raises(ValueError) as caught:
                device_of(case["device"])
            assert case["error"] in [cls.__name__ for cls in type(caught.value).__mro__]
            assert (type(caught.value.__cause__).__name__ if case["cause"] else None) == case["cause"]
        elif case["mappable"]:
            register_kernel_mapping({"A": {device_of(case["device"]): repository(None)}})
        else:
            with pytest.raises(ValueError, match="Unknown device type"):
                register_kernel_mapping({"A": {device_of(case["device"]): repository(None)}})


def test_strings_for_kernelize(vectors, counted):
    from torch import nn

    for case in counted(vectors("device.json")["kernelize_device_strings"], 18):
        if case["ok"] or case["device"] in ("cuda:0", "tpu:0"):  # an index is fine with us
            kernelize(nn.ReLU(), mode=Mode.INFERENCE, device=case["device"])
        else:
            with pytest.raises(ValueError, match=f"Unsupported device type '{case['device']}'.*cpu, cuda, mps, neuron"):
                kernelize(nn.ReLU(), mode=Mode.INFERENCE, device=case["device"])


def test_equality(vectors, counted):
    for case in counted(vectors("device.json")["equality"], 5):
        a, b = device_of(case["a"]), device_of(case["b"])
        assert (a == b) == case["equal"] and (hash(a) == hash(b)) == case["hash_equal"]
    assert CUDAProperties(1, 2) != ROCMProperties(1, 2)
    assert Device("cuda") != "cuda"
    assert repr(Device("cuda")) == "Device(type='cuda', properties=None)"


def test_a_range_that_is_none_names_both_numbers():
    with pytest.raises(ValueError, match="validate_capability_range(.|\n)*90(.|\n)*75"):
        CUDAProperties(90, 75)
    with pytest.raises(ValueError, match="min_generation"):
        TPUProperties(60, 50)


@pytest.mark.parametrize("make", [lambda: Device(1), lambda: CUDAProperties(1.0, 2), lambda: ROCMProperties(1, "2"),
                                  lambda: TPUProperties(None, 1)])
def test_types_are_checked(make):
    with pytest.raises(TypeError):
        make()


def test_frozen():
    device = Device("cuda", CUDAProperties(True, sys.maxsize))
    with pytest.raises(dataclasses.FrozenInstanceError):
        device.type = "rocm"
    with pytest.raises(dataclasses.FrozenInstanceError):
        device.properties.min_capability = 1
    assert dataclasses.replace(device, properties=None) == Device("cuda")


def test_properties_belong_to_one_type():
    with pytest.raises(ValueError, match="TPUProperties.*'tpu'"):
        Device("cuda", TPUProperties(50, 60))
    assert Device("tpu", "anything").properties == "anything"  # as the released package, which ignores it


@pytest.mark.parametrize("key", [1, None])
def test_a_key_that_is_no_device(key, repository):
    with pytest.raises(AttributeError):
        register_kernel_mapping({"A": {key: repository(None)}})


def test_properties_of_another_class(repository):
    with pytest.raises(AssertionError):
        register_kernel_mapping({"A": {Device("cuda", "something"): repository(None)}})


def test_the_device_of_a_model():
    import torch

    model = torch.nn.Linear(2, 2)
    assert _find_device(model) == Device("cpu")
    assert _find_device(model.to("meta")) == Device("meta")
    with pytest.raises(ValueError, match="Cannot determine model device"):
        _find_device(torch.nn.ReLU())
    with pytest.raises(ValueError, match="Cannot determine model device"):
        kernelize(torch.nn.ReLU(), mode=Mode.INFERENCE)
    assert _is_cuda_platform() == (torch.version.cuda is not None)
    assert _is_rocm_platform() == (torch.version.hip is not None)
    assert not _has_neuron_ops()


def test_cuda_is_rocm_where_torch_was_built_for_it(monkeypatch):
    import torch

    class Model:
        def parameters(self):
            place = torch.device("cuda:1")
            return iter([type("Parameter", (), {"device": place})()])

    monkeypatch.setattr(torch.version, "hip", None)
    assert _find_device(Model()) == Device("cuda")
    monkeypatch.setattr(torch.version, "hip", "6.3")
    assert _find_device(Model()) == Device("rocm")
