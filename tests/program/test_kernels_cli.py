# SPDX-License-Identifier: Apache-2.0
"""The program `kernels`: its command line, `info` and `versions`, on folders, an embedded hub and the cache."""
import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import time

import pytest

import hub_api

COMMANDS = {"check", "info", "versions"}
DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def read(name: str):
    return json.loads((DATA / name).read_text())


def add_torch(home: pathlib.Path, backend: str) -> str:
    """A Python environment that makes this machine one with torch 2.15 for the backend; its folder for VIRTUAL_ENV."""
    site = home / f"venv-{backend}" / "lib" / "python3.11" / "site-packages"
    (site / "torch").mkdir(parents=True)
    cuda = "'12.8'" if backend == "cuda" else "None"
    (site / "torch" / "version.py").write_text(f"__version__ = '2.15.0'\ncuda = {cuda}\nhip = None\nxpu = None\n")
    if backend == "tpu":
        points = site / "torch_tpu-0.2.0.dist-info" / "entry_points.txt"
        points.parent.mkdir()
        points.write_text("[torch.backends]\ntorch_tpu = torch_tpu:_autoload\n")
    return str(home / f"venv-{backend}")


@pytest.fixture
def as_machine(environment, tmp_path):
    def variables(backend: str, **more) -> dict[str, str]:
        return {**environment, "VIRTUAL_ENV": add_torch(tmp_path, backend), **more}

    return variables


# ---- the command line ----


def usage_cases():
    for case in read("layers/cli_argv.json")["cases"]:
        argv = case["argv"]
        if "exit" in case and (not argv or argv[0] in COMMANDS or argv[0].startswith("-") or argv[0] == "bogus"):
            yield pytest.param(case, id=" ".join(argv) or "(nothing)")


@pytest.mark.parametrize("case", usage_cases())
def test_command_lines(case, programs, run):
    done = run(programs.kernels, *case["argv"], check=False)
    if case["argv"] == ["--version"]:  # an extension: the released program knows no such option
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("kernels ")
        return
    assert done.returncode == case["exit"]
    assert bool(done.stdout) == case["stdout_nonempty"]
    assert bool(done.stderr) == case["stderr_nonempty"]
    if case["exit"] == 2:
        assert done.stderr.startswith("usage: kernels")


def test_help_names_commands_and_options(programs, run):
    text = run(programs.kernels, "--help").stdout
    for command in ("check", "info", "versions", "serve", "completions"):
        assert f"  {command} " in text
    for command, words in {"info": ("KERNEL", "--revision", "--version", "--json", "--explain", "--system [FILE]"),
                           "versions": ("REPO_ID", "--json"), "serve": ("DIR", "--port", "--trusted")}.items():
        text = run(programs.kernels, command, "--help").stdout
        assert all(word in text for word in words), text


def test_only_released_options_have_prefixes(programs, run):
    assert run(programs.kernels, "info", "--sys", check=False).returncode == 2
    assert run(programs.kernels, "info", ".", "--js", cwd=DATA / "aot" / "sample").stdout.startswith("{")


def test_check_has_moved(programs, run):
    for arguments in ([], ["x/y"]):
        done = run(programs.kernels, "check", *arguments, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert "kernel-builder check-abi" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "elvish", "powershell"])
def test_completions(shell, programs, run):
    text = run(programs.kernels, "completions", shell).stdout
    assert "versions" in text and "revision" in text
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)


def test_man_page(programs, run):
    text = run(programs.kernels, "man").stdout
    assert text.startswith(".TH") and "KERNELS_CACHE" in text and "completions" in text


def test_empty_arguments_name_nothing(programs, run, tmp_path):
    """An empty path would be the current folder: nobody means it who forgot to set a variable."""
    for program, command in ((programs.kernels, "serve"), (programs.kernels, "versions"),
                             (programs.kernel_builder, "build"), (programs.kernel_builder, "upload")):
        done = run(program, command, "", check=False, cwd=tmp_path)
        assert done.returncode == 2 and " is empty" in done.stderr, done
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_unknown_shell(programs, run):
    assert run(programs.kernels, "completions", "tcsh", check=False).returncode == 2


# ---- info of a folder ----


def local_cases():
    return [pytest.param(case, id=case["id"]) for case in read("layers/cli_info_local.json")["cases"]]


@pytest.mark.parametrize("case", local_cases())
def test_info_of_a_folder(case, programs, run, environment, tmp_path):
    for path, text in case["files"].items():
        target = tmp_path / "work" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    for path in case.get("empty_dirs", []):
        (tmp_path / "work" / path).mkdir(parents=True)
    (tmp_path / "work").mkdir(exist_ok=True)
    done = run(programs.kernels, "info", *case["argv"], cwd=tmp_path / "work", check=False,
               env={**environment, "HF_HUB_OFFLINE": "1", "LC_ALL": "C"})
    wanted = case["0.17.2"]
    assert (done.returncode, done.stdout) == (wanted["exit"], wanted["stdout"])
    assert wanted.get("stderr", "").strip() in done.stderr
    if wanted["exit"] == 1:
        assert done.stderr.startswith("kernels: error: ")
        assert "Traceback" not in done.stderr


def test_number_of_local_cases():
    assert len(local_cases()) == 30


# ---- the hub of the transcripts ----


@pytest.fixture
def transcript_hub(start_hub):
    hub = start_hub("--trusted", "acme").url
    for repo_id, branches in read("layers/cli_transcripts.json")["hub"].items():
        hub_api.publish(hub, repo_id, {name: branch["files"] for name, branch in branches.items()})
    return hub


def transcripts(command: str, oracle: str):
    """Runs of the oracle that end well, and those that end in an error that both of us report."""
    return [entry for entry in read("layers/cli_transcripts.json")["transcripts"]
            if entry["argv"][0] == command and entry["oracle"].startswith(oracle) and "env" not in entry]


def check_transcript(entry, done):
    assert (done.returncode, done.stdout) == (entry["exit"], entry["stdout"]), f"{entry['argv']}: {done}"
    if "uncaught" in entry:
        assert done.stderr.count("kernels: error: ") == 1, done.stderr
    if entry["exit"] == 1 and entry.get("stderr"):
        assert entry["stderr"].strip() in done.stderr


def test_info_transcripts(transcript_hub, programs, run, as_machine):
    environment = as_machine("tpu", HF_ENDPOINT=transcript_hub)
    entries = transcripts("info", "kernels 0.17.2")
    for entry in entries:
        done = run(programs.kernels, *entry["argv"], env=environment, check=False)
        check_transcript(entry, done)
    assert len(entries) >= 10


# With torch 2.15, as the machine of these entries had it; where the oracle stopped at a version without build/ we go on.
@pytest.mark.parametrize("backend", ["cpu", "tpu", "cuda"])
def test_versions_transcripts(backend, transcript_hub, programs, run, as_machine):
    environment = as_machine(backend, HF_ENDPOINT=transcript_hub)
    entries = [entry for entry in transcripts("versions", "kernels 0.17.0.dev0") if entry["backend"] == backend]
    for entry in entries:
        done = run(programs.kernels, *entry["argv"], env=environment, check=False)
        if entry["argv"][1] == "acme/nobuild":
            assert (done.returncode, done.stdout) == (0, "Version 1:\n\nno build variants\n")
        else:
            check_transcript(entry, done)
    assert entries


def test_versions_transcripts_without_torch(transcript_hub, programs, run, environment, tmp_path):
    """Those of the release: its machine had tvm-ffi 0.1 and no torch, its backend was forced."""
    entries = transcripts("versions", "kernels 0.17.2")
    for entry in entries:
        machine = {"os": "linux", "cpu": "x86_64", "backend": entry["backend"], "tvm_ffi": "0.1", "glibc": "2.36",
                   "backend_version": "12.8" if entry["backend"] == "cuda" else None}
        (tmp_path / "machine.json").write_text(json.dumps({"system": machine}))
        done = run(programs.kernels, *entry["argv"], "--system", tmp_path / "machine.json", check=False,
                   env={**environment, "HF_ENDPOINT": transcript_hub})
        if entry["argv"][1] == "acme/nobuild":
            assert (done.returncode, done.stdout) == (0, "Version 1:\n\nno build variants\n")
        else:
            check_transcript(entry, done)
    assert len(entries) == 6


def publish_released(hub: str):
    """The repositories of release17/cli.json; main holds what the newest version holds."""
    for repo_id, repository in read("release17/cli.json")["repositories"].items():
        name = repo_id.split("/")[1]
        plain = {"metadata": {"name": name, "id": f"_{name}", "version": 1, "license": "Apache-2.0", "python-depends": [],
                              "backend": {"type": "cpu"}}, "init": ""}
        branches = {}
        for version in repository["versions"]:
            variants = repository.get("per_version", {}).get(str(version)) or repository["variants"]
            branches[f"v{version}"] = variants
        branches["main"] = branches[max(branches, key=lambda branch: int(branch[1:]))] if branches else {
            "torch-universal": plain}
        hub_api.publish(hub, repo_id, {branch: {f"build/{variant}/{file}": text for variant, parts in variants.items()
                                                for file, text in (("metadata.json", json.dumps(parts["metadata"])),
                                                                   ("__init__.py", parts["init"]))}
                                       for branch, variants in branches.items()})


def test_released_runs(start_hub, programs, run, as_machine):
    hub = start_hub("--trusted", "good").url
    publish_released(hub)
    environment = as_machine("cuda", HF_ENDPOINT=hub)
    runs = [entry for entry in read("release17/cli.json")["runs"] if entry["argv"][0] in COMMANDS]
    for entry in runs:
        done = run(programs.kernels, *entry["argv"], env=environment, check=False)
        assert (done.returncode, done.stdout) == (entry["exit"], entry["stdout"]), entry["argv"]
        assert entry.get("stderr", "").strip() in done.stderr
        if "traceback" in entry:
            assert done.stderr.count("kernels: error: ") == 1
        if entry.get("traceback", "").startswith("ValueError: "):
            assert entry["traceback"].removeprefix("ValueError: ") in done.stderr
    assert len(runs) == 13


def test_versions_json(transcript_hub, programs, run, as_machine):
    done = run(programs.kernels, "versions", "acme/stub", "--json", env=as_machine("tpu", HF_ENDPOINT=transcript_hub))
    versions = json.loads(done.stdout)
    assert [entry["version"] for entry in versions] == [1, 2, 10]
    assert versions[0]["ref"] == "refs/heads/v1" and len(versions[0]["commit"]) == 40
    assert versions[0]["variants"][0] == {"name": "torch-tpu", "compatible": True, "preferred": True, "reason": None}
    assert versions[0]["variants"][1]["compatible"] is False and "torch-cpu" == versions[0]["variants"][1]["name"]
    assert "invalid build variant: 'not-a-variant'" in done.stderr


def test_telemetry_switch_changes_nothing(transcript_hub, programs, run, as_machine):
    environment = as_machine("tpu", HF_ENDPOINT=transcript_hub)
    first = run(programs.kernels, "versions", "acme/stub", env=environment)
    second = run(programs.kernels, "versions", "acme/stub", env={**environment, "HF_HUB_DISABLE_TELEMETRY": "1"})
    assert first.stdout == second.stdout


def test_older_version_warns(transcript_hub, programs, run, as_machine):
    done = run(programs.kernels, "info", "acme/stub", "--version", "1", env=as_machine("tpu", HF_ENDPOINT=transcript_hub))
    assert "kernels: warning: You are using version 1 of 'acme/stub', but version 10 is available." in done.stderr
    assert done.stdout.startswith("Repository: acme/stub\nRevision: v1\n")


# ---- offline ----


def test_offline_after_online(transcript_hub, programs, run, as_machine):
    online = as_machine("tpu", HF_ENDPOINT=transcript_hub)
    offline = {**online, "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = run(programs.kernels, "info", "acme/stub", env=offline, check=False)
    assert done.returncode == 1 and "offline" in done.stderr
    done = run(programs.kernels, "versions", "acme/stub", env=offline, check=False)
    assert done.returncode == 1 and "offline" in done.stderr and done.stdout == ""


def test_info_is_the_same_offline(transcript_hub, programs, run, as_machine):
    """Also what was published and never downloaded."""
    online = as_machine("tpu", HF_ENDPOINT=transcript_hub)
    offline = {**online, "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}
    for words in (["acme/stub"], ["acme/stub", "--version", "1"], ["acme/stub", "--revision", "vnext"], ["acme/unversioned"]):
        first = run(programs.kernels, "info", *words, env=online).stdout
        assert run(programs.kernels, "info", *words, env=offline).stdout == first


# ---- bad input ----


def test_unknown_version(transcript_hub, programs, run, as_machine):
    environment = as_machine("tpu", HF_ENDPOINT=transcript_hub)
    for version in ("7", "-1"):
        done = run(programs.kernels, "info", "acme/stub", f"--version={version}", env=environment, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"Version {version} not found, available versions:" in done.stderr
    assert "1, 2, 10" in run(programs.kernels, "info", "acme/stub", "--version", "7", env=environment, check=False).stderr


def test_unknown_repository_and_bad_id(hub_environment, programs, run):
    for command in ("info", "versions"):
        done = run(programs.kernels, command, "acme/none", env=hub_environment, check=False)
        assert done.returncode == 1 and "acme/none" in done.stderr and done.stderr.startswith("kernels: error: ")
        done = run(programs.kernels, command, "a/b/c", env=hub_environment, check=False)
        assert done.returncode == 1 and "a/b/c" in done.stderr


def test_hub_down(environment, programs, run):
    for command in ("info", "versions"):
        done = run(programs.kernels, command, "acme/stub", env=environment, check=False)
        assert (done.returncode, done.stdout) == (1, "")
        assert "http://127.0.0.1:9" in done.stderr and done.stderr.count("kernels: error: ") == 1


def test_wrong_token(start_hub, environment, programs, run):
    hub = start_hub("--token", "me:secret", "--private", "acme/hidden").url
    done = run(programs.kernels, "versions", "acme/hidden", check=False,
               env={**environment, "HF_ENDPOINT": hub, "HF_TOKEN": "wrong"})
    assert done.returncode == 1 and done.stderr.startswith("kernels: error: ")
    assert "wrong" not in done.stderr.replace("wrong token", "")


@pytest.mark.parametrize("number,code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_while_the_hub_keeps_us_waiting(number, code, start_hub, environment, programs, tmp_path):
    faults = tmp_path / "faults.json"
    faults.write_text(json.dumps([{"path": "/api/kernels/acme/slow/refs", "delay_ms": 60000}]))
    hub = start_hub("--faults", faults).url
    process = subprocess.Popen([programs.kernels, "versions", "acme/slow"], env={**environment, "HF_ENDPOINT": hub},
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(2)  # until it waits for the answer
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (code, "")
    assert errors.startswith("kernels: error: ") and "Sanitizer" not in errors


def test_closed_pipe_ends_silently(programs, environment):
    command = f"'{programs.kernels}' --help | true"
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# ---- terminals ----


def on_terminal(command, env, cwd=None) -> str:
    """What the command writes to a terminal that is its output and its errors."""
    master, slave = pty.openpty()
    process = subprocess.Popen([str(word) for word in command], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=slave,
                               stderr=slave)
    os.close(slave)
    written = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while piece := os.read(master, 65536):
            written += piece
    os.close(master)
    process.wait(60)
    return written.decode()


def test_colour_only_where_it_is_wanted(environment, programs, run):
    command = [programs.kernels, "versions", "acme/stub"]
    coloured = {**environment, "TERM": "xterm"}
    assert "\033[1;31merror:\033[0m" in on_terminal(command, coloured)
    for plain in ({**coloured, "NO_COLOR": "1"}, {**environment, "TERM": "dumb"}):
        assert "kernels: error: " in on_terminal(command, plain)
    assert "\033" not in run(*command, env=coloured, check=False).stderr


def test_progress_only_on_a_terminal(transcript_hub, as_machine, programs, run):
    environment = as_machine("tpu", HF_ENDPOINT=transcript_hub, TERM="xterm")
    command = [programs.kernels, "info", "acme/stub"]
    written = on_terminal(command, environment)
    assert "Downloading" in written and written.index("\r\033[K") < written.index("Repository: acme/stub")
    shutil.rmtree(environment["HF_HOME"])
    assert run(*command, env=environment).stderr == ""


def test_downloads_end_with_a_summary_on_a_terminal(transcript_hub, as_machine, programs, run):
    environment = as_machine("tpu", HF_ENDPOINT=transcript_hub, TERM="xterm")
    command = [programs.kernels, "download", "acme/stub", "--version", "1"]
    assert re.search(r"\[K1 kernel, [1-9]\d* files, .*; all fetched\r?\n", on_terminal(command, environment))
    assert re.search(r"[\nK]1 kernel, [1-9]\d* files, .*; all were cached\r?\n", on_terminal(command, environment))
    shutil.rmtree(environment["HF_HOME"])
    assert "files," not in run(*command, env=environment).stderr


def test_control_characters_do_not_reach_a_terminal(environment, programs, run, tmp_path):
    target = tmp_path / "k" / "build" / "torch-tpu" / "metadata.json"
    target.parent.mkdir(parents=True)
    target.write_text(hub_api.metadata("relu-tpu", "tpu", upstream="https://example.org/\x1b]0;x\x07\x9b"))
    command = [programs.kernels, "info", "k"]
    assert "\x1b]0;x\x07\x9b" in run(*command, cwd=tmp_path).stdout
    written = on_terminal(command, environment, cwd=tmp_path)
    assert "Name: relu-tpu" in written and "\x1b" not in written and "\x9b" not in written


# ---- the machine ----


def test_system(programs, run, as_machine):
    environment = as_machine("tpu")
    text = run(programs.kernels, "info", "--system", env=environment).stdout
    assert "Backend: tpu (torch_tpu is installed and torch can use no GPU)" in text
    assert "PJRT plugin for tpu:" in text and "PJRT_NAMES_AND_LIBRARY_PATHS" in text
    document = json.loads(run(programs.kernels, "info", "--system", "--json", env=environment).stdout)
    system = document["system"]
    assert system["backend"] == "tpu" and system["backend_reason"].startswith("torch_tpu is installed")
    assert system["torch"] == {"value": "2.15.0", "from": "torch/version.py, not imported"}
    assert system["python"]["value"] == "3.11" and system["os"] == {"value": "linux", "from": "uname"}
    assert system["glibc"]["from"] and system["tpu_generation"] is None
    assert [plugin["platform"] for plugin in document["plugins"]] == ["tpu", "cpu"]
    assert run(programs.kernels, "info", "x/y", "--system", env=environment, check=False).returncode == 2


def test_needs_no_python(programs, run, environment, tmp_path):
    work = tmp_path / "work"
    target = work / "k" / "build" / "torch-tpu" / "metadata.json"
    target.parent.mkdir(parents=True)
    target.write_text(hub_api.metadata("relu-tpu", "tpu"))
    done = run(programs.kernels, "info", "k", cwd=work, env={**environment, "PATH": str(tmp_path)})
    assert "Name: relu-tpu" in done.stdout


def test_serve_starts_the_server(programs, environment, tmp_path):
    process = subprocess.Popen([programs.kernels, "serve", tmp_path / "store"], env=environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
    finally:
        process.terminate()
        process.wait(60)


def test_serve_without_its_program(programs, environment, tmp_path):
    alone = tmp_path / "bin" / "kernels"
    alone.parent.mkdir()
    shutil.copy(programs.kernels, alone)
    done = subprocess.run([alone, "serve", tmp_path], env=environment, text=True, capture_output=True)
    assert done.returncode == 1 and "kernels-serve is missing" in done.stderr
    assert os.listdir(tmp_path / "bin") == ["kernels"]


# ---- what errors say ----


def test_trust_advice_is_that_of_the_command(start_hub, programs, run, environment):
    """After the cause, and only where the command has a way around it."""
    hub = start_hub("--trusted", "acme").url
    hub_api.publish(hub, "bad/u", {"v1": hub_api.variant("torch-universal")})
    done = run(programs.kernels, "run", "bad/u@v1", "relu", env={**environment, "HF_ENDPOINT": hub}, check=False)
    assert done.returncode == 1 and "trust_remote_code" not in done.stderr
    assert done.stderr.index("'bad/u' is not from a trusted publisher") < done.stderr.index("pass --trust-remote-code.")
    done = run(programs.kernels, "run", "bad/u@v1", "relu", env=environment, check=False)
    assert done.stderr.index("http://127.0.0.1:9") < done.stderr.index("pass --trust-remote-code.")


def test_download_for_another_machine_is_pointed_at(transcript_hub, as_machine, programs, run, tmp_path):
    environment = as_machine("cpu", HF_ENDPOINT=transcript_hub)
    done = run(programs.kernels, "download", "acme/stub", "--version", "2", env=environment, check=False)
    assert done.returncode == 1 and "torch-tpu: backend (tpu) does not match" in done.stderr
    assert "pass --all-variants" in done.stderr and "--system FILE" in done.stderr
    run(programs.kernels, "download", "acme/stub", "--version", "2", "--all-variants", env=environment)


def test_serve_says_which_program_failed(programs, run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run(programs.kernels, "serve", tmp_path / "file", check=False)
    assert done.returncode == 1 and done.stderr.startswith("kernels serve: error: ")


def test_token_that_is_none(programs, run, environment):
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        done = run(programs.kernels, "versions", "a/b", env={**environment, variable: "x" * 20000}, check=False)
        assert done.returncode == 1 and f"{variable} holds 20000 bytes, expected a token" in done.stderr
        assert "xxx" not in done.stderr


def test_local_kernels_that_cannot_be_read(programs, run, environment):
    done = run(programs.kernels, "run", "a/b@v1", "relu", env={**environment, "LOCAL_KERNELS": "a/b"}, check=False)
    assert done.returncode == 1 and "Invalid LOCAL_KERNELS entry: a/b." in done.stderr
