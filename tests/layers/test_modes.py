# SPDX-License-Identifier: Apache-2.0
"""Mode: all unions, and which registered mode serves a request."""
import pytest

from kernels import Mode, kernelize
from kernels.layer.repos import _MODE_FALLBACK_PRIORITY, _select_repository


def test_values():
    assert {name: mode.value for name, mode in Mode.__members__.items()} == {
        "_NONE": 0, "FALLBACK": 1, "TRAINING": 2, "INFERENCE": 4, "TORCH_COMPILE": 8}


def test_unions(vectors, counted):
    for case in counted(vectors("mode_ops.json")["or"], 256):
        if "error" in case:
            with pytest.raises(ValueError, match=case["contains"]):
                Mode(case["a"]) | Mode(case["b"])
        else:
            assert (Mode(case["a"]) | Mode(case["b"])) is Mode(case["or"])
    mode = Mode.INFERENCE
    with pytest.raises(ValueError, match="mutually exclusive"):
        mode |= Mode.TRAINING
    with pytest.raises(TypeError):
        mode | 8


def test_other_operators_are_those_of_any_flag(vectors, counted):
    document = vectors("mode_ops.json")
    for case in counted(document["and_xor_contains"], 256):
        a, b = Mode(case["a"]), Mode(case["b"])
        assert ((a & b).value, (a ^ b).value, a in b) == (case["and"], case["xor"], case["a_in_b"])
    for case in counted(document["unary"], 16):
        assert (~Mode(case["a"])).value == case["invert"] and bool(Mode(case["a"])) == case["bool"]
    for case in counted(document["from_int"], 10):
        if "error" in case:
            with pytest.raises(ValueError):
                Mode(case["value"])
        else:
            assert Mode(case["value"]).value == case["result"]


def test_requests_are_checked_before_anything_else(vectors, counted):
    from torch import nn

    for case in counted(vectors("mode_ops.json")["kernelize_precheck_no_layers"], 16):
        if case["accepted"]:
            kernelize(nn.ReLU(), mode=Mode(case["mode"]), device="cpu")
        else:
            with pytest.raises(ValueError, match=case["contains"]):
                kernelize(nn.ReLU(), mode=Mode(case["mode"]), device="cpu")
    with pytest.raises(TypeError, match="mode must be a Mode"):
        kernelize(nn.ReLU(), mode=4, device="cpu")


def test_selection(vectors, counted):
    document = vectors("mode_select.json")
    assert {mode.value: [each.value for each in order] for mode, order in _MODE_FALLBACK_PRIORITY.items()} == {
        int(mode): order for mode, order in document["priority"].items()}
    for case in counted(document["table"] + document["odd_registered_keys"], 152):
        repositories = {Mode(mode): f"r{mode}" for mode in case["registered"]}
        found = _select_repository(repositories, mode=Mode(case["requested"]))
        wanted = case["selected"]
        assert found == (None if wanted is None else (f"r{wanted}", Mode(wanted)))
    for case in counted(document["request_supported"], 16):
        if not case["supported"]:
            with pytest.raises(ValueError, match="Unsupported mode"):
                _select_repository({Mode.FALLBACK: "r"}, mode=Mode(case["requested"]))
