# SPDX-License-Identifier: Apache-2.0
"""docs/guide: every example runs, against a hub of its own, and prints what the page says; every variable is in the table.

Blocks of a page run one after the other in one folder; `sh` blocks in one shell session, `python` blocks in one interpreter.
A `text` block right behind one lists lines that its output holds, in this order. A comment before a block says more:

    <!-- torch -->        needs torch: runs with ./run test --full
    <!-- fails -->        ends with an error
    <!-- file: NAME -->   is written to this file instead of run
"""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, clean_environment

import python_child

GUIDE = ROOT / "docs" / "guide"
PAGES = sorted(path.name for path in GUIDE.glob("*.md"))
NOT_RUN = {"air-gapped.md"}  # servers and certificates: test_mirror.py and test_server_*.py do what it says
FENCE = re.compile(r"^(?:<!-- (?P<mark>[^>]*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass
class Block:
    language: str
    text: str
    mark: str
    line: int
    printed: list[str]


def blocks_of(page: str) -> list[Block]:
    text = (GUIDE / page).read_text()
    found = []
    for match in FENCE.finditer(text):
        if match["language"] == "text":
            found[-1].printed = match["text"].splitlines()
        else:
            found.append(Block(match["language"], match["text"], match["mark"] or "", text[: match.start()].count("\n") + 1, []))
    return found


# ---- what the pages need ----


@pytest.fixture(scope="module")
def built(programs, jax_environment, tmp_path_factory):
    """{name: folder} of the two example kernels, built."""
    folder = tmp_path_factory.mktemp("built")
    kernels = {}
    for name in ("relu-tpu", "rmsnorm-tpu"):
        kernels[name] = folder / name
        shutil.copytree(ROOT / "examples" / "kernels" / name, folder / name,
                        ignore=shutil.ignore_patterns("build", "result", "__pycache__"))
        done = subprocess.run([programs.kernel_builder, "build-and-copy", folder / name, "--accept-licence", "libtpu",
                               "--no-check-tpu"], env=clean_environment(folder / "home"), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (folder / name / "result").unlink()
    return kernels


@pytest.fixture
def session(built, programs, build_dir, start_hub, environment, run, jax_environment, tmp_path):
    """(variables, folder) for the blocks of one page: programs on PATH, a hub that holds the examples."""
    hub = start_hub("--trusted", "kernels-test").url
    plugin = jax_environment / "xla_plugins" / "xla_cpu_pjrt" / "xla_cpu_pjrt.so"
    path = tmp_path / "bin"
    path.mkdir()
    for program in (programs.kernels, programs.kernel_builder, build_dir / "src" / "cli" / "kernel-abi-check"):
        (path / program.name).symlink_to(program)
    variables = {**environment, **python_child.variables(build_dir), "HF_ENDPOINT": hub, "KERNELS_PYTHON": sys.executable,
                 "PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{plugin}", "PATH": f"{path}:{os.environ['PATH']}",
                 "RELU_TPU": str(built["relu-tpu"])}
    for repo_id in ("kernels-test/relu-tpu", "kernels-test/rmsnorm-tpu", "stranger/relu-tpu"):
        run(programs.kernel_builder, "upload", built[repo_id.split("/")[1]], "--repo-id", repo_id, env=variables)
    work = tmp_path / "page"
    work.mkdir()
    return variables, work


# ---- running them ----

DIVIDER = "---- end of a block ----"


def run_shell(blocks: list[Block], variables, work) -> list[tuple[str, int]]:
    """[(output, exit code)] of the blocks, run by one shell."""
    script = "".join(f"( :\n) ; \n{block.text}\nprintf '%s %d\\n' '{DIVIDER}' $?\n" for block in blocks)
    script = script.replace("( :\n) ; \n", "")
    done = subprocess.run(["bash", "-c", script], cwd=work, env=variables, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    parts = re.split(rf"{DIVIDER} (\d+)\n", done.stdout)
    return [(parts[i], int(parts[i + 1])) for i in range(0, len(parts) - 1, 2)]


def run_python(interpreter, blocks: list[Block], variables, work) -> list[tuple[str, int]]:
    code = f"\nprint('{DIVIDER} 0', flush=True)\n".join([*(block.text for block in blocks), ""])
    done = subprocess.run([interpreter, "-c", code], cwd=work, env=variables, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    parts = re.split(rf"{DIVIDER} 0\n", done.stdout)
    assert len(parts) == len(blocks) + 1 and done.returncode == 0, done.stdout
    return [(part, 0) for part in parts[:-1]]


def check(page: str, block: Block, output: str, code: int):
    where = f"docs/guide/{page}:{block.line}\n{block.text}\n{output}"
    assert (code != 0) == (block.mark == "fails"), where
    assert "Sanitizer" not in output and "Traceback" not in output, where
    start = 0
    for line in block.printed:
        start = output.find(line.strip(), start)
        assert start >= 0, f"{where}\nexpected: {line}"
        start += len(line.strip())


def run_blocks(page: str, blocks: list[Block], runner, variables, work):
    """Blocks of files are written first: nothing on a page depends on their absence."""
    for block in blocks:
        if block.mark.startswith("file: "):
            file = work / block.mark.removeprefix("file: ")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
    runnable = [block for block in blocks if not block.mark.startswith("file: ")]
    results = runner(runnable, variables, work) if runnable else []
    assert len(results) == len(runnable), results
    for block, (output, code) in zip(runnable, results):
        check(page, block, output, code)
    return len(runnable)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in NOT_RUN])
def test_shell_examples(page, session):
    blocks = [block for block in blocks_of(page) if block.language == "sh" or block.mark.startswith("file: ")]
    if not any(block.language == "sh" for block in blocks):
        pytest.skip("no shell examples on this page")
    print(f"{page}: {run_blocks(page, blocks, run_shell, *session)} blocks")


@pytest.mark.parametrize("page", [page for page in PAGES if page not in NOT_RUN])
def test_python_examples(page, session):
    blocks = [block for block in blocks_of(page) if block.language == "python" and not block.mark]
    if not blocks:
        pytest.skip("no Python examples without torch on this page")
    runner = lambda *rest: run_python(sys.executable, *rest)
    print(f"{page}: {run_blocks(page, blocks, runner, *session)} blocks")


@pytest.mark.full
@pytest.mark.parametrize("page", [page for page in PAGES if page not in NOT_RUN and "<!-- torch -->" in (GUIDE / page).read_text()])
def test_torch_examples(page, session, torch_python):
    blocks = [block for block in blocks_of(page) if block.mark == "torch"]
    variables, work = session
    if page == "locking.md":
        before = [block for block in blocks_of(page) if block.language == "sh" or block.mark.startswith("file: ")]
        run_blocks(page, before, run_shell, {**variables, "KERNELS_PYTHON": str(torch_python), "KERNELS_SIMULATE": "tpu"}, work)
    runner = lambda *rest: run_python(torch_python, *rest)
    print(f"{page}: {run_blocks(page, blocks, runner, variables, work)} blocks")


# ---- pages ----


def test_every_block_has_a_known_kind():
    for page in PAGES:
        for block in blocks_of(page):
            assert block.language in ("sh", "python", "toml"), (page, block.line)
            assert block.mark in ("", "torch", "fails") or block.mark.startswith("file: "), (page, block.line, block.mark)
            assert block.language != "toml" or block.mark, (page, block.line)


def test_every_page_is_in_the_index_and_links_lead_somewhere():
    index = (GUIDE / "README.md").read_text()
    for page in PAGES:
        assert page == "README.md" or f"({page})" in index, page
        for target in re.findall(r"\]\(([^)#:]+)\)", (GUIDE / page).read_text()):
            assert (GUIDE / target).exists(), (page, target)


# ---- variables ----

PREFIXES = "HF|KERNELS|HUGGING|HUGGINGFACE|LOCAL|TPU|PJRT|XDG|DO_NOT|DISABLE|TRANSFORMERS|KERNEL_BUILDER|SSL|HTTP|TORCH_DEVICE"
NAMES = re.compile(rf"""["']((?:{PREFIXES})_[A-Z_]+)["']""")
READ = re.compile(r"""(?:getenv\(|environ(?:\.get\(|\[)|value_of\(env, )["'](\w+)["']""")
NOT_READ = {  # literals that look like variables: members of other vocabularies, what is set for children only
    "HTTP_ERROR", "LOCAL_ENTRY_NOT_FOUND"}


def variables_of_the_code() -> set[str]:
    found = set()
    for folder, pattern in (("src", "*.c"), ("python", "*.py"), ("python", "*.c")):
        for file in (ROOT / folder).rglob(pattern):
            text = re.sub(r"/\*.*?\*/|//.*", "", file.read_text(), flags=re.DOTALL if pattern == "*.c" else 0)
            found |= set(READ.findall(text)) | set(NAMES.findall(text))
    return found - NOT_READ


def variables_of_the_table() -> set[str]:
    rows = [line.split("|")[1] for line in (GUIDE / "environment.md").read_text().splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_table_of_variables_is_what_the_code_reads():
    code, table = variables_of_the_code(), variables_of_the_table()
    print(f"{len(table)} variables")
    assert len(table) > 30
    assert table - code == set(), "in the table, but never read"
    assert code - table == set(), "read, but not in docs/guide/environment.md"


def test_man_pages_name_variables_of_the_table(programs, run):
    for program in (programs.kernels, programs.kernel_builder):
        section = run(program, "man").stdout.partition(".SH ENVIRONMENT\n")[2]
        names = set(re.findall(r"\b([A-Z]+_[A-Z_]+)\b", section.split(".SH ")[0]))
        assert names and names <= variables_of_the_table(), names - variables_of_the_table()
