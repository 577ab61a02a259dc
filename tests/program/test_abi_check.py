# SPDX-License-Identifier: Apache-2.0
"""`kernel-builder check-abi`, `kernel-abi-check` and `kernels inspect` as whole programs."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

DATA = pathlib.Path(__file__).parents[1] / "data" / "abi"
BIN = DATA / "bin"
CASES = json.loads((DATA / "check_abi_cli.json").read_text())["cases"]
# What only this project does: the case's answer is about a flag that it has.
OWN_FLAGS = {"unknown_flag"}
# The recorded command passes shims that never existed; they are findings here.
STRICTER = {"torch_ok": 1}
METADATA = '{"version": 1}'


@pytest.fixture(scope="session")
def checker(build_dir) -> pathlib.Path:
    return build_dir / "src" / "cli" / "kernel-abi-check"


def plant(tree: dict, folder: pathlib.Path):
    for name, text in tree.items():
        path = folder / name
        if text is None:
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.symlink_to(text[2:])
        elif text.startswith("@"):
            shutil.copy(BIN / text[1:], path)
        else:
            path.write_text(text)


def is_finding(line: str) -> bool:
    """A line that names a symbol, or says what is wrong about a whole library."""
    return bool(line) and not line.startswith(("🐍", "🔥", "✅", "⛔ Symbols", "⛔ Non-", "Error:", "error:"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_check_abi(case, programs, run, tmp_path):
    if case["id"] in OWN_FLAGS:
        done = run(programs.kernel_builder, "check-abi", "--no-such-flag", cwd=tmp_path, check=False)
        assert done.returncode == case["exit"] and "--no-such-flag" in done.stderr
        return
    plant(case["tree"], tmp_path)
    words = [str(tmp_path / case["kernel_dir"])] if case["kernel_dir"] not in (None, ".") else []
    done = run(programs.kernel_builder, "check-abi", *case["args"], *words, cwd=tmp_path, check=False)
    right = case.get("right", {})
    assert done.returncode == right.get("exit", STRICTER.get(case["id"], case["exit"])), done.stderr
    if "--help" in case["args"]:
        return
    assert done.stdout == ""
    if not right and case["exit"] != 2 and case["id"] not in STRICTER:
        wanted = [line for line in case["stderr"].splitlines() if is_finding(line)]
        lines = done.stderr.splitlines()
        assert [line for line in wanted if line not in lines] == []
    if done.returncode == 1 and "no built variant" not in done.stderr and "not a directory" not in done.stderr:
        assert "issues found" in done.stderr.splitlines()[-1]
        libraries = [path for path in case["tree"] if pathlib.Path(path).name != "metadata.json"]
        assert any(pathlib.Path(path).name in done.stderr for path in libraries), done.stderr


def test_reasons(checker, run):
    """Files that cannot be checked are named with the reason; the others are checked all the same."""
    hand = BIN / "hand"
    done = run(checker, hand / "lfs_pointer.so", hand / "text.so", hand / "trunc_00100.so", hand / "empty.so",
               hand / "elf_mips64el.so", BIN / "py_non.o", BIN / "base.a", hand / "missing.so", BIN / "base.so", check=False)
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    for name, reason in (("lfs_pointer.so", "Git LFS pointer"), ("text.so", "text"), ("trunc_00100.so", "damaged"),
                         ("empty.so", "empty"), ("elf_mips64el.so", "mips64el"), ("base.a", "archive"),
                         ("missing.so", "No such file")):
        assert any(name in line and reason in line for line in errors), (name, done.stderr)
    assert "✅ No compatibility issues found" in done.stderr


def test_all_truncations_are_errors(checker, run):
    for path in sorted((BIN / "hand").glob("trunc_*.so")):
        done = run(checker, path, check=False)
        assert done.returncode == 1 and path.name in done.stderr and "No compatibility issues" not in done.stderr


def test_unknown_policy_lists_known_ones(checker, run):
    done = run(checker, "-m", "manylinux_9_99", BIN / "base.so", check=False)
    assert done.returncode == 1 and "manylinux_9_99" in done.stderr and "manylinux_2_17, manylinux_2_24" in done.stderr


def test_usage(checker, run):
    for words in ([], ["--python-abi", "3.x", BIN / "base.so"], ["--macos", "", BIN / "base.so"], ["--nope"]):
        assert run(checker, *words, check=False).returncode == 2
    assert run(checker, "--version").stdout.startswith("kernel-abi-check ")
    assert "OBJECT" in run(checker, "--help").stdout


def test_data_version(checker, run):
    lines = run(checker, "--data-version").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["manylinux", "python_stable_abi", "torch_stable_abi", "tvm_ffi"]
    assert all("sha256" in line and "202" in line for line in lines)


def test_json(checker, run):
    done = run(checker, "--json", BIN / "glibc_new.so", BIN / "hand" / "text.so", check=False)
    assert done.returncode == 1 and done.stderr == ""
    report = json.loads(done.stdout)
    assert report["ok"] is False and report["limits"]["manylinux"] == "manylinux_2_28"
    good, bad = report["files"]
    assert [(one["name"], one["version"], one["library"]) for one in good["findings"]] == [
        ("dlsym", "2.34", "libc.so.6"), ("exp", "2.29", "libm.so.6"), ("pthread_key_create", "2.34", "libc.so.6"),
        ("stat", "2.33", "libc.so.6")]
    assert good["floors"] == {"glibc": "2.34", "manylinux": "manylinux_2_34", "python": None, "torch": None}
    assert good["format"] == "ELF" and good["arch"] == "x86_64" and "error" not in good
    assert "text" in bad["error"] and bad["findings"] == []


def test_same_report_however_it_was_linked(checker, run):
    """Plain, stripped, linked by others, without section headers: one report."""
    reports = []
    for name in ("glibc_new.so", "glibc_new.stripped.so", "glibc_new.gold.so", "glibc_new.lld.so",
                 "hand/no_section_headers.so"):
        file = json.loads(run(checker, "--json", BIN / name, check=False).stdout)["files"][0]
        reports.append([one for one in file["findings"] if one["severity"] == "error"] + [file["floors"]])
    assert all(report == reports[0] for report in reports)


def test_fresh_builds_agree(checker, run, tmp_path):
    """The same with the compilers of this machine; a build without section headers is cut from the stripped one."""
    source = tmp_path / "k.c"
    source.write_text("#include <dlfcn.h>\n#include <math.h>\nextern void *PyUnicode_AsUTF8AndSize(void *, void *);\n"
                      "double f(double x) { return exp(x) + (dlsym(0, \"a\") != 0) +"
                      " (PyUnicode_AsUTF8AndSize(0, 0) != 0); }\n")
    compile_it = ["gcc", "-shared", "-fPIC", "-O1", str(source), "-o"]
    subprocess.run([*compile_it, tmp_path / "plain.so", "-lm", "-ldl"], check=True)
    shutil.copy(tmp_path / "plain.so", tmp_path / "stripped.so")
    subprocess.run(["strip", tmp_path / "stripped.so"], check=True)
    bare = bytearray((tmp_path / "stripped.so").read_bytes())
    bare[40:48] = bytes(8)  # e_shoff
    bare[58:64] = bytes(6)  # e_shentsize, e_shnum, e_shstrndx
    (tmp_path / "bare.so").write_bytes(bare)
    names = ["plain.so", "stripped.so", "bare.so"]
    if shutil.which("ld.lld") or shutil.which("ld.lld-14"):
        subprocess.run([*compile_it, tmp_path / "lld.so", "-lm", "-ldl", "-fuse-ld=lld"], check=True)
        names.append("lld.so")
    reports = []
    for name in names:
        file = json.loads(run(checker, "--json", tmp_path / name, check=False).stdout)["files"][0]
        reports.append([one for one in file["findings"] if one["severity"] == "error"] + [file["floors"]])
        assert {"exp", "PyUnicode_AsUTF8AndSize"} <= {one.get("name") for one in reports[-1]}
    assert all(report == reports[0] for report in reports)


def test_reference_symbols(checker, run):
    """What the released checker sees in a stripped library: nothing."""
    done = run(checker, "--reference-symbols", BIN / "glibc_new.stripped.so")
    assert "✅" in done.stderr
    assert run(checker, "--reference-symbols", BIN / "glibc_new.so", check=False).returncode == 1


def test_hub_cache_snapshot(programs, checker, run, tmp_path):
    """A snapshot consists of links to blobs."""
    variant = tmp_path / "snapshots" / "abc" / "build" / "torch211-cxx11-cpu-x86_64-linux"
    variant.mkdir(parents=True)
    (tmp_path / "blobs").mkdir()
    for name, blob in (("metadata.json", METADATA.encode()), ("_k.abi3.so", (BIN / "glibc_new.so").read_bytes())):
        (tmp_path / "blobs" / f"blob-{name}").write_bytes(blob)
        (variant / name).symlink_to(f"../../../../blobs/blob-{name}")
    for command in ([programs.kernel_builder, "check-abi", tmp_path / "snapshots" / "abc"], [checker, variant]):
        done = run(*command, check=False)
        assert done.returncode == 1 and "dlsym_GLIBC: 2.34" in done.stderr
        assert "leads out of" not in done.stderr


def test_link_out_of_the_kernel(programs, run, tmp_path):
    variant = tmp_path / "kernel" / "build" / "torch211-cxx11-cpu-x86_64-linux"
    variant.mkdir(parents=True)
    (variant / "metadata.json").write_text(METADATA)
    shutil.copy(BIN / "base.so", tmp_path / "elsewhere.so")
    (variant / "_k.so").symlink_to(tmp_path / "elsewhere.so")
    done = run(programs.kernel_builder, "check-abi", tmp_path / "kernel")
    assert "leads out of the kernel's folder" in done.stderr
    assert run(programs.kernel_builder, "check-abi", "--strict", tmp_path / "kernel", check=False).returncode == 1


def variant_report(checker, run, tmp_path, name: str, files: dict) -> tuple[int, list[dict]]:
    folder = tmp_path / name
    plant({"metadata.json": METADATA, **files}, folder)
    done = run(checker, "--json", folder, check=False)
    return done.returncode, [one for file in json.loads(done.stdout)["files"] for one in file["findings"]]


def kinds(findings: list[dict]) -> set[tuple]:
    return {(one["check"], one["kind"], one["name"]) for one in findings}


def test_variant_sets_the_torch_limit(checker, run, tmp_path):
    code, findings = variant_report(checker, run, tmp_path, "torch-stable-abi211-cpu-x86_64-linux", {"_k.so": "@torch_c.so"})
    assert code == 1
    assert ("torch", "too-new", "torch_new_generator_handle") in kinds(findings)
    assert ("torch", "unknown-shim", "aoti_torch_invented_by_us") in kinds(findings)
    code, findings = variant_report(checker, run, tmp_path, "torch211-cxx11-cpu-x86_64-linux", {"_k.so": "@torch_c.so"})
    assert code == 0 and not [one for one in findings if one["check"] == "torch"]


def test_tvm_ffi_variant(checker, run, tmp_path):
    code, findings = variant_report(checker, run, tmp_path, "tvm-ffi01-cpu-x86_64-linux",
                                    {"a.so": "@torch_cxx.so", "b.so": "@py_new.so"})
    assert code == 1
    assert ("tvm-ffi", "wrong-framework", "at::empty(long)") in kinds(findings)
    assert ("tvm-ffi", "wrong-framework", "PyFrame_GetCode") in kinds(findings)


def test_wrong_machine_and_names(checker, run, tmp_path):
    _, findings = variant_report(checker, run, tmp_path, "torch211-cxx11-cpu-aarch64-linux", {"_k.abi3.so": "@py_non.so"})
    assert {("other", "wrong-machine", "x86_64"), ("other", "file-name", "_k.abi3.so")} <= kinds(findings)


def test_name_clash(checker, run, tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.c").write_text("void *PyInit__k(void) { return 0; }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / f"{name}.c", "-o", tmp_path / f"{name}.so"], check=True)
    variant = tmp_path / "torch211-cxx11-cpu-x86_64-linux"
    plant({"metadata.json": METADATA}, variant)
    for name in ("a", "b"):
        shutil.copy(tmp_path / f"{name}.so", variant)
    report = json.loads(run(checker, "--json", variant, check=False).stdout)
    clash = [one for file in report["files"] for one in file["findings"] if one["kind"] == "name-clash"]
    assert [one["name"] for one in clash] == ["PyInit__k"] and "a.so and b.so" in clash[0]["message"]
    assert [file["exports"] for file in report["files"] if file["format"]] == [["PyInit__k"], ["PyInit__k"]]


def nv_fatbin(*archs: tuple[int, int, int]) -> bytes:
    """Headers as nvcc writes them: (1 PTX or 2 cubin, architecture, flags), 16 bytes of code each."""
    entries = b""
    for kind, arch, flags in archs:
        entries += (kind.to_bytes(2, "little") + b"\1\1" + (64).to_bytes(4, "little") + (16).to_bytes(8, "little")
                    + bytes(12) + arch.to_bytes(4, "little") + bytes(8) + flags.to_bytes(8, "little") + bytes(16) + bytes(16))
    return (0xBA55ED50).to_bytes(4, "little") + b"\1\0\x10\0" + len(entries).to_bytes(8, "little") + entries


def library_with_section(folder: pathlib.Path, section: str, content: bytes) -> pathlib.Path:
    (folder / "content").write_bytes(content)
    (folder / "k.S").write_text(f'.section {section},"a"\n.balign 4096\n.incbin "{folder}/content"\n'
                                '.section .note.GNU-stack,"",@progbits\n')
    subprocess.run(["gcc", "-shared", "-nostdlib", folder / "k.S", "-o", folder / "k.so"], check=True)
    return folder / "k.so"


def metadata_with_archs(backend: str, archs: list[str]) -> str:
    return json.dumps({"name": "relu", "id": "_relu_1", "version": 1, "license": "Apache-2.0", "python-depends": [],
                       "backend": {"type": backend, "archs": archs}})


def test_cuda_architectures(programs, checker, run, tmp_path):
    library = library_with_section(tmp_path, ".nv_fatbin", nv_fatbin((2, 80, 0), (2, 90, 0x100000), (1, 90, 0)) +
                                   nv_fatbin((2, 120, 0x200000)))
    shown = json.loads(run(programs.kernels, "inspect", "--json", library).stdout)[0]
    assert shown["device_code"] == ["compute_90", "sm_120f", "sm_80", "sm_90a"]
    variant = tmp_path / "torch211-cxx11-cu130-x86_64-linux"
    variant.mkdir()
    shutil.copy(library, variant)
    for archs, messages in ((["12.0f", "8.0", "9.0+PTX", "9.0a"], ["metadata.json promises 9.0+PTX"]),
                            (["8.0", "9.0a", "10.0", "12.0f"], ["code for compute_90", "promises 10.0"]),
                            (["8.0"], ["code for compute_90", "code for sm_120f", "code for sm_90a"])):
        (variant / "metadata.json").write_text(metadata_with_archs("cuda", archs))
        report = json.loads(run(checker, "--json", variant, check=False).stdout)
        found = [one["message"] for file in report["files"] for one in file["findings"] if one["kind"] == "gpu-architecture"]
        assert len(found) == len(messages)
        assert all(any(part in message for message in found) for part in messages), found


def test_rocm_architectures(programs, run, tmp_path):
    names = [b"host-x86_64-unknown-linux-gnu-", b"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", b"hipv4-amdgcn-amd-amdhsa--gfx942"]
    size = 24 + 8 + sum(24 + len(name) for name in names)
    head = b"__CLANG_OFFLOAD_BUNDLE__" + len(names).to_bytes(8, "little")
    for name in names:
        head += size.to_bytes(8, "little") + (16).to_bytes(8, "little") + len(name).to_bytes(8, "little") + name
    library = library_with_section(tmp_path, ".hip_fatbin", head + bytes(16))
    shown = json.loads(run(programs.kernels, "inspect", "--json", library).stdout)[0]
    assert shown["device_code"] == ["gfx90a:xnack-", "gfx942"]


def test_cxx_abi(checker, run, tmp_path):
    """A library for the old std::string in a cxx11 variant, and the other way round."""
    source = tmp_path / "k.cc"
    source.write_text("#include <string>\nnamespace c10 { void warn(const std::string &); }\n"
                      "void f() { c10::warn(std::string()); }\n")
    for new in (0, 1):
        for tag in ("cxx98", "cxx11"):
            variant = tmp_path / f"{new}" / f"torch24-{tag}-cpu-x86_64-linux"
            plant({"metadata.json": METADATA}, variant)
            subprocess.run(["g++", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={new}", source, "-o", variant / "k.so"],
                           check=True)
            report = json.loads(run(checker, "--json", variant, check=False).stdout)
            wrong = [one for one in report["files"][0]["findings"] if one["kind"] == "wrong-cxx-abi"]
            assert len(wrong) == (0 if tag == ("cxx11" if new else "cxx98") else 1)


def test_hardening(checker, run, tmp_path):
    (tmp_path / "k.c").write_text("int f(void) { return 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "k.c", "-o", tmp_path / "k.so", "-Wl,-z,execstack,-z,norelro",
                    "-Wl,-rpath,/opt/lib:$ORIGIN/../../x:$ORIGIN/../y"], check=True)
    report = json.loads(run(checker, "--json", tmp_path / "k.so").stdout)
    found = kinds(report["files"][0]["findings"])
    assert found >= {("other", "executable-stack", None), ("other", "no-relro", None), ("other", "run-path", "/opt/lib"),
                     ("other", "run-path", "$ORIGIN/../../x")}
    assert ("other", "run-path", "$ORIGIN/../y") not in found
    assert run(checker, "--strict", tmp_path / "k.so", check=False).returncode == 1


def test_needed_libraries(checker, run, tmp_path):
    """A library beside is fine, one from nowhere is not."""
    (tmp_path / "k.c").write_text("extern int g(void);\nint f(void) { return g(); }\n")
    (tmp_path / "g.c").write_text("int g(void) { return 1; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "g.c", "-o", tmp_path / "libg.so"], check=True)
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "k.c", "-o", tmp_path / "k.so", f"-L{tmp_path}", "-lg"], check=True)
    alone = json.loads(run(checker, "--json", tmp_path / "k.so").stdout)
    assert ("other", "needed-library", "libg.so") in kinds(alone["files"][0]["findings"])
    together = json.loads(run(checker, "--json", tmp_path).stdout)
    assert not [one for file in together["files"] for one in file["findings"] if one["kind"] == "needed-library"]


def test_wheel(checker, run, tmp_path):
    path = tmp_path / "k-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(BIN / "glibc_new.so", "k/_k.so", zipfile.ZIP_DEFLATED)
        archive.write(BIN / "base.so", "k/plugin.bin", zipfile.ZIP_STORED)
        archive.writestr("k/__init__.py", "x = 1\n")
    done = run(checker, "--json", path, check=False)
    files = json.loads(done.stdout)["files"]
    assert [file["path"].partition("!")[2] for file in files] == ["k/_k.so", "k/plugin.bin"]
    assert [len(file["findings"]) for file in files] == [4, 0] and done.returncode == 1
    broken = path.read_bytes()
    path.write_bytes(broken[:60] + bytes(200) + broken[260:])
    done = run(checker, path, check=False)
    assert done.returncode == 1 and "k/_k.so" in done.stderr and "damaged" in done.stderr
    path.write_bytes(broken[:-30])
    assert "no zip directory" in run(checker, path, check=False).stderr


def test_wheel_with_bad_names(checker, run, tmp_path):
    path = tmp_path / "k.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(BIN / "base.so", "../../etc/k.so")
    done = run(checker, path, check=False)
    assert done.returncode == 1 and "unsafe" in done.stderr and "etc" not in done.stderr


def test_gpu_code_objects_are_not_libraries(checker, run, tmp_path):
    cubin = bytearray((BIN / "base.so").read_bytes())
    cubin[18] = 190  # EM_CUDA
    (tmp_path / "k.cubin").write_bytes(cubin)
    done = run(checker, tmp_path)
    assert done.stderr == "" and done.stdout == ""


def test_inspect(programs, run):
    text = run(programs.kernels, "inspect", BIN / "glibc_new.so").stdout
    assert "ELF 64-bit, x86_64, shared library" in text and "manylinux_2_34" in text and "libc.so.6" in text
    shown = json.loads(run(programs.kernels, "inspect", "--json", BIN / "py_new.so").stdout)[0]
    assert shown["floors"]["python"] == "3.13" and shown["machine"] == "x86_64"
    assert any(one["name"] == "PyFrame_GetCode" for one in shown["undefined"])
    assert [one["machine"] for one in json.loads(run(programs.kernels, "inspect", "--json", BIN / "hand" / "macho_fat.so").stdout)] == [
        "arm64", "x86_64"]
    failed = run(programs.kernels, "inspect", BIN / "hand" / "trunc_00100.so", check=False)
    assert failed.returncode == 1 and failed.stdout == "" and "damaged" in failed.stderr


def test_tables_are_up_to_date(root, tmp_path):
    """Edited by hand, a table differs from its source: refresh.py --check says so. Needs the wheels, so only the smallest."""
    tool = root / "data" / "abi" / "refresh.py"
    wheels = os.environ.get("KERNELS_ABI_TABLE_WHEELS")
    if wheels is None:
        pytest.skip("KERNELS_ABI_TABLE_WHEELS names no folder of wheels")
    assert subprocess.run([sys.executable, tool, "--check", "--wheels", wheels]).returncode == 0
    copy = tmp_path / "abi"
    shutil.copytree(root / "data" / "abi", copy)
    table = copy / "tvm_ffi.json"
    table.write_text(table.read_text().replace("TVMFFIBacktrace", "TVMFFIBacktracE"))
    assert subprocess.run([sys.executable, copy / "refresh.py", "--check", "--wheels", wheels]).returncode == 1


def test_table_counts(root):
    """Counts of the sources as they were read."""
    python = json.loads((root / "data" / "abi" / "python_stable_abi.json").read_text())["symbols"]
    torch = json.loads((root / "data" / "abi" / "torch_stable_abi.json").read_text())["symbols"]
    tvm_ffi = json.loads((root / "data" / "abi" / "tvm_ffi.json").read_text())["symbols"]
    assert (len(python), len(torch), len(tvm_ffi)) == (968, 887, 50)
    assert sum(1 for row in python.values() if row["added"] == "3.2") == 687
    assert sum(1 for version in torch.values() if version != "base") == 128
