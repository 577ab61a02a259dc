# SPDX-License-Identifier: Apache-2.0
"""The environment torch-tpu: torch 2.15 and torch_tpu 0.2.0, import stubs in place of NVIDIA's libraries."""
import json
import pathlib
import subprocess

import pytest
from conftest import clean_environment

STUBS = ["libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libcufft.so.12", "libcufile.so.0", "libcupti.so.13",
         "libcusolver.so.12", "libcusparse.so.12", "libcusparseLt.so.0", "libnccl.so.2", "libnvrtc.so.13",
         "libnvshmem_host.so.3"]


@pytest.fixture
def torch_run(torch_python, tmp_path):
    env = {**clean_environment(tmp_path / "home"), "TPU_LOG_DIR": str(tmp_path / "tpu_logs")}

    def run_code(code: str, *arguments) -> subprocess.CompletedProcess:
        return subprocess.run([torch_python, "-W", "ignore", "-c", code, *map(str, arguments)], env=env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)

    return run_code


@pytest.mark.parametrize("accepted, missing", [([], "libtpu"), (["libtpu"], "nvidia-cuda-runtime")])
def test_both_licences_are_asked_for_before_anything_is_made(programs, environment, tmp_path, accepted, missing):
    words = [word for name in accepted for word in ("--accept-licence", name)]
    done = subprocess.run([programs.kernel_builder, "env", "fetch", "torch-tpu", *words], text=True, capture_output=True,
                          env={**environment, "KERNEL_BUILDER_STORE": str(tmp_path / "store")})
    assert done.returncode == 1
    assert f"add --accept-licence {missing}" in done.stderr
    assert not (tmp_path / "store").exists()


@pytest.mark.full
def test_torch_computes_on_the_cpu(torch_run):
    done = torch_run("""
import json, torch, torch_tpu
from importlib.metadata import version
x = torch.arange(16.0).reshape(4, 4)
y = torch.linalg.solve(x + 20 * torch.eye(4), torch.ones(4))
print(json.dumps([torch.__version__, version("torch_tpu"), torch.cuda.is_available(), torch.tpu.is_initialized(),
                  ((x + 20 * torch.eye(4)) @ y).tolist(), torch.nn.Linear(4, 2)(x).shape[1]]))
""")
    assert done.returncode == 0, done.stderr
    version, tpu_version, cuda, started, ones, columns = json.loads(done.stdout.splitlines()[-1])
    assert (version.partition("+")[0], tpu_version, cuda, started, columns) == ("2.15.0", "0.2.0", False, False, 2)
    assert ones == pytest.approx([1, 1, 1, 1], abs=1e-5)


@pytest.mark.full
def test_stubs_are_small_and_say_what_they_are(torch_run, torch_python):
    (libraries,) = torch_python.parents[1].glob("lib/python3.*/site-packages/torch/lib")
    assert [name for name in STUBS if not (libraries / name).is_file()] == []
    assert sum((libraries / name).stat().st_size for name in STUBS) < 1 << 20
    assert not pathlib.Path(libraries, "libcudart.so.13").exists()  # the real one, from its wheel
    done = torch_run("import ctypes, sys; ctypes.CDLL(sys.argv[1]).cublasCreate_v2(None)", libraries / "libcublas.so.13")
    assert done.returncode == -6, done.stderr
    assert "libcublas.so.13: cublasCreate_v2: called, but this library is an import stub" in done.stderr
