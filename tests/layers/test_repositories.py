# SPDX-License-Identifier: Apache-2.0
"""Repositories: arguments, equality, text, and loading through the functions of kernels.load."""
import json
import logging
import pathlib
import socket
import types

import pytest

from kernels import (FuncRepository, LayerRepository, LocalFuncRepository, LocalLayerRepository, LockedFuncRepository,
                     LockedLayerRepository)
from kernels.layer.layer import _get_kernel_layer

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB = [(LayerRepository, "layer_name"), (FuncRepository, "func_name")]
LOCAL = [(LocalLayerRepository, "layer_name"), (LocalFuncRepository, "func_name")]
LOCKED = [(LockedLayerRepository, "layer_name"), (LockedFuncRepository, "func_name")]


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("a request")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def lockfile(tmp_path):
    def write(repo_id="owner/kernel", version=1, commit=COMMIT):
        path = tmp_path / f"{commit}.lock"
        path.write_text(json.dumps([{"dependency": {"repo-id": repo_id, "version": version}, "lock": {"commit": commit}}]))
        return path

    return write


@pytest.mark.parametrize("kind, name", HUB)
def test_version_or_revision(kind, name, no_network):
    with pytest.raises(ValueError, match="Either a revision or a version must be specified, not both"):
        kind("a/b", version=1, revision="main", **{name: "X"})
    with pytest.raises(ValueError, match="Either a revision or a version must be specified"):
        kind("a/b", **{name: "X"})
    assert kind("a/b", revision="", **{name: "X"})._revision == ""
    with pytest.raises(TypeError):
        kind("a/b", "X", version=1)


@pytest.mark.parametrize("kind, name", HUB)
def test_hub(kind, name, no_network):
    one = kind("a/b", version=1, **{name: "X"})
    assert (getattr(one, name), one._repo_id, one._version, one._revision, one._trust_remote_code) == (
        "X", "a/b", 1, None, False)
    assert one == kind("a/b", version=1, **{name: "X"}) and hash(one) == hash(kind("a/b", version=1, **{name: "X"}))
    trusted = ["a/b"]
    others = [kind("a/b", version=2, **{name: "X"}), kind("a/b", revision="v1", **{name: "X"}),
              kind("a/c", version=1, **{name: "X"}), kind("a/b", version=1, **{name: "Y"}),
              kind("a/b", version=1, trust_remote_code=True, **{name: "X"}),
              kind("a/b", version=1, trust_remote_code=trusted, **{name: "X"})]
    assert len({one, *others}) == 7 and all(one != other for other in others)
    trusted.append("more")
    assert others[-1]._trust_remote_code == ["a/b"]


@pytest.mark.parametrize("kind, name", HUB)
def test_text_asks_nobody(kind, name, no_network):
    what = "layer" if name == "layer_name" else "function"
    assert str(kind("a/b", version=1, **{name: "X"})) == f"`a/b` (version: 1), {what} `X`"
    assert str(kind("a/b", revision="main", **{name: "X"})) == f"`a/b` (revision: main), {what} `X`"
    assert repr(kind("a/b", version=1, **{name: "X"})).startswith("<kernels.layer.")


def test_user_agent_does_not_count():
    one = LayerRepository("a/b", layer_name="X", version=1, user_agent="me")
    assert one._user_agent == "me" and one == LayerRepository("a/b", layer_name="X", version=1)


@pytest.mark.parametrize("kind, name", LOCAL)
def test_local(kind, name, tmp_path):
    one = kind(tmp_path, **{name: "X"})
    assert one == kind(str(tmp_path), **{name: "X"}) and hash(one) == hash(kind(str(tmp_path), **{name: "X"}))
    assert one != kind(tmp_path / "a" / "..", **{name: "X"}) and one._repo_path == pathlib.Path(tmp_path)
    what = "layer" if name == "layer_name" else "function"
    assert str(one) == f"`{tmp_path}` ({what} `X`)"


def test_package_name_is_ignored(tmp_path):
    assert LocalLayerRepository(tmp_path, layer_name="X", package_name="p") == LocalLayerRepository(tmp_path, layer_name="X")


@pytest.mark.parametrize("kind, name", LOCKED)
def test_locked(kind, name, lockfile):
    one = kind("owner/kernel", lockfile=lockfile(), **{name: "X"})
    assert one == kind("owner/kernel", lockfile=str(lockfile()), **{name: "X"})
    assert one != kind("owner/kernel", lockfile=lockfile(commit="f" * 40), **{name: "X"})
    assert one.kernel_dep.repo_id == "owner/kernel" and one.kernel_locks[one.kernel_dep].commit == COMMIT
    what = "layer" if name == "layer_name" else "function"
    assert str(one) == f"`owner/kernel` (revision: {COMMIT}), {what} `X`"
    assert len({one, kind("owner/kernel", lockfile=lockfile(), trust_remote_code=["x"], **{name: "X"})}) == 2
    with pytest.raises(ValueError, match="is not locked"):
        kind("owner/other", lockfile=lockfile(), **{name: "X"})
    with pytest.raises(FileNotFoundError):
        kind("owner/kernel", lockfile=lockfile().with_name("absent"), **{name: "X"})


def test_classes_never_compare_equal(tmp_path):
    assert LocalLayerRepository(tmp_path, layer_name="X") != LocalFuncRepository(tmp_path, func_name="X")


@pytest.mark.parametrize("make", [lambda: FuncRepository("a/b", func_name="f", version=1),
                                  lambda: LocalFuncRepository("a", func_name="f"),
                                  lambda: __import__("kernels").use_kernel_func_from_hub("f")])
def test_functions_are_deprecated(make, caplog):
    make()
    assert [(record.name, record.levelno) for record in caplog.records] == [("kernels.layer.func", logging.WARNING)]
    assert "kernels 0.17" in caplog.text


def test_what_is_handed_to_the_loader(monkeypatch):
    calls = []

    def get_kernel(repo_id, **options):
        calls.append((repo_id, options))
        return types.SimpleNamespace(layers=types.SimpleNamespace(X=str), f=lambda x: x)

    monkeypatch.setattr("kernels.load.get_kernel", get_kernel)
    assert LayerRepository("a/b", layer_name="X", version=3, trust_remote_code=["a/b"], user_agent={"x": 1}).load() is str
    FuncRepository("a/b", func_name="f", revision="main").load()
    assert calls == [
        ("a/b", {"revision": None, "version": 3, "trust_remote_code": ["a/b"], "user_agent": {"x": 1}}),
        ("a/b", {"revision": "main", "version": None, "trust_remote_code": False, "user_agent": None})]


def test_layers_that_are_not_there():
    repository = LayerRepository("a/b", layer_name="X", version=1)
    for module in (types.SimpleNamespace(), types.SimpleNamespace(layers=None)):
        with pytest.raises(ValueError, match="does not define any layers"):
            _get_kernel_layer(repository, module)
    with pytest.raises(ValueError, match="Layer `X` not found"):
        _get_kernel_layer(repository, types.SimpleNamespace(layers=types.SimpleNamespace()))
