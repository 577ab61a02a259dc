# SPDX-License-Identifier: Apache-2.0
"""kernelize: which repository, when the original stays, what is refused."""
import functools
import logging
import re

import pytest

from kernels import (CUDAProperties, Device, KernelizeFallback, LocalFuncRepository, LocalLayerRepository, Mode,
                     ROCMProperties, kernelize, register_kernel_mapping, use_kernel_forward_from_hub, use_kernel_mapping)
from kernels.layer.layer import _create_func_module, _validate_layer

from conftest import mode_of

FALLBACKS = {"True": True, "False": False, **KernelizeFallback.__members__}


def outcome_of(run, model, x=0.0):
    """("kernel", value), ("original", value) or ("error", class, message)"""
    try:
        run()
    except Exception as error:
        return "error", error, str(error)
    value = model(x)
    return ("original" if value == x + 1 else "kernel"), value, ""


def check(outcome, case, contains=None):
    assert outcome[0] == case["outcome"], (case, outcome)
    if case["outcome"] == "error":
        names = [cls.__name__ for cls in type(outcome[1]).__mro__]
        assert case["error"] in names, (case, outcome)
        assert contains is None or contains in outcome[2], (case, outcome)


def test_fallback_values(vectors):
    wanted = vectors("kernelize_cases.json")["fallback_flags"]["flag_values"]
    assert {name: flag.value for name, flag in KernelizeFallback.__members__.items()} == wanted


# ---- which repository ----

MESSAGES = {"no_layer": "No layer mapping for `A`", "no_device": "`A` on device type", "no_properties": "right properties",
            "no_mode": "No repository"}


def test_resolution(vectors, counted, Host, Kernel, repository, monkeypatch):
    document = vectors("resolve.json")
    use_kernel_forward_from_hub("A")(Host)

    def device(key):
        if isinstance(key, str):
            return key
        return Device(key["type"], (CUDAProperties if key["type"] == "cuda" else ROCMProperties)(key["min"], key["max"]))

    def target(value, loaded):
        if isinstance(value, dict):
            return {mode_of(mode): target(name, loaded) for mode, name in value.items()}
        made = repository(Kernel, value)
        loaded.append(made)
        return made

    for case in counted(document["cases"], 264):
        loaded = []
        mapping = {layer: {device(key): target(value, loaded) for key, value in pairs}
                   for layer, pairs in document["mappings"][case["mapping"]].items()}
        monkeypatch.setattr("kernels.layer.repos._find_capability", lambda: case["capability"])
        model = Host()
        with use_kernel_mapping(mapping, inherit_mapping=False):
            outcome = outcome_of(lambda: kernelize(model, mode=mode_of(case["mode"]), device=case["device"],
                                                   use_fallback=case["use_fallback"]), model)
        check(outcome, case, MESSAGES.get(case.get("reason")))
        assert [made.label for made in loaded if made.loads] == ([case["selected"]] if case.get("selected") else [])


def test_flags(vectors, counted, Host, repository, kernelized):
    from torch import nn

    for case in counted(vectors("kernelize_flags.json")["cases"], 360):
        flags = {name: case[name] for name in ("has_backward", "can_torch_compile") if case[name] is not None}
        layer = type("K", (nn.Module,), {"forward": lambda self, x: x + 1000, **flags})
        model = Host()
        mapping = {"Host": {"cpu": {mode_of(case["registered"]): repository(layer)}}}
        outcome = outcome_of(lambda: kernelized(mapping, model, mode_of(case["requested"]),
                                                use_fallback=case["use_fallback"]), model)
        check(outcome, case, case.get("contains"))
        if case["outcome"] == "error":
            assert "Host" in outcome[2]


# ---- kernels in folders ----


@pytest.fixture
def folders(vectors, tmp_path):
    for name, files in vectors("kernelize_cases.json")["repositories"].items():
        for path, text in files.items():
            # every test has kernels of its own: modules are known by their id
            text = re.sub(r'("id": ")(\w+)', rf"\g<1>\g<2>{abs(hash(str(tmp_path))) % 10**9}", text)
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_text(text)
    return tmp_path


@pytest.fixture
def backend(monkeypatch):
    """backend("tpu") makes this a process with torch_tpu."""
    import torch

    def choose(name):
        if name == "tpu":
            monkeypatch.setattr(torch.backends, "tpu", object(), raising=False)
        else:
            monkeypatch.delattr(torch.backends, "tpu", raising=False)
            monkeypatch.setattr("kernels.backends._detect", lambda torch, detect=None: (_cpu(), None, "a test"))

    return choose


def _cpu():
    from kernels.backends import CPU

    return CPU()


def local(folders, spec):
    kind, folder, name = spec
    if kind == "func":
        return LocalFuncRepository(folders / folder, func_name=name)
    return LocalLayerRepository(folders / folder, layer_name=name)


def test_kernels_in_folders(vectors, counted, folders, backend, Host, monkeypatch):
    for case in counted(vectors("kernelize_cases.json")["cases"], 30):
        def target(value):
            return {mode_of(mode): local(folders, spec) for mode, spec in value.items()} if isinstance(value, dict) else (
                local(folders, value))

        mapping = {layer: {device: target(value) for device, value in pairs} for layer, pairs in case["mapping"].items()}
        model = Host()
        with monkeypatch.context():
            backend(case["backend"])
            with use_kernel_mapping(mapping, inherit_mapping=False):
                outcome = outcome_of(lambda: kernelize(model, mode=mode_of(case["mode"]), device=case["device"],
                                                       use_fallback=case["use_fallback"]), model)
        monkeypatch.undo()
        check(outcome, case["result"])
        if "value" in case["result"]:
            assert outcome[1] == case["result"]["value"]


def test_fallback_flags(vectors, counted, Host, Kernel, repository, kernelized, monkeypatch):
    from torch import nn

    class NoCompile(nn.Module):
        def forward(self, x):
            return x + 1000

    class Invalid(nn.Module):
        def forward(self, x, y):
            return x

    monkeypatch.setattr("kernels.layer.repos._find_capability", lambda: 80)
    fine = repository(Kernel)
    compile_mode = Mode.INFERENCE | Mode.TORCH_COMPILE
    situations = {
        "no_layer": ({"Other": {"cpu": fine}}, "cpu", Mode.INFERENCE),
        "no_device": ({"Host": {"tpu": fine}}, "cpu", Mode.INFERENCE),
        "no_properties": ({"Host": {Device("cuda", CUDAProperties(90, 99)): fine}}, "cuda", Mode.INFERENCE),
        "no_registered_mode": ({"Host": {"cpu": {Mode.INFERENCE: fine}}}, "cpu", Mode.TRAINING),
        "kernel_lacks_compile": ({"Host": {"cpu": repository(NoCompile)}}, "cpu", compile_mode),
        "load_file_not_found": ({"Host": {"cpu": repository(FileNotFoundError("missing"))}}, "cpu", Mode.INFERENCE),
        "load_no_variant": ({"Host": {"cpu": repository(FileNotFoundError("variant"))}}, "cpu", Mode.INFERENCE),
        "load_import_raises": ({"Host": {"cpu": repository(RuntimeError("boom"))}}, "cpu", Mode.INFERENCE),
        "load_layer_missing": ({"Host": {"cpu": repository(ValueError("layer"))}}, "cpu", Mode.INFERENCE),
        "invalid_layer": ({"Host": {"cpu": repository(Invalid)}}, "cpu", Mode.INFERENCE),
        "registered_mode_unsupported": ({"Host": {"cpu": {compile_mode: repository(NoCompile)}}}, "cpu", compile_mode),
    }
    cases = counted(vectors("kernelize_cases.json")["fallback_flags"]["cases"], 110)
    assert {case["situation"] for case in cases} == set(situations)
    for case in cases:
        mapping, device, mode = situations[case["situation"]]
        model = Host()
        check(outcome_of(lambda: kernelized(mapping, model, mode, device,
                                            use_fallback=FALLBACKS[case["use_fallback"]]), model), case)


def test_other_values_of_use_fallback_matter_only_when_a_case_arises(Host, Kernel, repository, kernelized):
    assert kernelized({"Host": {"cpu": repository(Kernel)}}, Host(), use_fallback=3)(0) == 1000
    with pytest.raises(TypeError):
        kernelized({}, Host(), use_fallback=3)


def test_a_missing_package_is_a_kernel_that_cannot_be_loaded(Host, repository, kernelized):
    mapping = {"Host": {"cpu": repository(ImportError("no jax"))}}
    assert kernelized(mapping, Host(), use_fallback=KernelizeFallback.ALL)(0) == 1
    with pytest.raises(ImportError):
        kernelized(mapping, Host())


def test_failures_are_not_remembered(Host, Kernel, repository, kernelized):
    source = repository(FileNotFoundError("later"))
    with pytest.raises(FileNotFoundError):
        kernelized({"Host": {"cpu": source}}, Host())
    source.layer = Kernel
    assert kernelized({"Host": {"cpu": source}}, Host())(0) == 1000
    assert kernelized({"Host": {"cpu": source}}, Host())(0) == 1000
    assert source.loads == 2


def test_a_gpu_that_does_not_work_is_no_error(Host, Kernel, repository, kernelized):
    mapping = {"Host": {"cuda": repository(Kernel)}}
    assert kernelized(mapping, Host(), device="cuda")(0) == 1
    with pytest.raises(ValueError, match="right properties.*unknown"):
        kernelized(mapping, Host(), device="cuda", use_fallback=False)


def test_the_gpu_of_the_model_is_asked_and_remembered(Host, Kernel, repository, kernelized, monkeypatch):
    import torch

    asked = []

    def capability(index=None):
        asked.append(index)
        return 8, index

    monkeypatch.setattr(torch.cuda, "get_device_capability", capability)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    monkeypatch.setattr("kernels.layer.repos._capabilities", {})
    mapping = {"Host": {Device("cuda", CUDAProperties(81, 81)): repository(Kernel)}}
    assert kernelized(mapping, Host(), device="cuda")(0) == 1
    assert kernelized(mapping, Host(), device="cuda:1")(0) == 1000
    assert kernelized(mapping, Host(), device=torch.device("cuda:1"))(0) == 1000
    assert asked == [3, 1]


def test_devices_as_programs_give_them(Host, Kernel, repository, kernelized):
    import torch

    mapping = {"Host": {"tpu": repository(Kernel)}}
    for device in ("tpu", "tpu:0", Device("tpu"), type("Other", (), {"type": "tpu"})()):
        assert kernelized(mapping, Host(), device=device)(0) == 1000
    assert kernelized(mapping, Host(), device=torch.device("cpu"))(0) == 1
    with pytest.raises(AttributeError):
        kernelized(mapping, Host(), device=object())


def test_without_device_on_parameters_of_type_tpu(Host, Kernel, repository, kernelized):
    import torch

    class OnTPU(Host):
        def parameters(self, recurse=True):
            return iter([type("Parameter", (), {"device": type("Place", (), {"type": "tpu", "index": 0})})])

    assert kernelized({"Host": {"tpu": repository(Kernel)}}, OnTPU(), device=None)(0) == 1000
    meta = torch.nn.Sequential(Host(), torch.nn.Linear(1, 1)).to("meta")
    assert kernelized({"Host": {"tpu": repository(Kernel)}}, meta, device=None)[0](0) == 1


def test_tpu_generations(Host, Kernel, repository, kernelized, monkeypatch):
    from kernels.layer import TPUProperties

    five, others = repository(Kernel, "five"), repository(Kernel, "others")
    mapping = {"Host": {Device("tpu", TPUProperties(50, 59)): five, "tpu": others}}
    for generation, chosen in (("v5p", five), ("v6e", others), (None, others)):
        five.loads = others.loads = 0
        monkeypatch.setattr("kernels.layer.layer._CACHED_LAYER", {})
        monkeypatch.setattr("kernels._machine.facts", lambda: {"tpu_generation": generation})
        kernelized(mapping, Host(), device="tpu")
        assert (five.loads, others.loads) == ((1, 0) if chosen is five else (0, 1))


# ---- validation ----


def classes(source, name):
    import torch

    names = {"torch": torch, "nn": torch.nn, "functools": functools,
             "use_kernel_forward_from_hub": use_kernel_forward_from_hub}
    exec(source, names)
    return names[name]


def test_layers_that_may_stand_in(vectors, counted, repository):
    document = vectors("validate_layer.json")
    for case in counted(document["layers"], 41):
        host = classes(document["hosts"][case["host"]], "Host")
        kernel = classes(case["kernel"], "K")
        if case["ok"]:
            _validate_layer(check_cls=host, cls=kernel, repo=repository(kernel))
            continue
        with pytest.raises(TypeError, match=case["contains"]) as caught:
            _validate_layer(check_cls=host, cls=kernel, repo=repository(kernel))
        if "additional members" in case["contains"]:
            assert "`Host`" in str(caught.value)
        if "must not override" in case["contains"]:
            assert re.search("`test/repository`.*layer `K` must not override", str(caught.value))


OURS_ACCEPTS = ("posonly", "builtin with signature", "torch builtin without signature")


def test_functions_as_layers(vectors, counted):
    for case in counted(vectors("validate_layer.json")["function_modules"], 11):
        import inspect

        made = _create_func_module(classes(case["function"], "f"))
        parameters = inspect.signature(made.forward).parameters.values()
        assert case["ok"] or case["id"] in OURS_ACCEPTS
        if case["ok"]:
            assert [[each.name, each.kind.name] for each in parameters] == case["forward_parameters"]
            assert (made.can_torch_compile, made.has_backward) == (case["can_torch_compile"], case["has_backward"])
    made = _create_func_module(classes("def f(self, x, /):\n    return self + x", "f"))
    assert [each.kind.name for each in inspect.signature(made.forward).parameters.values()] == ["POSITIONAL_ONLY"] * 3
    assert made()(2, 3) == 5


def test_every_host_class_is_checked(Host, Kernel, repository, kernelized):
    from torch import nn

    @use_kernel_forward_from_hub("Host")
    class Other(nn.Module):
        def forward(self, x, y):
            return x

    mapping = {"Host": {"cpu": repository(Kernel)}}
    assert kernelized(mapping, Host())(0) == 1000
    for _ in range(2):
        with pytest.raises(TypeError, match="different number of arguments"):
            kernelized(mapping, Other())


# ---- a model ----


def test_all_layers_of_a_model(Host, Kernel, repository, kernelized):
    from torch import nn

    shared = Host()
    model = nn.Sequential(nn.Sequential(shared, nn.Identity()), shared, Host())
    assert kernelized({"Host": {"cpu": repository(Kernel)}}, model) is model
    Host.calls = 0
    assert model(0) == 3000 and Host.calls == 0
    kernelized({"Host": {}}, model)
    assert model(0) == 3 and Host.calls == 3


def test_modules_come_in_the_order_of_the_model(Host):
    from torch import nn

    from kernels.layer.kernelize import _modules_of

    class Hiding(nn.Module):
        def __init__(self):
            super().__init__()
            self.shown, self.hidden = Host(), Host()

        def named_modules(self, memo=None, prefix="", remove_duplicate=True):
            yield prefix, self
            yield "shown", self.shown

    shared = nn.Sequential(Host(), nn.Identity())
    model = nn.Sequential(nn.Sequential(Host(), shared), shared, Host(), nn.Sequential(shared[0], Host()))
    model.__dict__["_modules"]["none"] = None
    assert list(_modules_of(model)) == [module for _, module in model.named_modules() if module is not None]
    hiding = nn.Sequential(Hiding(), Host())
    assert list(_modules_of(hiding)) == [hiding, hiding[0], hiding[0].shown, hiding[1]]


def test_a_failure_leaves_the_earlier_layers_kernelized(Host, Kernel, repository, kernelized):
    from torch import nn

    @use_kernel_forward_from_hub("Other")
    class Other(Host):
        pass

    model = nn.Sequential(Host(), Other(), Host())
    with pytest.raises(ValueError, match="`Other`"):
        kernelized({"Host": {"cpu": repository(Kernel)}}, model, use_fallback=False)
    assert [layer(0) for layer in (model[0], model[1], model[2])] == [1000, 1, 1]


def test_odd_requests_are_found_out_when_a_mapped_layer_is_met(Host, Kernel, repository, kernelized):
    kernelized({}, Host(), Mode(6))
    with pytest.raises(ValueError, match="Unsupported mode"):
        kernelized({"Host": {"cpu": repository(Kernel)}}, Host(), Mode(6))


def test_names_that_are_no_texts(Kernel, repository, kernelized):
    from torch import nn

    @use_kernel_forward_from_hub(7)
    class Host(nn.Module):
        def forward(self, x):
            return x

    assert kernelized({"7": {"cpu": repository(Kernel)}}, Host())(0) == 1000


def test_the_mapping_in_force_counts(Host, Kernel, repository):
    register_kernel_mapping({"Host": {"cpu": repository(Kernel)}})
    with use_kernel_mapping({"Other": {}}):
        assert kernelize(Host(), mode=Mode.INFERENCE, device="cpu")(0) == 1000
    with use_kernel_mapping({"Host": {"cpu": {}}}):
        assert kernelize(Host(), mode=Mode.INFERENCE, device="cpu")(0) == 1


# ---- what is told ----


def records(caplog, name):
    return [(record.levelno, record.getMessage()) for record in caplog.records if record.name == name]


def test_messages(Host, Kernel, repository, kernelized, caplog):
    from torch import nn

    caplog.set_level(logging.DEBUG)
    model = nn.Sequential(Host(), Host())
    kernelized({}, model)
    (level, text), = records(caplog, "kernels.layer.layer")
    assert level == logging.WARNING and "No kernel mapping found for layer `Host`" in text
    caplog.clear()
    kernelized({"Host": {"cpu": repository(Kernel)}}, model)
    assert [level for level, text in records(caplog, "kernels.layer.layer")] == [logging.INFO, logging.DEBUG]
    assert "Using function/layer from repo `test/repository`" in caplog.text
    caplog.clear()
    Kernel.can_torch_compile = False
    kernelized({"Host": {"cpu": repository(Kernel)}}, model, Mode.TRAINING | Mode.TORCH_COMPILE)
    assert "does not support torch.compile, using fallback" in caplog.text
    caplog.clear()
    Kernel.has_backward = False
    kernelized({"Host": {"cpu": repository(Kernel)}}, model, Mode.TRAINING)
    assert "does not support backward, using fallback" in caplog.text
    caplog.clear()
    kernelized({"Host": {"cpu": repository(FileNotFoundError("gone"))}}, model, use_fallback=KernelizeFallback.ALL)
    assert (logging.INFO, "Cannot load layer `Host` from `test/repository`, layer `gone`, using fallback: gone") in (
        records(caplog, "kernels.layer.layer"))
    assert not records(caplog, "root")


def test_the_warning_comes_before_the_error(Host, kernelized, caplog):
    with pytest.raises(ValueError, match="No layer mapping for `Host`"):
        kernelized({}, Host(), use_fallback=False)
    assert "No kernel mapping found for layer" in caplog.text


# ---- the switch ----


def test_disabled(Host, Kernel, repository, kernelized, monkeypatch):
    model = kernelized({"Host": {"cpu": repository(Kernel)}}, Host())
    monkeypatch.setattr("kernels.layer.globals._DISABLE_KERNEL_MAPPING", True)
    assert kernelized({"Host": {"cpu": repository(Kernel)}}, model)(0) == 1
    with pytest.raises(ValueError, match="Unsupported device type"):
        kernelized({}, model, device="vulkan")


@pytest.mark.parametrize("text, disabled", [("", False), ("0", False), (" 1 ", True), ("2", True), ("-1", True), ("true", True),
                                            ("Off", False), ("YES", True), ("no", False), ("0x1", None), ("maybe", None)])
def test_the_variable(text, disabled, caplog):
    from kernels.layer.globals import _is_disabled

    assert _is_disabled(text) == bool(disabled)
    assert ("is ignored" in caplog.text) == (disabled is None)
