# SPDX-License-Identifier: Apache-2.0
"""What `cmake --install` puts on disk can be used: the C example through pkg-config and through the CMake package."""
import subprocess

import pytest

FLAGS = ["-std=c17", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]  # as the library under test

CONSUMER = """\
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(libkernels 0.1 REQUIRED)
add_executable(run_relu {source})
target_link_libraries(run_relu PRIVATE libkernels::kernels)
"""


@pytest.fixture(scope="module")
def prefix(build_dir, programs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed") / "prefix"
    subprocess.run(["cmake", "--install", build_dir, "--prefix", folder], check=True, capture_output=True)
    return folder.rename(folder.with_name("moved"))  # nothing in it may know where it was installed


@pytest.fixture(scope="module")
def source(root):
    return root / "examples" / "c" / "run_relu.c"


@pytest.fixture(scope="module")
def by_pkg_config(prefix, source, tmp_path_factory):
    package = next(prefix.rglob("libkernels.pc")).parent
    asked = subprocess.run(["pkg-config", "--cflags", "--libs", "libkernels"], env={"PKG_CONFIG_PATH": str(package),
                           "PATH": "/usr/bin:/bin"}, check=True, capture_output=True, text=True)
    program = tmp_path_factory.mktemp("pkg-config") / "run_relu"
    built = subprocess.run(["cc", *FLAGS, source, "-o", program, *asked.stdout.split(),
                            f"-Wl,-rpath,{package.parent}"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return program


@pytest.fixture(scope="module")
def by_cmake(prefix, source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("find-package")
    (folder / "CMakeLists.txt").write_text(CONSUMER.format(source=source))
    for command in (["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
                     f"-DCMAKE_C_FLAGS={' '.join(FLAGS)}"], ["cmake", "--build", folder / "build"]):
        built = subprocess.run(command, capture_output=True, text=True)
        assert built.returncode == 0, built.stdout + built.stderr
    return folder / "build" / "run_relu"


@pytest.fixture(params=["by_pkg_config", "by_cmake"])
def run_relu(request):
    return request.getfixturevalue(request.param)


def test_the_example_needs_no_python(run_relu):
    libraries = subprocess.run(["ldd", run_relu], check=True, capture_output=True, text=True).stdout
    assert "libkernels.so.0 => /" in libraries
    assert "python" not in libraries


def test_the_example_says_in_one_message_that_the_hub_is_down(run_relu, run, environment):
    done = run(run_relu, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("run_relu: ") and "127.0.0.1:9" in done.stderr


def test_the_installed_programs_find_each_other(prefix, start_hub, run, programs, tmp_path, environment):
    refused = run(prefix / "bin" / "kernels", "serve", tmp_path / "no-folder", "--port", "1x", check=False)
    assert refused.returncode == 2  # the option table of `serve` answers, before the helper is started
    taken = start_hub()
    port = taken.url.rsplit(":", 1)[1]
    done = run(prefix / "bin" / "kernels", "serve", tmp_path, "--port", port, check=False)
    assert done.returncode == 1 and "in use" in done.stderr.lower()  # said by libexec/kernels/kernels-serve


def test_man_page_and_completions_are_those_of_the_program(prefix, programs, run):
    installed = {path.name: path for path in (prefix / "share").rglob("*") if path.is_file()}
    assert installed["kernels.1"].read_text() == run(programs.kernels, "man").stdout
    for shell, name in (("bash", "{}"), ("zsh", "_{}"), ("fish", "{}.fish")):
        for program in (programs.kernels, programs.kernel_builder):
            file = installed[name.format(program.name)]
            assert file.read_text() == run(program, "completions", shell).stdout, file
        checker = programs.kernels.with_name("kernel-abi-check")
        assert installed[name.format("kernel-abi-check")].read_text() == run(checker, "--completions", shell).stdout
    assert installed["kernel-builder.1"].read_text() == run(programs.kernel_builder, "man").stdout
    assert installed["kernel-abi-check.1"].read_text() == run(checker, "--man").stdout
