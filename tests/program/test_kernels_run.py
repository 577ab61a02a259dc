# SPDX-License-Identifier: Apache-2.0
"""`kernels run` on the exported sample kernel and the XLA CPU plugin."""
import hashlib
import json
import os

import numpy
import pytest

import hub_api


@pytest.fixture(scope="module")
def plugin(jax_environment):
    return jax_environment / "xla_plugins" / "xla_cpu_pjrt" / "xla_cpu_pjrt.so"


@pytest.fixture
def sample(data):
    return data / "aot" / "sample"


@pytest.fixture
def kernels_run(run, programs, plugin):
    def call(*arguments, **more):
        return run(programs.kernels, "run", *arguments, "--plugin", plugin, **more)

    return call


def refused(kernels_run, code, *arguments) -> str:
    done = kernels_run(*arguments, check=False)
    assert (done.returncode, done.stdout) == (code, ""), done
    return done.stderr


def test_files_in_and_out(kernels_run, sample, tmp_path):
    x = numpy.random.default_rng(1).standard_normal((3, 2), dtype=numpy.float32)
    y = numpy.random.default_rng(2).standard_normal((3, 2), dtype=numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    numpy.save(tmp_path / "y.npy", y)
    done = kernels_run(sample, "sum_and_dot", "--input", tmp_path / "x.npy", "--input", tmp_path / "y.npy", "--output",
                       tmp_path / "sum.npy", "--output", tmp_path / "dot.npy", "--json", "--repeat", "20")
    report = json.loads(done.stdout)
    assert numpy.array_equal(numpy.load(tmp_path / "sum.npy"), x + y)
    assert numpy.allclose(numpy.load(tmp_path / "dot.npy"), (x * y).sum(), rtol=1e-5)
    assert report["outputs"][0] == {"shape": "f32[3,2]", "sha256": hashlib.sha256((x + y).tobytes()).hexdigest(),
                                    "file": str(tmp_path / "sum.npy")}
    assert (report["function"], report["platform"]) == ("sum_and_dot", "cpu")
    assert report["kernel"]["variant"] == "torch-tpu" and report["kernel"]["verified"] is False
    timing = report["timing"]
    assert timing["calls"] == 20 and 0 < timing["median_ms"] <= timing["p99_ms"] < timing["first_ms"] * 10
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix) == ["dot.npy", "sum.npy", "x.npy", "y.npy"]


def test_text_output(kernels_run, sample):
    lines = kernels_run(sample, "relu", "--input", "f32[4,8]:zeros", "--repeat", "3").stdout.splitlines()
    assert lines[0] == f"kernel    {sample} (torch-tpu, not verified: no digest)"
    assert lines[1] == "function  relu on cpu"
    assert lines[3] == "input 0   f32[4,8] from f32[4,8]:zeros"
    assert lines[4] == f"output 0  f32[4,8] sha256 {hashlib.sha256(bytes(128)).hexdigest()}"
    assert "; 2 more: median " in lines[5]


@pytest.mark.parametrize("text, expected", [
    ("f32[4,8]:ones", numpy.ones((4, 8), "f4")),
    ("bf16[4,8]:ones", numpy.full((4, 8), 0x3f80, "u2")),
    ("s32[]:ones", numpy.array(1, "i4")),
    ("f32[0,8]", numpy.zeros((0, 8), "f4")),
])
def test_fillings(kernels_run, sample, tmp_path, text, expected):
    kernels_run(sample, "relu", "--input", text, "--output", tmp_path / "y.npy")
    got = numpy.load(tmp_path / "y.npy")
    assert got.shape == expected.shape and got.tobytes() == expected.tobytes()


def test_random_is_standard_normal_and_always_the_same(kernels_run, sample, tmp_path):
    for name in ("a.npy", "b.npy"):
        kernels_run(sample, "relu", "--input", "f32[4,8]:random", "--output", tmp_path / name)
    a, b = numpy.load(tmp_path / "a.npy"), numpy.load(tmp_path / "b.npy")
    assert numpy.array_equal(a, b)
    assert 8 <= (a > 0).sum() <= 24 and 0.5 < a.max() < 5


def test_wrong_command_lines(kernels_run, sample):
    assert "expected a .npy file or DTYPE[D,D,...]" in refused(kernels_run, 2, sample, "relu", "--input", "f32[4,8")
    assert "usage: kernels run" in refused(kernels_run, 2, sample, "relu", "--input", "f32[4,8]:seven")
    assert "argument" in refused(kernels_run, 2, sample)
    assert "2 files for the 1 results" in refused(kernels_run, 2, sample, "relu", "--input", "f32[4,8]", "--output",
                                                  "a.npy", "--output", "b.npy")
    refused(kernels_run, 2, sample, "relu", "--repeat", "0")
    assert "must specify either branch or version" in refused(kernels_run, 1, "acme/k", "relu")
    assert "version must be prefixed with 'v'" in refused(kernels_run, 1, "acme/k@1", "relu")
    assert "must specify either branch or version" in refused(kernels_run, 2, "acme/k@", "relu")


def test_wrong_calls(kernels_run, sample, tmp_path):
    said = refused(kernels_run, 1, sample, "relu", "--input", "f32[8,4]")
    assert "relu was not exported for (f32[8,4]) on platform cpu" in said and "relu(bf16[4,8]) -> (bf16[4,8])" in said
    assert "expected 1 argument (x), given 0" in refused(kernels_run, 1, sample, "relu")
    assert 'no function "gelu"; it has: relu, sum_and_dot' in refused(kernels_run, 1, sample, "gelu")
    assert "no-such.npy" in refused(kernels_run, 1, sample, "relu", "--input", "no-such.npy")
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff")
    assert "bad.npy" in refused(kernels_run, 1, sample, "relu", "--input", tmp_path / "bad.npy")
    output = tmp_path / "no-folder" / "y.npy"
    assert "no-folder" in refused(kernels_run, 1, sample, "relu", "--input", "f32[4,8]", "--output", output)


def test_no_plugin(run, programs, sample, environment):
    done = run(programs.kernels, "run", sample, "relu", "--input", "f32[4,8]", check=False)
    assert done.returncode == 1
    assert "option: not given\nPJRT_NAMES_AND_LIBRARY_PATHS: not set\nsite-packages: " in done.stderr
    named = run(programs.kernels, "run", sample, "relu", "--input", "f32[4,8]", "--plugin", "/no/such.so", check=False)
    assert named.returncode == 1 and "/no/such.so: no such file" in named.stderr


def test_by_name_from_a_hub(kernels_run, sample, start_hub, environment):
    url = start_hub("--trusted", "kernels-test").url
    folder = sample / "build" / "torch-tpu"
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*") if path.parent != folder}
    published = {"main": {}, "v1": hub_api.variant("torch-tpu", files, name="sample", backend="tpu")}
    hub_api.publish(url, "kernels-test/sample", published)
    hub_api.publish(url, "somebody/sample", published)
    env = {**environment, "HF_ENDPOINT": url}
    command = ["kernels-test/sample@v1", "relu", "--input", "f32[4,8]", "--json"]
    report = json.loads(kernels_run(*command, env=env).stdout)
    assert report["kernel"]["repo_id"] == "kernels-test/sample" and report["kernel"]["verified"] is True
    offline = json.loads(kernels_run(*command, env={**env, "HF_HUB_OFFLINE": "1"}).stdout)
    assert offline["outputs"] == report["outputs"]
    by_commit = f"kernels-test/sample@{report['kernel']['revision']}"
    assert json.loads(kernels_run(by_commit, *command[1:], env=env).stdout)["outputs"] == report["outputs"]
    other = ["somebody/sample@v1", *command[1:]]
    done = kernels_run(*other, env=env, check=False)
    assert done.returncode == 1 and "not from a trusted publisher" in done.stderr
    assert json.loads(kernels_run(*other, "--trust-remote-code", env=env).stdout)["outputs"] == report["outputs"]


def test_only_plain_files_are_written(kernels_run, sample, tmp_path):
    """Renaming into place would turn /dev/null into a file of numbers, did nobody look first."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for output in (tmp_path / "pipe", tmp_path / "link", tmp_path, ""):
        said = refused(kernels_run, 1, sample, "relu", "--input", "f32[4,8]", "--output", output)
        assert f"cannot write `{output}`" in said
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "home") == ["link", "pipe"]
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "link").is_symlink()


def test_folder_that_is_not_there(kernels_run, tmp_path):
    assert "there is no such folder" in refused(kernels_run, 1, tmp_path / "nothing", "relu")
    assert "there is no such folder" in refused(kernels_run, 1, "./nothing", "relu")
