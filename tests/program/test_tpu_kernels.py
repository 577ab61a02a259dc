# SPDX-License-Identifier: Apache-2.0
"""The TPU kernels of examples/: built, exported, compiled by libtpu for every generation, compared; and everything
that can go wrong on that way. No TPU is needed."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

import pytest
from conftest import ROOT, clean_environment

GENERATIONS = ["v4", "v5e", "v5p", "v6e", "tpu7x"]
BUILD = ("--env", "jax", "--accept-licence", "libtpu", "--no-check-tpu")


class Kernel:
    """A copy of an example kernel, to be changed and built."""

    def __init__(self, programs, folder: pathlib.Path, name: str):
        self.program, self.folder, self.name = programs.kernel_builder, folder, name
        self.env = clean_environment(folder.parent / "home")
        shutil.copytree(ROOT / "examples" / "kernels" / name, folder,
                        ignore=shutil.ignore_patterns("build", "result", "__pycache__"))
        self.source = folder / "torch-ext" / name.replace("-", "_") / "pallas_kernels.py"

    def replace(self, path: pathlib.Path, old: str, new: str):
        text = path.read_text()
        assert old in text, f"{path} has no {old!r}"
        path.write_text(text.replace(old, new))

    def run(self, *arguments, code=0, env=None) -> subprocess.CompletedProcess:
        done = subprocess.run([self.program, *map(str, arguments)], env={**self.env, **(env or {})}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Sanitizer" not in done.stderr and "runtime error:" not in done.stderr, done.stderr
        return done

    def build(self, code=0) -> subprocess.CompletedProcess:
        return self.run("build-and-copy", self.folder, *BUILD, code=code)

    @property
    def aot(self) -> pathlib.Path:
        """Of build/; `result`, which would be looked at first, is read-only."""
        result = self.folder / "result"
        if result.is_symlink():
            result.unlink()
        return self.folder / "build" / "torch-tpu" / "aot"

    def keep_first_program(self):
        """Leaves one specialisation in the manifest, where one is enough."""
        path = self.aot / "manifest.json"
        manifest = json.loads(path.read_text())
        del manifest["functions"][0]["specialisations"][1:]
        path.write_text(json.dumps(manifest))

    def check(self, *arguments, code=0) -> dict:
        return json.loads(self.run("check-tpu", self.folder, "--json", *arguments, code=code).stdout)["variants"][0]


@pytest.fixture
def kernel(programs, jax_environment, tmp_path):
    return lambda name: Kernel(programs, tmp_path / name, name)


@pytest.fixture(scope="module", params=["relu-tpu", "rmsnorm-tpu"])
def built(request, programs, jax_environment, tmp_path_factory):
    kernel = Kernel(programs, tmp_path_factory.mktemp("built") / request.param, request.param)
    kernel.build()
    return kernel


@pytest.fixture(scope="module")
def relu(programs, jax_environment, tmp_path_factory):
    kernel = Kernel(programs, tmp_path_factory.mktemp("built") / "relu-tpu", "relu-tpu")
    kernel.build()
    kernel.aot
    return kernel


@pytest.fixture
def relu_copy(relu, tmp_path):
    """The built relu-tpu, to be damaged."""
    copy = object.__new__(Kernel)
    copy.__dict__.update(relu.__dict__, folder=tmp_path / "relu-tpu")
    shutil.copytree(relu.folder, copy.folder)
    copy.source = copy.folder / "torch-ext" / "relu_tpu" / "pallas_kernels.py"
    return copy


# ---- what is right ----

def test_manifest(built):
    manifest = json.loads((built.aot / "manifest.json").read_text())
    assert list(manifest) == ["format", "exporter", "functions"]
    assert manifest["format"] == 1
    assert {**manifest["exporter"], "kernel-builder": ""} == {
        "kernel-builder": "", "jax": "0.10.2", "jaxlib": "0.10.2", "libtpu": "0.0.52"}
    (function,) = manifest["functions"]
    assert list(function) == ["name", "arguments", "generations", "tolerance", "specialisations"]
    assert function["generations"] == GENERATIONS
    assert [s["platform"] for s in function["specialisations"]] == ["tpu"] * 3 + ["cpu"] * 3
    for index, specialisation in enumerate(function["specialisations"]):
        keys = ["platform", "inputs", "outputs", "file", "sha256", "stablehlo"]
        assert list(specialisation) == keys + (["mosaic"] if specialisation["platform"] == "tpu" else [])
        assert specialisation["file"] == f"{function['name']}.{specialisation['platform']}.{index % 3}.mlirbc"
        content = (built.aot / specialisation["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == specialisation["sha256"]
        assert str(built.folder).encode() not in content
    assert sorted(os.listdir(built.aot)) == sorted(
        ["manifest.json", *(s["file"] for s in function["specialisations"])])


def test_relu_has_the_promised_shapes(relu):
    (function,) = json.loads((relu.aot / "manifest.json").read_text())["functions"]
    shapes = [s["inputs"][0] for s in function["specialisations"] if s["platform"] == "tpu"]
    assert shapes == ["f32[256,1024]", "bf16[256,1024]", "f32[16,16]"]


def test_every_generation_compiles_and_the_numbers_are_right(built):
    report = built.check()
    assert report["passed"] is True
    assert len(report["compiles"]) == 3 * len(GENERATIONS)
    for compile in report["compiles"]:
        assert compile["outcome"] == "passed", compile
        for key in ("code_bytes", "argument_bytes", "output_bytes", "flops", "bytes_accessed"):
            assert compile[key] > 0, compile
        assert compile["temporary_bytes"] >= 0
    assert sorted({c["generation"] for c in report["compiles"]}) == sorted(GENERATIONS)
    assert [c["outcome"] for c in report["comparisons"]] == ["passed"] * 3
    assert all(c["largest_difference"] < 0.01 for c in report["comparisons"])


def test_table_and_chosen_generation(relu):
    text = relu.run("check-tpu", relu.folder, "--generation", "v2", "--generation", "v6e", "--no-compare").stdout
    rows = [line.split() for line in text.splitlines() if line.startswith("  relu ")]
    assert [(row[1], row[2], row[3]) for row in rows] == [
        (shape, generation, "ok") for shape in ("f32[256,1024]", "bf16[256,1024]", "f32[16,16]")
        for generation in ("v2", "v6e")]
    assert text.endswith("All checks passed.\n")


def test_export_is_reproducible(relu, kernel):
    again = kernel("relu-tpu")
    again.build()
    for file in relu.aot.iterdir():
        assert (again.aot / file.name).read_bytes() == file.read_bytes(), file.name


def test_without_aot_there_is_nothing_to_check(relu_copy):
    shutil.rmtree(relu_copy.aot)
    assert "nothing to check" in relu_copy.run("check-tpu", relu_copy.folder).stdout


# ---- kernels that are wrong ----

def make_blocks_too_large(rmsnorm: Kernel):
    """All rows in one block, on an array of which no generation can hold two. Computing the first rows only keeps the
    code small: the compiler would take seconds to unroll the rest before it finds that the block does not fit."""
    rmsnorm.replace(rmsnorm.source, "BLOCK_ROWS = 128", "BLOCK_ROWS = 16384")
    rmsnorm.replace(rmsnorm.source, "x_ref[...]", "x_ref[0:128, :]")
    rmsnorm.replace(rmsnorm.source, "y_ref[...] =", "y_ref[0:128, :] =")
    config = rmsnorm.folder / "aot.toml"
    rmsnorm.replace(config, '["f32[256,1024]", "f32[1024]"],', '["f32[128,1024]", "f32[1024]"],')
    rmsnorm.replace(config, '["bf16[256,1024]", "bf16[1024]"],', "")
    rmsnorm.replace(config, '["f32[512,2048]", "f32[2048]"]', '["f32[16384,1024]", "f32[1024]"]')


def test_block_that_does_not_fit(kernel):
    rmsnorm = kernel("rmsnorm-tpu")
    make_blocks_too_large(rmsnorm)
    rmsnorm.build()
    rmsnorm.aot
    report = rmsnorm.check("--no-compare", code=1)
    assert [c["outcome"] for c in report["compiles"]] == ["passed"] * 5 + ["failed"] * 5
    failed = report["compiles"][5:]
    assert [c["generation"] for c in failed] == GENERATIONS
    for compile in failed:
        allocation = compile["allocation"]
        assert allocation["space"] == "vmem"
        assert allocation["wanted_bytes"] > allocation["available_bytes"] >= 16 << 20
    assert {c["allocation"]["available_bytes"] for c in failed if c["generation"] == "v4"} == {16 << 20}
    text = rmsnorm.run("check-tpu", rmsnorm.folder, "--no-compare", "--generation", "v4", code=1).stdout
    assert ("rmsnorm f32[16384,1024], f32[1024] on v4: does not fit into vmem: wanted 67108864 bytes, "
            "available 16777216 bytes") in text
    assert text.endswith("Checks failed.\n")


def test_build_runs_the_check(kernel):
    rmsnorm = kernel("rmsnorm-tpu")
    make_blocks_too_large(rmsnorm)
    done = rmsnorm.run("build", rmsnorm.folder, "--env", "jax", "--accept-licence", "libtpu", code=1)
    assert "does not fit into vmem" in done.stderr
    assert not (rmsnorm.folder / "result").exists()


def test_wrong_numbers(relu_copy):
    relu_copy.replace(relu_copy.source, "jnp.where(x > 0, x,", "jnp.where(x > 0, x * 1.001,")
    report = relu_copy.check("--generation", "v6e", code=1)
    assert {c["outcome"] for c in report["compiles"]} == {"passed"}
    f32 = report["comparisons"][0]
    assert f32["outcome"] == "failed" and "differ from the reference" in f32["message"]
    assert 1e-3 < f32["largest_difference"] < 1e-2


def test_failing_reference(relu_copy):
    relu_copy.replace(relu_copy.source, "    return jnp.where(", "    return jnp.nowhere(")
    report = relu_copy.check("--generation", "v6e", code=1)
    assert {c["outcome"] for c in report["comparisons"]} == {"failed"}
    assert "nowhere" in report["comparisons"][0]["message"]


def test_no_reference_is_said(relu_copy):
    config = relu_copy.folder / "aot.toml"
    config.write_text("".join(line for line in config.read_text().splitlines(True) if "reference" not in line))
    report = relu_copy.check("--generation", "v6e")
    assert {c["outcome"] for c in report["comparisons"]} == {"skipped"}
    assert "reference" in report["comparisons"][0]["message"]


def test_tpu_only_primitive_is_exported_for_tpu_alone(kernel):
    relu = kernel("relu-tpu")
    relu.replace(relu.source, "from jax.experimental import pallas as pl\n",
                 "from jax.experimental import pallas as pl\nfrom jax.experimental.pallas import tpu as pltpu\n")
    relu.replace(relu.source, "    y_ref[...] = jnp.maximum(x_ref[...], 0)",
                 "    pltpu.prng_seed(0)\n    y_ref[...] = jnp.maximum(x_ref[...], 0)")
    relu.build()
    (function,) = json.loads((relu.aot / "manifest.json").read_text())["functions"]
    assert {s["platform"] for s in function["specialisations"]} == {"tpu"}
    assert [(s["platform"], s["index"]) for s in function["skipped"]] == [("cpu", 0), ("cpu", 1), ("cpu", 2)]
    assert all("prng_seed" in s["reason"] for s in function["skipped"])
    report = relu.check("--generation", "v6e")
    assert [c["outcome"] for c in report["comparisons"]] == ["skipped"]


@pytest.mark.parametrize("old, new, message", [
    ("format = 1", "format = 2", "aot.toml:2:10: format"),
    ('arguments = ["x"]', 'argument = ["x"]', 'aot.toml:7:1: function: unknown key "argument"'),
    ('"f32[16,16]"', '"f31[16,16]"', '"f31[16,16]" is no shape text'),
    ("pallas_kernels.py:relu\"", "missing.py:relu\"", "torch-ext/relu_tpu/missing.py"),
    ("pallas_kernels.py:relu\"", "pallas_kernels.py:gelu\"", "no attribute 'gelu'"),
])
def test_aot_toml_errors(kernel, old, new, message):
    relu = kernel("relu-tpu")
    relu.replace(relu.folder / "aot.toml", old, new)
    done = relu.build(code=1)
    assert message in done.stderr
    assert not (relu.folder / "build").exists() and not (relu.folder / "result").exists()


def test_kernel_that_does_not_lower(kernel):
    relu = kernel("relu-tpu")
    relu.replace(relu.source, "jnp.maximum(x_ref[...], 0)", "jnp.linalg.det(x_ref[...])")
    done = relu.build(code=1)
    assert "relu for tpu: f32[256,1024]: " in done.stderr


# ---- files that are wrong ----

def test_truncated_program(relu_copy):
    program = relu_copy.aot / "relu.tpu.0.mlirbc"
    program.write_bytes(program.read_bytes()[:1500])
    done = relu_copy.run("check-tpu", relu_copy.folder, code=1)
    assert "relu.tpu.0.mlirbc" in done.stderr and "SHA-256" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("size", [0, 40, 1500])
def test_truncated_program_with_its_hash(relu_copy, size):
    program = relu_copy.aot / "relu.tpu.0.mlirbc"
    manifest = relu_copy.aot / "manifest.json"
    before = hashlib.sha256(program.read_bytes()).hexdigest()
    program.write_bytes(program.read_bytes()[:size])
    relu_copy.replace(manifest, before, hashlib.sha256(program.read_bytes()).hexdigest())
    report = relu_copy.check("--no-compare", "--generation", "v6e", code=1)
    assert [c["outcome"] for c in report["compiles"]] == ["failed", "passed", "passed"]
    assert report["compiles"][0]["message"]


# ---- compilers that are wrong ----

SHIM = r"""
/* A libtpu that misbehaves when it is asked to compile for TPU v5p. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pjrt_c_api.h"

static const PJRT_Api *real;
static PJRT_Api table;
static int on_v5p;

static PJRT_Error *create(PJRT_TopologyDescription_Create_Args *args) {
    on_v5p = args->topology_name_size >= 3 && memcmp(args->topology_name, "v5p", 3) == 0;
    return real->PJRT_TopologyDescription_Create(args);
}

static PJRT_Error *compile(PJRT_Compile_Args *args) {
    if (on_v5p && getenv("SHIM_HANGS")) pause();
    if (on_v5p) raise(SIGKILL);
    return real->PJRT_Compile(args);
}

const PJRT_Api *GetPjrtApi(void) {
    void *library = dlopen(getenv("SHIM_LIBTPU"), RTLD_NOW | RTLD_LOCAL);
    const PJRT_Api *(*get)(void) = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
    real = get();
    memcpy(&table, real, real->struct_size < sizeof table ? real->struct_size : sizeof table);
    if (table.struct_size > sizeof table) table.struct_size = sizeof table;
    table.PJRT_TopologyDescription_Create = create;
    table.PJRT_Compile = compile;
    return &table;
}
"""


@pytest.fixture(scope="module")
def shim(jax_environment, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    header = jax_environment / "xla_plugins" / "xla_cpu_pjrt" / "include"
    subprocess.run(["cc", "-shared", "-fPIC", "-I", header, "-o", folder / "libtpu.so", folder / "shim.c", "-ldl"],
                   check=True)
    return folder / "libtpu.so"


THREE = ("--no-compare", "--generation", "v4", "--generation", "v5p", "--generation", "v6e")


def check_with_shim(kernel, shim, jax_environment, message, *arguments):
    kernel.env = {**kernel.env, "SHIM_LIBTPU": str(jax_environment / "libtpu" / "libtpu.so")}
    compiles = kernel.check("--libtpu", shim, *THREE, *arguments, code=1)["compiles"]
    for compile in compiles:
        assert compile["outcome"] == ("failed" if compile["generation"] == "v5p" else "passed"), compile
        if compile["generation"] == "v5p":
            assert message in compile["message"]
    return compiles


def test_compiler_that_dies(relu_copy, shim, jax_environment):
    assert len(check_with_shim(relu_copy, shim, jax_environment, "ended by signal 9")) == 9


@pytest.mark.full  # waits
def test_compiler_that_hangs(relu_copy, shim, jax_environment):
    relu_copy.keep_first_program()
    relu_copy.env = {**relu_copy.env, "SHIM_HANGS": "1"}
    seconds = 30  # the first compile of a sanitized program on a busy machine takes some
    check_with_shim(relu_copy, shim, jax_environment, f"no answer within {seconds} s", "--timeout", seconds)


def test_file_that_is_no_plugin(relu_copy, tmp_path):
    (tmp_path / "libtpu.so").write_text("no library")
    report = relu_copy.check("--no-compare", "--libtpu", tmp_path / "libtpu.so", code=1)
    assert {c["outcome"] for c in report["compiles"]} == {"failed"}
    assert "libtpu.so" in report["compiles"][0]["message"]


# ---- environments that are not there ----

def test_no_libtpu(relu_copy, tmp_path):
    done = relu_copy.run("check-tpu", relu_copy.folder, code=1, env={"KERNEL_BUILDER_STORE": str(tmp_path / "empty")})
    assert "PJRT_NAMES_AND_LIBRARY_PATHS" in done.stderr and "TPU_LIBRARY_PATH" in done.stderr


def test_without_python_the_compilation_is_still_checked(relu_copy, jax_environment, tmp_path):
    report = relu_copy_check_without_store(relu_copy, jax_environment, tmp_path)
    assert {c["outcome"] for c in report["compiles"]} == {"passed"}
    assert {c["outcome"] for c in report["comparisons"]} == {"skipped"}
    assert "env fetch jax" in report["comparisons"][0]["message"]


def relu_copy_check_without_store(kernel, jax_environment, tmp_path) -> dict:
    kernel.env = {**kernel.env, "KERNEL_BUILDER_STORE": str(tmp_path / "empty")}
    return kernel.check("--libtpu", jax_environment / "libtpu" / "libtpu.so", "--generation", "v6e")


@pytest.mark.parametrize("arguments", [("build", "--env", "jax"), ("env", "fetch", "jax")])
def test_licence_not_accepted(kernel, tmp_path, arguments):
    relu = kernel("relu-tpu")
    command = [*arguments] if arguments[0] == "env" else [arguments[0], relu.folder, *arguments[1:]]
    done = relu.run(*command, code=1, env={"KERNEL_BUILDER_STORE": str(tmp_path / "empty")})
    assert "libtpu 0.0.52" in done.stderr and "--accept-licence libtpu" in done.stderr
    assert not list((tmp_path / "empty").glob("env/*"))


def test_environment_is_made_once(programs, jax_environment, environment):
    for command in (["env", "path"], ["env", "path", "jax"], ["env", "fetch", "jax"]):
        done = subprocess.run([programs.kernel_builder, *command], env=environment, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert jax_environment.is_relative_to(done.stdout.strip())


def test_environment_path_of_none(programs, environment, tmp_path):
    done = subprocess.run([programs.kernel_builder, "env", "path"], text=True, capture_output=True,
                          env={**environment, "KERNEL_BUILDER_STORE": str(tmp_path)})
    assert done.returncode == 1
    assert "kernel-builder env fetch jax" in done.stderr
    assert not any(tmp_path.glob("env"))
