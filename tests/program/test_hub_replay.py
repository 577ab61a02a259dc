# SPDX-License-Identifier: Apache-2.0
"""The recorded exchanges of loader/http against our loader: same result, same cache, no request that was not recorded.

A server gives the recorded answers. Where the recorded client asked twice (HEAD, then GET; a listing of build/, then one
of everything) ours may ask once: a GET stands for the HEAD of the same address, a recursive listing of build/ for the
recorded listings of that commit, and the question what a branch is now for the recorded use of its name.
"""
import base64
import http.server
import json
import os
import pathlib
import re
import threading
import urllib.parse

import pytest

from conftest import clean_environment
from hub_fixtures import cache_files
from scripted_hub import git_blob, sha256
from test_kernels_cli import add_torch
from test_load import Loader

DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "loader" / "http"
STATUS = {  # class of the recorded exception -> ours
    "ValueError": {"UNTRUSTED", "VERSION_NOT_FOUND", "SCHEMA"}, "FileNotFoundError": {"NO_VARIANT", "NOT_CACHED"},
    "RepositoryNotFoundError": {"REPOSITORY_NOT_FOUND"}, "RevisionNotFoundError": {"REVISION_NOT_FOUND"},
    "RemoteEntryNotFoundError": {"ENTRY_NOT_FOUND"}, "OSError": {"INTEGRITY"}, "LocalEntryNotFoundError": {"HTTP"},
}
# Where ours differs from what was recorded, as the notes of the vectors ask.
EXPECTED = {("content_does_not_match_etag", 0): "INTEGRITY", ("get_kernel_by_branch_then_offline", 1): None,
            ("get_kernel_by_branch_then_offline", 2): None, ("get_kernel_by_version_then_offline", 1): None}
SCENARIOS = ["content_does_not_match_etag", "get_kernel_by_branch_then_offline", "get_kernel_by_commit",
             "get_kernel_by_version_then_offline", "get_kernel_cold_and_warm", "get_kernel_cycle", "get_kernel_dependency",
             "get_kernel_no_build_dir", "get_kernel_no_variant", "get_kernel_private_token",
             "get_kernel_publisher_unknown", "get_kernel_repo_missing", "get_kernel_untrusted",
             "get_kernel_version_missing", "install_kernel", "missing_commit_header", "redirect_relative",
             "server_error_with_cache", "size_mismatch", "tree_pagination", "weak_etag", "xet_file_over_http"]


def content_of(file) -> bytes:
    return base64.b64decode(file["base64"]) if "base64" in file else file["text"].encode()


class Replay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        status, headers, body = self.server.answer(self.command, path, query)
        self.server.seen.append((self.command, path, dict(self.headers)))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, self.server.fill(value))
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, scenario):
        super().__init__(("127.0.0.1", 0), Replay)
        self.scenario = scenario
        self.seen, self.unexpected = [], []
        self.records = {}
        self.commits = {commit: files for repository in scenario["repositories"]
                        for commit, files in repository["commits"].items()}
        self.branches = {branch: commit for repository in scenario["repositories"]
                         for branch, commit in repository["branches"].items()}
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def fill(self, text: str) -> str:
        return text.replace("{ENDPOINT}", f"http://127.0.0.1:{self.server_port}").replace(
            "{CDN}", f"http://localhost:{self.server_port}")

    def begin(self, step):
        self.seen, self.unexpected, self.records = [], [], {}
        for request in step.get("requests", []):
            self.records.setdefault((request["method"], self.by_commit(request["path"])), request["response"])

    def by_commit(self, path: str) -> str:
        """Branches in addresses of files and listings, which the recorded client asked for, as commits, which we do."""
        def known(match):
            name = urllib.parse.unquote(match[2])
            return match[1] + self.branches.get(name.removeprefix("refs/heads/"), name)

        return re.sub(r"(/(?:resolve|tree)/)([^/]+)", known, path)

    def recorded(self, method: str, path: str):
        found = self.records.get((method, path)) or (method == "GET" and self.records.get(("HEAD", path)))
        if not found and "/tree/" in path:
            found = self.records.get((method, path.removesuffix("/build")))
        return found

    def revision(self, path: str):
        """A branch asked for by name, where the recorded client used the name in the address of a listing."""
        name = path.rpartition("/revision/")[2]
        if name in self.branches:
            return 200, {}, json.dumps({"sha": self.branches[name]}).encode()
        found = next(answer for (_, where), answer in self.records.items() if f"/tree/{name}/" in where)
        return found["status"], found["headers"], b""

    def answer(self, method: str, path: str, query: str):
        found = self.recorded(method, path)
        if not found and "/revision/" in path:
            return self.revision(path)
        if not found:
            self.unexpected.append(f"{method} {path}")
            return 404, {}, b""
        headers = {name: value for name, value in found.get("headers", {}).items() if name != "Link"}
        if found["status"] >= 500:
            headers["Retry-After"] = "0"  # the test need not wait
        if found["status"] != 200:
            return found["status"], headers, json.dumps(found.get("body", "")).encode()
        if "/tree/" in path:
            return self.listing(path, query)
        return 200, self.with_size(method, path, headers), self.body(path, found)

    def with_size(self, method, path, headers):
        """A HEAD that announces another size: ours learns it from the GET."""
        size = self.records.get(("HEAD", path), {}).get("headers", {}).get("Content-Length")
        if self.scenario["name"] == "size_mismatch" and path.endswith("__init__.py"):
            size = "9999"
        return {**headers, "Content-Length": size} if size and method == "GET" else headers

    def body(self, path, found) -> bytes:
        body = found.get("body", b"")
        if "/resolve/" in path and not isinstance(body, str):
            commit, name = re.search(r"/resolve/([^/]+)/(.*)", path).groups()
            return content_of(self.commits[commit][name])
        if isinstance(body, dict) and set(body) == {"base64"}:
            return base64.b64decode(body["base64"])
        return body.encode() if isinstance(body, str) else json.dumps(body).encode()

    def listing(self, path, query):
        commit, _, folder = path.partition("/tree/")[2].partition("/")
        entries = []
        for name, file in sorted(self.commits[commit].items()):
            content = content_of(file)
            entry = {"type": "file", "oid": git_blob(content), "size": len(content), "path": name}
            if self.scenario["name"] in ("content_does_not_match_etag", "size_mismatch") and name.endswith("cpu/__init__.py"):
                entry["oid"] = git_blob(b"BACKEND = 'cpu'\n")
            if file["lfs"]:
                entry["lfs"] = {"oid": sha256(content), "size": len(content), "pointerSize": 128}
            if name.startswith(f"{folder}/" if folder else ""):
                entries.append(entry)
        arguments = urllib.parse.parse_qs(query)
        if arguments.get("recursive") != ["true"]:
            names = sorted({"/".join(entry["path"].split("/")[:2]) for entry in entries})
            entries = [{"type": "directory", "oid": git_blob(b""), "size": 0, "path": name} for name in names]
        size = 2 if self.scenario["name"] == "tree_pagination" else 1000
        start = int(arguments.get("cursor", ["0"])[0])
        headers = {}
        if start + size < len(entries):
            headers["Link"] = f'<{{ENDPOINT}}{path}?recursive=true&expand=false&cursor={start + size}>; rel="next"'
        return 200, headers, json.dumps(entries[start:start + size]).encode()


def call_of(step):
    """Arguments of our driver for a recorded Python call, or None for calls that are not about loading."""
    found = re.search(r"kernels\.(get_kernel|install_kernel)\('([^']+)', (version|revision)=('?[\w./-]+'?)(.*)\)", step["call"])
    if not found or "lock" in step["call"]:
        return None
    _, repo_id, kind, value, more = found.groups()
    allowed = "trust_remote_code=True" in more or f"trust_remote_code=['{repo_id}']" in more
    return [repo_id, f"--{kind}", value.strip("'"), "--backend", "cpu"] + (["--trust"] if allowed else [])


def expected_status(name, index, step):
    if (name, index) in EXPECTED:
        return {EXPECTED[name, index]}
    return STATUS[step["exception"]["type"]] if "exception" in step else {None}


def without_extras(files: dict[str, str]) -> dict[str, str]:
    """Blobs, links and refs; each side has a listing of its own, and ours records the version."""
    return {path: text for path, text in files.items()
            if "/trees/" not in path and "/.kernels/" not in path and not path.startswith((".locks", "CACHEDIR"))
            and not re.search(r"/refs/v\d+$", path)}


def recorded_cache(entries) -> dict[str, str]:
    files = {}
    for path, kind, value in entries:
        text = base64.b64decode(value["base64"]).decode("latin-1") if isinstance(value, dict) else value
        files[path] = f"-> {text}" if kind == "link" else text
    return without_extras(files)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name, build_dir, tmp_path):
    scenario = json.loads((DATA / f"{name}.json").read_text())
    server = Server(scenario)
    home = tmp_path / "home"
    environment = {**clean_environment(home), "HF_ENDPOINT": server.fill("{ENDPOINT}"), "VIRTUAL_ENV": add_torch(tmp_path, "cpu")}
    loader = Loader(build_dir / "tests" / "load_driver", environment)
    replayed = 0
    for index, step in enumerate(scenario["steps"]):
        arguments = call_of(step)
        if arguments is None:
            continue
        server.begin(step)
        variables = {key: value.replace("{HF_HOME}", environment["HF_HOME"]) for key, value in step.get("env", {}).items()}
        done = loader.run(*arguments, **variables)
        status = done.stderr.splitlines()[-1].split(":")[0] if done.returncode else None
        statuses = {line.split(":")[0] for line in done.stderr.splitlines()} if done.returncode else {None}
        wanted = expected_status(name, index, step)
        assert statuses & wanted, (name, index, wanted, done.stderr, status)
        assert server.unexpected == [], (name, index)
        asks_more = name in ("server_error_with_cache", "get_kernel_no_build_dir")  # again after a failure; for the branch
        assert asks_more or len(server.seen) <= max(len(step.get("requests", [])), 1)
        check_step(step, done, wanted, environment, variables, server)
        replayed += 1
    server.shutdown()
    server.server_close()
    assert replayed > 0


def check_step(step, done, wanted, environment, variables, server):
    if wanted == {None} and isinstance(step.get("result"), list) and len(step["result"]) == 4:
        path = dict(line.split(": ", 1) for line in done.stdout.split("trace:")[0].splitlines())["path"]
        recorded = step["result"][2].replace("{HF_HOME}", environment["HF_HOME"])
        assert f"{path}/__init__.py" == recorded
    if "hub_cache_after" in step and not step.get("peer_differs"):
        cache = pathlib.Path(environment["HF_HOME"]) / "hub"
        ours, recorded = without_extras(cache_files(cache)), recorded_cache(step["hub_cache_after"])
        assert ours == recorded or (wanted != {None} and ours.items() <= recorded.items())  # a failure ends ours at once
    if "extra_tree_after" in step:
        cache = pathlib.Path(variables["KERNELS_CACHE"])
        assert without_extras(cache_files(cache)) == recorded_cache(step["extra_tree_after"])
    tokens = {key: value for key, value in variables.items() if key == "HF_TOKEN"}
    for _, path, headers in server.seen:
        with_token = bool(tokens) and not path.startswith("/cdn/")
        assert ("Authorization" in headers) == with_token, (path, headers)
        assert not with_token or headers["Authorization"] == f"Bearer {tokens['HF_TOKEN'].strip()}"


def test_downloads_of_locks(build_dir, programs, run, tmp_path):
    """`kernels download` on the recorded lock files, of both formats; what was locked is then loaded without requests."""
    for name, fresh in (("cli_lock_download_load", True), ("older_lock", False)):
        scenario = json.loads((DATA / f"{name}.json").read_text())
        server = Server(scenario)
        lock, download = scenario["steps"][:2]
        project = tmp_path / name
        project.mkdir()
        (project / "kernels.lock").write_text(lock["result"])
        environment = {**clean_environment(tmp_path / f"home-{name}"), "HF_ENDPOINT": server.fill("{ENDPOINT}"),
                       "VIRTUAL_ENV": add_torch(project, "cpu")}
        server.begin({"requests": lock["requests"] + download["requests"]})
        done = run(programs.kernels, "download", project, env=environment)
        assert server.unexpected == [] and done.stdout == ""
        assert ("run `kernels lock` again" in done.stderr) != fresh
        if fresh:
            assert all(line in done.stderr for line in download["stderr"].splitlines())
        server.begin({})
        again = run(programs.kernels, "download", project, "--json", env=environment)
        assert server.seen == []
        for entry in json.loads(again.stdout):
            assert entry["error"] is None and entry["variants"] == ["torch-cpu"]
            loader = Loader(build_dir / "tests" / "load_driver", environment)
            if entry["repo_id"] == "acme/demo":  # the other depends on it by version, which only a locked load finds
                loader.load(entry["repo_id"], "--revision", entry["commit"], "--trust", HF_HUB_OFFLINE="1")
        assert server.seen == []
        server.shutdown()
        server.server_close()
        assert os.path.isdir(environment["HF_HOME"])
