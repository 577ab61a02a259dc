# SPDX-License-Identifier: Apache-2.0
"""What a program's tables give: parsing as the released program does it, and --help, man page and completions of every shell
that name the same commands and options. Scripts are also read by the shells themselves, where these are installed.
"""
import json
import pathlib
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
SHELLS = ("bash", "zsh", "fish", "elvish", "powershell")
PROGRAMS = {"kernels": ("kernels", ["completions"], ["man"]),
            "kernel-builder": ("kernel-builder", ["completions"], ["man"]),
            "kernel-abi-check": ("kernel-abi-check", ["--completions"], ["--man"])}


def cases():
    return json.loads((DATA / "layers" / "cli_argv.json").read_text())["cases"]


LATER = ("verify-signature",)  # commands that are not there yet
OURS = {"--version": 0,  # prints the version
        "benchmark a/b --iterations 0": 2, "benchmark a/b --iterations -3": 2}  # nothing could be measured


@pytest.fixture
def parse(programs, run, tmp_path):
    """Runs a command line with an interpreter that prints what it is given, on an empty folder without a Hub."""
    interpreter = tmp_path / "python"
    interpreter.write_text('#!/bin/sh\nprintf "%s\\n" "$3"\n')
    interpreter.chmod(0o755)

    def run_line(argv):
        from conftest import clean_environment

        work = tmp_path / "work"
        work.mkdir(exist_ok=True)
        return run(programs.kernels, *argv, check=False, cwd=work,
                   env={**clean_environment(tmp_path / "home"), "KERNELS_PYTHON": str(interpreter)})

    return run_line


def test_command_lines_of_the_release(parse):
    """Each is taken or refused as there; what `benchmark` makes of its words is compared one by one."""
    taken = refused = 0
    asked = [case for case in cases() if not case["argv"] or case["argv"][0] not in LATER]
    with ThreadPoolExecutor(16) as pool:  # most wait for a Hub that is not there
        answers = list(pool.map(parse, [case["argv"] for case in asked]))
    for case, done in zip(asked, answers):
        argv, line = case["argv"], " ".join(case["argv"])
        if "exit" in case or line in OURS:
            assert done.returncode == OURS.get(line, case.get("exit")), (line, done)
            assert bool(done.stdout) == (done.returncode == 0) and bool(done.stderr) == (done.returncode != 0), (line, done)
            refused += done.returncode == 2
            continue
        assert done.returncode != 2, (line, done)
        taken += 1
        if argv[0] == "benchmark":
            got = json.loads(done.stdout)
            wanted = {{"json": "print_json"}.get(name, name): value for name, value in case["parsed"].items()}
            assert {name: got.get(name) for name in wanted} == wanted, line
    print(f"{taken} command lines taken, {refused} refused")
    assert (taken, refused) == TAKEN_AND_REFUSED


TAKEN_AND_REFUSED = (31, 24)


def test_commands_and_options_of_the_release(programs, run):
    """Every command, argument and option of the release is there, in its order."""
    tree = json.loads((DATA / "layers" / "cli_tree.json").read_text())["tree"]["commands"]
    text = run(programs.kernels, "--help").stdout
    places = [text.index(f"\n  {name} ") for name in ("check", "download", "info", "versions", "lock", "benchmark")]
    assert places == sorted(places)
    compared = 0
    for name, command in tree.items():
        if name in LATER:
            continue
        text = run(programs.kernels, name, "--help").stdout
        for argument in command["arguments"]:
            for option in argument["names"] if argument["kind"] == "option" else ():
                assert option in text, (name, option)
                compared += 1
    assert compared == 24


# ---- one table ----


@pytest.fixture(params=PROGRAMS)
def program(request, build_dir, run):
    """(name, run it with words, words for completions, words for the man page)."""
    name, completions, man = PROGRAMS[request.param]

    def run_program(*words):
        return run(build_dir / "src" / "cli" / name, *words).stdout

    return name, run_program, completions, man


def options_of(text):
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", text, re.MULTILINE)) - {"--help"}


def commands_of(text):
    section = re.search(r"\nCommands:\n(.*?)\n\n", text, re.DOTALL)
    return re.findall(r"^  ([a-z][a-z-]*)\b", section.group(1), re.MULTILINE) if section else []


def tables_of(run_program):
    """{"info": its options, "env fetch": ..., "": of a program without commands} as --help tells them."""
    top = run_program("--help")
    if "\nCommands:" not in top:
        return {"": options_of(top)}
    tables = {}
    for command in commands_of(top):
        text = run_program(command, "--help")
        tables[command] = options_of(text)
        for below in commands_of(text):
            tables[f"{command} {below}"] = options_of(run_program(command, below, "--help"))
    return tables


def sections_of_man(text, name):
    """{key: options} of the man page."""
    sections = {}
    for section in text.split("\n.SS ")[1:]:
        head, _, body = section.replace("\\-", "-").partition("\n")
        words = head.removeprefix(name).split()
        key = " ".join(word for word in words if re.fullmatch(r"[a-z][a-z-]*", word))
        sections[key] = set(re.findall(r"^\.B (?:-\w, )?(--[a-z][a-z-]*)", body, re.MULTILINE))
    return sections


SECTIONS = {  # how a script of the shell marks what belongs to a key
    "bash": lambda text, key: re.search(rf"\n    '{key}'\) COMPREPLY=\(\$\(compgen -W '([^']*)'", text).group(1),
    "zsh": lambda text, key: re.search(rf"\n    '{key}'\)\n(.*?);;\n", text, re.DOTALL).group(1),
    "elvish": lambda text, key: re.search(rf"\(eq \$key '{key}'\) {{ put (.*) }}", text).group(1),
    "powershell": lambda text, key: re.search(rf"\n    '{key}' = @\((.*)\)\n", text).group(1),
}


def fish_options(text, key):
    conditions = {0: "", 1: f" -n '__fish_seen_subcommand_from {key}(; and not|')"}
    pattern = conditions.get(len(key.split()), "")
    if len(key.split()) == 2:
        first, second = key.split()
        pattern = f" -n '__fish_seen_subcommand_from {first}; and __fish_seen_subcommand_from {second}'"
    return {f"--{name}" for line in text.splitlines() if re.match(rf"complete -c \S+{pattern}", line)
            for name in re.findall(r" -l (\S+)", line)}


def test_help_man_page_and_completions_name_the_same(program):
    name, run_program, completions, man = program
    tables = tables_of(run_program)
    sections = sections_of_man(run_program(*man), name)
    scripts = {shell: run_program(*completions, shell) for shell in SHELLS}
    for key, options in tables.items():
        assert sections[key] == options, (name, key)
        for shell in SHELLS:
            if shell == "fish":
                found = fish_options(scripts[shell], key)
                found |= {"--man", "--completions"} if key == "" else set()
            else:
                text = SECTIONS[shell](scripts[shell], key)
                found = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", text.replace("'*--", "'--"))) - {"--help"}
                if shell == "zsh":  # helps may name options too
                    found = set(re.findall(r"'\*?(--[a-z][a-z-]*)\[", text)) - {"--help"}
                    found |= {"--man", "--completions"} if key == "" else set()
            assert found == options, (name, shell, key)
    print(f"{name}: {len(tables)} commands, {sum(map(len, tables.values()))} options, {len(SHELLS)} shells")


def test_slips_are_pointed_at(programs, run):
    for argv, wanted in ((["versoins", "a/b"], "unknown command `versoins`; did you mean `versions`?"),
                         (["info", "a/b", "--jsno"], "unknown option `--jsno`; did you mean `--json`?"),
                         (["cache", "verfy"], "unknown command `verfy`; did you mean `verify`?"),
                         (["benchmark", "a/b", "--v", "1"], "ambiguous option `--v`: --version, --visual"),
                         (["download", "a", "--versoin", "1"], "unknown option `--versoin`; did you mean `--version`?"),
                         (["mna"], "unknown command `mna`\n"),  # a hidden one is not told
                         (["vulkan"], "unknown command `vulkan`\n")):
        done = run(programs.kernels, *argv, check=False)
        assert (done.returncode, done.stdout) == (2, "") and wanted in done.stderr, (argv, done.stderr)


def test_choices_are_told(programs, run):
    """By --help and by the man page, of arguments as of options."""
    for words in (("completions", "--help"), ("man",)):
        text = " ".join(run(programs.kernels, *words).stdout.split())
        assert "The shell. One of: bash, zsh, fish, elvish, powershell." in text, words


def test_help_fits_a_terminal(program):
    _, run_program, _, _ = program
    for key in tables_of(run_program):
        for line in run_program(*key.split(), "--help").partition("\nExamples:\n")[0].splitlines():
            assert len(line) <= 80 or line.startswith("usage: "), line


def test_man_pages_are_well_formed(program):
    _, run_program, _, man = program
    text = run_program(*man)
    assert text.startswith(".TH ") and ".SH NAME" in text and ".SH EXIT STATUS" in text
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=text, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


# ---- the shells themselves ----

CHECKS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


@pytest.mark.parametrize("shell", CHECKS)
def test_shells_read_the_scripts(program, shell, tmp_path):
    _, run_program, completions, _ = program
    script = tmp_path / "script"
    script.write_text(run_program(*completions, shell))
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([*CHECKS[shell], str(script)], text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_elvish_reads_the_scripts(program, tmp_path):
    _, run_program, completions, _ = program
    script = tmp_path / "script"
    text = run_program(*completions, "elvish")
    assert text.startswith("set edit:completion:arg-completer[")
    script.write_text(re.sub(r"^set edit:\S+ ", "var f ", text))  # edit: is there on a terminal only
    if not shutil.which("elvish"):
        pytest.skip("elvish is not installed")
    done = subprocess.run(["elvish", "-compileonly", str(script)], text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


COMPLETED = [("kernels ben", {"benchmark"}), ("kernels info --sys", {"--system"}),
             ("kernels completions el", {"elvish"}), ("kernels cache pr", {"prune"})]


@pytest.mark.parametrize("line,wanted", COMPLETED, ids=[line for line, _ in COMPLETED])
def test_bash_completes(line, wanted, programs, run, tmp_path):
    words = line.split()
    (tmp_path / "script").write_text(run(programs.kernels, "completions", "bash").stdout)
    array = " ".join(f"'{word}'" for word in words)
    done = subprocess.run(["bash", "-c", f"source '{tmp_path}/script'; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; "
                           "_kernels; printf '%s\\n' \"${COMPREPLY[@]}\""], text=True, capture_output=True)
    assert wanted <= set(done.stdout.split()), done


@pytest.mark.parametrize("line,wanted", COMPLETED, ids=[line for line, _ in COMPLETED])
def test_fish_completes(line, wanted, programs, run, tmp_path):
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    (tmp_path / "script").write_text(run(programs.kernels, "completions", "fish").stdout)
    done = subprocess.run(["fish", "--no-config", "-c", f"source '{tmp_path}/script'; complete -C '{line}'"], text=True,
                          capture_output=True, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert wanted <= {found.split("\t")[0] for found in done.stdout.splitlines()}, done
