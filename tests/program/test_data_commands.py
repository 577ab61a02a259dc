# SPDX-License-Identifier: Apache-2.0
"""kernel-builder check-config, hash and update-build. Their rules are in the unit tests; here is what the commands make
of them: exit codes, files, output."""
import json
import os
import re
import shutil
import stat
import threading
import tomllib

import pytest

HEAD = '[general]\nname = "ab"\nversion = 1\nedition = 5\nlicense = "MIT"\n'


@pytest.fixture
def builder(run, programs, tmp_path):
    """builder(command, options..., toml=, code=) runs it on the folder builder.folder."""
    folder = tmp_path / "kernel"
    folder.mkdir()

    def call(command, *options, toml=None, code=0):
        if toml is not None:
            (folder / "build.toml").write_text(toml)
        done = run(programs.kernel_builder, command, *options, folder, check=False)
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    call.folder = folder
    call.file = folder / "build.toml"
    return call


# ---- check-config ----


def test_right_file_is_silent(builder):
    done = builder("check-config", toml=HEAD + 'backends = ["tpu"]\n[torch-noarch]\n')
    assert (done.stdout, done.stderr) == ("", "")


def test_everything_doubtful_is_a_warning(builder):
    toml = (HEAD + 'backends = ["cuda"]\ncuda = {minver = "13.0", maxver = "12.6"}\ntpu = {python-depends = ["jax"]}\n'
            '[torch-noarch]\n[kernel.x]\nbackend = "rocm"\ndepends = []\nsrc = ["gone.cu"]\n')
    done = builder("check-config", toml=toml)
    for words in ("gone.cu does not exist", "kernel.x is for rocm", "[torch-noarch] kernel compiles nothing",
                  "general.cuda.minver is above", "0.17.2 refuses"):
        assert words in done.stderr
    said = json.loads(builder("check-config", "--json").stdout)
    assert said["valid"] and said["error"] is None and len(said["warnings"]) == 5
    assert (said["name"], said["edition"], said["framework"], said["backends"]) == ("ab", 5, "torch-noarch", ["cuda"])
    limits = HEAD + 'backends = ["cuda"]\n[torch]\nminver = "2.12"\nmaxver = "2.9"\n'
    assert "torch.minver is above" in builder("check-config", toml=limits).stderr


def test_wrong_file(builder):
    done = builder("check-config", toml=HEAD + 'backends = ["cuda"]\n[torch]\ntypo-key = 1\n', code=1)
    assert "build.toml:8:1: torch.typo-key: unknown key" in done.stderr
    said = json.loads(builder("check-config", "--json", code=1).stdout)
    assert not said["valid"] and "typo-key" in said["error"] and "name" not in said
    builder.file.unlink()
    assert "build.toml" in builder("check-config", code=1).stderr


def test_python_dependencies_of_every_backend_are_known(builder):
    toml = HEAD + 'backends = ["cpu"]\n[general.tpu]\npython-depends = ["{}"]\n[torch-noarch]\n'
    unknown = builder("check-config", toml=toml.format("jaxx"), code=1).stderr
    assert "jaxx" in unknown and "general.tpu" in unknown
    assert "jaxx" in builder("build", toml=toml.format("jaxx"), code=1).stderr
    assert "0.17.2" in builder("check-config", toml=toml.format("jax")).stderr


def test_older_editions(builder, data):
    for name, code in (("v4-full", 0), ("v3-no-license", 1)):
        shutil.copy(data / "data" / "build_toml" / f"{name}.toml", builder.file)
        assert builder("check-config", code=code).stderr.count("update-build") == 1


# ---- update-build ----


def test_update(builder, data):
    shutil.copy(data / "data" / "build_toml" / "v4-full.toml", builder.file)
    os.chmod(builder.file, 0o640)
    before = builder.file.read_text()
    checked = builder("update-build", "--check", code=1)
    assert builder.file.read_text() == before and "edition 4" in checked.stderr
    done = builder("update-build")
    after = builder.file.read_text()
    assert done.stdout == checked.stdout and done.stderr == ""
    assert after == before.replace("version = 3\n", "version = 3\nedition = 5\n", 1)
    assert [line for line in done.stdout.splitlines() if line[0] in "+-"] == [
        "--- a/build.toml", "+++ b/build.toml", "+edition = 5"]
    assert stat.S_IMODE(builder.file.stat().st_mode) == 0o640
    assert os.listdir(builder.folder) == ["build.toml"]
    first = builder.file.stat()
    for options in ((), ("--check",)):
        done = builder("update-build", *options)
        assert (done.stdout, done.stderr) == ("", "")
    assert (builder.file.stat().st_mtime_ns, builder.file.stat().st_ino) == (first.st_mtime_ns, first.st_ino)
    assert "update-build" not in builder("check-config").stderr


def test_order_and_comments_stay(builder, data):
    text = (data / "data" / "build_toml" / "v4-two-kernels.toml").read_text() + "# last word\n"
    for _ in range(20):
        builder("update-build", toml=text)
        assert list(tomllib.loads(builder.file.read_text())["kernel"]) == ["zz", "aa"]
        assert builder.file.read_text().endswith("# last word\n")


@pytest.mark.parametrize("name, words", [("v3-no-license", "license"), ("v4-torch-broken-falls-to-v3", "torch")])
def test_what_cannot_be_updated_stays(builder, data, name, words):
    shutil.copy(data / "data" / "build_toml" / f"{name}.toml", builder.file)
    before = builder.file.read_bytes(), builder.file.stat().st_mtime_ns
    assert words in builder("update-build", code=1).stderr
    assert before == (builder.file.read_bytes(), builder.file.stat().st_mtime_ns)


def test_unsupported_edition(builder):
    for command in ("check-config", "update-build"):
        assert "4" in builder(command, toml=HEAD.replace("5", "4") + "backends = []\n[torch-noarch]\n", code=1).stderr


def test_oldest_editions_need_a_licence(builder, data):
    shutil.copy(data / "data" / "build_toml_old" / "v1-cuda.toml", builder.file)
    assert "license" in builder("update-build", code=1).stderr
    assert "+license = \"MIT\"" in builder("update-build", "--license", "MIT").stdout
    assert tomllib.loads(builder.file.read_text())["general"]["license"] == "MIT"
    assert "update-build" not in builder("check-config").stderr


def test_a_link_stays_a_link(builder, data, tmp_path):
    real = tmp_path / "real.toml"
    shutil.copy(data / "data" / "build_toml" / "v4-full.toml", real)
    builder.file.symlink_to(real)
    builder("update-build")
    assert builder.file.is_symlink() and "edition = 5" in real.read_text()


def test_update_build_on_nothing(builder):
    assert "build.toml" in builder("update-build", code=1).stderr


# ---- hash ----


@pytest.fixture
def variant(builder):
    folder = builder.folder / "build" / "torch-cpu"
    (folder / "sub").mkdir(parents=True)
    (folder / "__init__.py").write_text("x = 1\n")
    (folder / "sub" / "a.py").write_text("a")
    (folder / "metadata.json").write_text(json.dumps({
        "name": "row-softmax", "id": "_row_softmax_cpu_rev0001", "version": 1, "license": "MIT", "other": 1,
        "python-depends": [], "backend": {"type": "cpu"}}))
    return folder


def test_hash(builder, variant):
    file = variant / "metadata.json"
    done = builder("hash")
    assert done.stderr == f"Hashing {variant}\n" and done.stdout == ""
    said = json.loads(file.read_text())
    assert said["digest"] == {"algorithm": "sha256", "files": {
        "__init__.py": "nia/NpkRxFwkPGhBR7I/yeHc/PJX0pmhxjIBam/NM/Q=",
        "sub/a.py": "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="}}
    assert list(said) == ["name", "id", "version", "license", "python-depends", "kernel-depends", "backend", "digest"]
    before = file.read_bytes(), file.stat().st_mtime_ns
    builder("hash")
    assert before == (file.read_bytes(), file.stat().st_mtime_ns)


def test_readers_never_see_half_a_file(builder, variant):
    file = variant / "metadata.json"
    done, broken = threading.Event(), []

    def read():
        while not done.is_set():
            try:
                json.loads(file.read_bytes())
            except ValueError as error:
                broken.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(20):
        (variant / "__init__.py").write_text(f"x = {i}\n")
        builder("hash")
    done.set()
    reader.join()
    assert not broken


def test_names_that_verification_refuses(builder, variant):
    (variant / "a\\b.py").write_text("")
    open(os.fsencode(variant) + b"/c\xff.py", "w").close()
    done = builder("hash")
    assert "b.py` holds a backslash" in done.stderr and "c\\xff.py` is not UTF-8" in done.stderr
    assert {"a/b.py", "c\ufffd.py"} < set(json.loads((variant / "metadata.json").read_text())["digest"]["files"])


def test_hash_failures(builder, variant):
    other = variant.parent / "torch-tpu"
    shutil.copytree(variant, other)
    (other / "metadata.json").write_text("{}")
    assert str(other) in builder("hash", code=1).stderr
    assert "digest" in json.loads((variant / "metadata.json").read_text())  # the one before stays updated
    (other / "metadata.json").unlink()
    (variant / "dangling").symlink_to("nowhere")
    assert "dangling" in builder("hash", code=1).stderr
    shutil.rmtree(variant.parent)
    assert all(place in builder("hash", code=1).stderr for place in ("result", "build"))


# ---- names of repositories, as init takes them ----


def test_repository_names(run, programs, data, tmp_path):
    cases = json.loads((data / "data" / "repo_names.json").read_text())
    for i, case in enumerate(cases):
        folder = tmp_path / str(i)
        folder.mkdir()
        done = run(programs.kernel_builder, "init", "--name", case["in"], "--backends", "tpu", cwd=folder, check=False)
        name = case.get("name", "").lower()
        if "error" in case:
            assert done.returncode == 2, case
        elif re.fullmatch("[a-z][-a-z0-9]*[a-z0-9]", name) and "--" not in name:  # the Hub has no "--"
            assert done.returncode == 0, (case, done.stderr)
            project = folder / case["name"]
            general = tomllib.loads((project / "build.toml").read_text())["general"]
            assert (general["name"], general["hub"]["repo-id"]) == (name, case["repo_id"])
            assert (project / "torch-ext" / case["normalized_name"] / "__init__.py").is_file()
            assert f"class {case['class_name']}Benchmark(" in (project / "benchmarks" / "benchmark.py").read_text()
        else:
            assert done.returncode == 1 and not os.listdir(folder), case
    print(f"repository names: {len(cases)} cases")
    assert len(cases) == 17
