# SPDX-License-Identifier: Apache-2.0
"""What is registered, where it is seen, and when it ends."""
import asyncio
import contextvars
import logging
import sys
import threading

import pytest

from kernels import CUDAProperties, Device, LayerRepository, Mode, ROCMProperties
from kernels import register_kernel_mapping, use_kernel_mapping
from kernels.layer import TPUProperties
from kernels.layer.globals import _KERNEL_MAPPING, _PROCESS_MAPPING
from kernels.layer.repos import DeviceRepos, _CUDARepos, _TPURepos

from conftest import mode_of


# ---- vectors ----


class Label:
    def __init__(self, name):
        self.name = name


def mapping_of(document):
    def target(value):
        if isinstance(value, dict):
            return {mode_of(mode): Label(name) for mode, name in value.items()}
        return Label(value)

    def device(value):
        if isinstance(value, str):
            return value
        kind = CUDAProperties if value["type"] == "cuda" else ROCMProperties
        return Device(value["type"], kind(value["min"], value["max"]))

    return {layer: {device(key): target(value) for key, value in pairs} for layer, pairs in document.items()}


def state():
    found = {}
    for layer, device_type, span, choices in _KERNEL_MAPPING.get().native.entries():
        devices = found.setdefault(layer, {})
        modes = {Mode(mode).name: repository.name for mode, repository in choices}
        if device_type and span:
            devices.setdefault(device_type, []).append({"min": span[0], "max": span[1], "modes": modes})
        elif device_type:
            devices[device_type] = modes
    return found


def test_sequences(vectors, counted):
    for scenario in counted(vectors("mapping_ops.json")["scenarios"], 11):
        contextvars.copy_context().run(run_scenario, scenario)


def run_scenario(scenario):
    _PROCESS_MAPPING.register({}, clear=True)
    entered = []
    for step in scenario["steps"]:
        inherit = step.get("inherit", True)
        try:
            if step["op"] == "register":
                register_kernel_mapping(mapping_of(step["mapping"]), inherit_mapping=inherit)
            elif step["op"] == "enter":
                context = use_kernel_mapping(mapping_of(step["mapping"]), inherit_mapping=inherit)
                assert context.__enter__() is None
                entered.append(context)
            else:
                entered.pop().__exit__(None, None, None)
            assert step["ok"]
            wanted = step["state"]
        except ValueError:
            assert not step["ok"]
            wanted = scenario["wanted_state_after_failure"]
        assert state() == wanted, scenario["name"]


# ---- the face of a dictionary ----


def test_it_is_indexed_as_programs_do(monkeypatch):
    monkeypatch.setattr("kernels.layer.repos._find_capability", lambda: 90)
    register_kernel_mapping({"A": {"cuda": LayerRepository("owner/kernel", layer_name="X", version=1)}, "B": {}})
    mapping = _KERNEL_MAPPING.get()
    assert mapping["A"]["cuda"].repos[Mode.FALLBACK]._repo_id == "owner/kernel"
    assert mapping["A"]["cuda"].repos[Mode.FALLBACK].layer_name == "X"
    assert set(mapping.keys()) == set(mapping) == {"A", "B"} and len(mapping) == 2
    assert "A" in mapping and "C" not in mapping and "cpu" not in mapping["A"] and len(mapping["B"]) == 0
    with pytest.raises(KeyError):
        mapping["C"]
    with pytest.raises(KeyError):
        mapping["A"]["cpu"]
    assert "owner" not in repr(mapping["B"]) and "_CUDARepos" in repr(mapping)


def test_entries_of_one_device(monkeypatch, repository):
    a, b, c = repository("a"), repository("b"), repository("c")
    monkeypatch.setattr("kernels.layer.repos._find_capability", lambda: 95)
    cuda = _CUDARepos()
    assert cuda.repos is None
    cuda.insert(Device("cuda", CUDAProperties(90, 99)), {Mode.FALLBACK: a})
    cuda.insert(Device("cuda"), {Mode.FALLBACK: b})
    assert cuda.repos == {Mode.FALLBACK: a}
    monkeypatch.setattr("kernels.layer.repos._find_capability", lambda: 80)
    assert cuda.repos == {Mode.FALLBACK: b}
    cpu = DeviceRepos.create_repo(Device("cpu"))
    cpu.insert(Device("cpu"), {Mode.INFERENCE: a, Mode.TRAINING: b})
    cpu.insert(Device("cpu"), {Mode.TRAINING: c})
    assert cpu.repos == {Mode.TRAINING: c}
    with pytest.raises(ValueError, match="Unknown device type"):
        DeviceRepos.create_repo(Device("vulkan"))
    assert cuda != cpu and cuda == cuda


def test_tpu_generations(monkeypatch, repository):
    any_tpu, five = repository("any"), repository("five")
    register_kernel_mapping({"A": {"tpu": any_tpu, Device("tpu", TPUProperties(50, 59)): five}})
    for generation, wanted in (("v5e", five), ("v6e", any_tpu), (None, any_tpu)):
        monkeypatch.setattr("kernels._machine.facts", lambda: {"tpu_generation": generation})
        assert _KERNEL_MAPPING.get()["A"]["tpu"].repos == {Mode.FALLBACK: wanted}
    assert _TPURepos().repos == {}


def test_a_plain_dictionary_is_taken_over(repository):
    cpu = DeviceRepos.create_repo(Device("cpu"))
    cpu.insert(Device("cpu"), {Mode.FALLBACK: repository("a")})
    token = _KERNEL_MAPPING.set({"A": {"cpu": cpu}})
    try:
        register_kernel_mapping({"B": {"cpu": repository("b")}})
        assert set(_KERNEL_MAPPING.get()) == {"A", "B"}
        assert _KERNEL_MAPPING.get()["A"]["cpu"] == cpu
    finally:
        _KERNEL_MAPPING.reset(token)


# ---- what is kept ----


def test_later_changes_by_the_caller_are_not_seen(repository):
    modes = {Mode.FALLBACK: repository("a")}
    register_kernel_mapping({"A": {"cpu": modes}})
    modes.clear()
    assert len(_KERNEL_MAPPING.get()["A"]["cpu"].repos) == 1


def test_repositories_are_shared_not_copied(repository):
    class Locked:  # cannot be copied, as a lock of threads
        def __deepcopy__(self, memo):
            raise TypeError("cannot copy")

    locked = Locked()
    register_kernel_mapping({"A": {"cpu": locked}})
    with use_kernel_mapping({"B": {"cpu": repository("b")}}):
        assert _KERNEL_MAPPING.get()["A"]["cpu"].repos[Mode.FALLBACK] is locked


def test_repositories_are_let_go(repository):
    first, second = repository("a"), repository("b")
    before = sys.getrefcount(first)
    register_kernel_mapping({"A": {"cpu": {Mode.FALLBACK: first}, "tpu": first}})
    with use_kernel_mapping({}):
        assert sys.getrefcount(first) == before + 2
        assert _KERNEL_MAPPING.get().native.find("A", "cpu", None, 4)[3] is first
    _KERNEL_MAPPING.get()["A"]["cpu"].repos
    register_kernel_mapping({"A": {"cpu": second, "tpu": second}})
    assert sys.getrefcount(first) == before


def test_a_mode_that_no_request_asks_for_is_told(repository, caplog):
    with caplog.at_level(logging.WARNING, "kernels.layer.kernelize"):
        register_kernel_mapping({"A": {"cpu": {Mode.TORCH_COMPILE: repository("a"), "inference": repository("b")}}})
    assert [record.name for record in caplog.records] == ["kernels.layer.kernelize"] * 2
    assert list(_KERNEL_MAPPING.get()["A"]["cpu"].repos) == [Mode.TORCH_COMPILE]


# ---- contexts and threads ----


def layers():
    return set(_KERNEL_MAPPING.get())


def test_nothing_is_checked_before_entering(repository):
    context = use_kernel_mapping({"A": {"vulkan": repository("a")}})
    register_kernel_mapping({"Z": {}})
    for _ in range(2):
        with pytest.raises(ValueError, match="Unknown device type"):
            with context:
                raise AssertionError("not reached")
        assert layers() == {"Z"}


def test_the_same_object_entered_within_itself(repository):
    context = use_kernel_mapping({"A": {"cpu": repository("a")}}, inherit_mapping=False)
    with context:
        register_kernel_mapping({"B": {}})
        with context:
            assert layers() == {"A"}
        assert layers() == {"A", "B"}
    assert layers() == set()
    with context:
        assert layers() == {"A"}


def test_exceptions_propagate_and_the_mapping_is_restored():
    with pytest.raises(KeyError):
        with use_kernel_mapping({"A": {}}):
            raise KeyError("x")
    assert layers() == set()


def test_leaving_what_was_not_entered():
    context = use_kernel_mapping({})
    with pytest.raises(RuntimeError, match="another context"):
        context.__exit__(None, None, None)


def in_thread(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()), context=contextvars.Context()) if (
        sys.version_info >= (3, 14)) else threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def test_threads():
    register_kernel_mapping({"A": {}})
    assert in_thread(layers) == {"A"}
    with use_kernel_mapping({"B": {}}):
        assert layers() == {"A", "B"}
        assert in_thread(layers) == {"A"}
    in_thread(lambda: register_kernel_mapping({"C": {}}))
    assert layers() == {"A", "C"}
    in_thread(lambda: register_kernel_mapping({"D": {}}, inherit_mapping=False))  # the variable was never set there
    assert layers() == {"D"}


def test_forgetting_within_a_context_concerns_that_context():
    register_kernel_mapping({"A": {}})
    with use_kernel_mapping({}):
        register_kernel_mapping({"B": {}}, inherit_mapping=False)
        assert layers() == {"B"} and in_thread(layers) == {"A"}
    assert layers() == {"A"}


def test_one_object_in_several_tasks():
    context = use_kernel_mapping({"T": {}})
    seen = []

    async def task(pause):
        with context:
            await asyncio.sleep(pause)
            seen.append(layers())
        seen.append(layers())

    async def main():
        await asyncio.gather(task(0.02), task(0.01), task(0.03))

    asyncio.run(main())
    assert seen.count({"T"}) == 3 and seen.count(set()) == 3


def test_a_task_shares_the_mapping_of_its_parent():
    async def child():
        register_kernel_mapping({"C": {}})

    async def main():
        with use_kernel_mapping({"B": {}}):
            await asyncio.create_task(child())
            return layers()

    assert asyncio.run(main()) == {"B", "C"}
    assert layers() == set()


def test_many_threads_register_and_read(repository):
    one, two = repository("one"), repository("two")
    register_kernel_mapping({"A": {"cpu": one}})
    wrong = []

    def write():
        for turn in range(300):
            register_kernel_mapping({"A": {"cpu": (one, two)[turn % 2]}, f"B{turn}": {}})

    def read():
        for _ in range(1000):
            found = _KERNEL_MAPPING.get().native.find("A", "cpu", None, Mode.INFERENCE.value)[3]
            if found is not one and found is not two:
                wrong.append(found)

    threads = [threading.Thread(target=function) for function in (write, read, read, read) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(layers()) == 301


def test_registering_while_a_repository_is_let_go():
    class Meddler:
        def __del__(self):
            register_kernel_mapping({"FromDel": {}})

    register_kernel_mapping({"A": {"cpu": Meddler()}})
    register_kernel_mapping({"A": {"cpu": object()}})
    assert layers() == {"A", "FromDel"}


# ---- the class in C ----


def test_wrong_entries_are_refused():
    from kernels._native import LayerMapping

    mapping = LayerMapping()
    for entries in (("x",), (("a", None, None),), ((1, None, None, ()),), (("a", "cpu", 3, ()),), (("a", "cpu", (1, 2), ()),),
                    (("a", "cpu", None, (1,)),), (("a", "cpu", None, ((99, None),)),), (("a", None, None, []),)):
        with pytest.raises((TypeError, ValueError)):
            mapping.register(entries, False)
    with pytest.raises(TypeError):
        mapping.register([], False)
    with pytest.raises(TypeError):
        LayerMapping(1)
    assert mapping.entries() == []
    mapping.register((("a", "cuda", (-(10**30), 10**30), ((4, "r"),)),), False)
    assert mapping.entries() == [("a", "cuda", (-(2**63), 2**63 - 1), ((4, "r"),))]
    assert mapping.find("a", "cuda", 10**30, 4) == (None, None, 4, "r")
    assert mapping.choices("a", "cuda", None) == ("no_properties", ())
    assert mapping.find("a", "cuda", 80, 6)[0] == "bad_mode"
