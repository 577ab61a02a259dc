# SPDX-License-Identifier: Apache-2.0
"""A Hub with many repositories and commit ids of the test's choosing, read only; it keeps what was asked.

    with ScenarioHub({"o/n": {"refs": {"v1": COMMIT}, "commits": {COMMIT: {"build/x/a.py": b""}}}}, trusted={"o"}) as hub:
        hub.url, hub.requests
"""
import http.server
import json
import re
import threading
import urllib.parse

from scripted_hub import git_blob


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: "ScenarioHub"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", **headers):
        if not isinstance(body, bytes):
            body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        self.send_response(code)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def missing(self, what):
        self.answer(404, b"", X_Error_Code=what)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        self.hub.requests.append((self.command, path))
        self.hub.user_agents.append(self.headers.get("User-Agent", ""))
        publisher = re.fullmatch(r"/api/organizations/([^/]+)/overview", path)
        if publisher:
            self.publisher(publisher[1])
            return
        found = re.fullmatch(r"(?:/api)?/kernels/([^/]+/[^/]+)/(refs|revision|tree|resolve)(?:/([^/]+)(?:/(.*))?)?", path)
        repository = found and self.hub.repositories.get(found[1])
        if not repository:
            self.missing("RepoNotFound")
            return
        getattr(self, found[2])(repository, found[3], found[4] or "", urllib.parse.parse_qs(query))

    do_HEAD = do_GET

    def publisher(self, name):
        if name in self.hub.publishers:
            self.answer(200, {"name": name, "trustedKernelPublisher": name in self.hub.trusted})
        else:
            self.missing("OrgNotFound")

    def refs(self, repository, *_):
        branches = [{"name": name, "ref": f"refs/heads/{name}", "targetCommit": commit}
                    for name, commit in repository["refs"].items()]
        self.answer(200, {"branches": branches, "converts": [], "tags": [], "pullRequests": []})

    def commit_of(self, repository, revision):
        commit = repository["refs"].get(revision.removeprefix("refs/heads/"), revision)
        if commit in repository["commits"]:
            return commit
        self.missing("RevisionNotFound")
        return None

    def revision(self, repository, revision, *_):
        commit = self.commit_of(repository, revision)
        if commit:
            self.answer(200, {"id": "x", "sha": commit})

    def tree(self, repository, revision, folder, query):
        commit = self.commit_of(repository, revision)
        if not commit:
            return
        files = {name: content for name, content in repository["commits"][commit].items()
                 if name.startswith(f"{folder}/" if folder else "")}
        if not files:
            self.missing("EntryNotFound")
            return
        entries = [{"type": "file", "oid": git_blob(content), "size": len(content), "path": name}
                   for name, content in files.items()]
        if query.get("recursive") != ["true"]:
            depth = folder.count("/") + 2 if folder else 1
            names = sorted({"/".join(name.split("/")[:depth]) for name in files})
            entries = [entry for entry in entries if entry["path"] in names]
            entries += [{"type": "directory", "oid": "0" * 40, "size": 0, "path": name} for name in names if name not in files]
        self.answer(200, entries)

    def resolve(self, repository, revision, name, _):
        commit = self.commit_of(repository, revision)
        if not commit:
            return
        content = repository["commits"][commit].get(name)
        if content is None:
            self.answer(404, b"", X_Error_Code="EntryNotFound", X_Repo_Commit=commit)
        else:
            self.answer(200, content, ETag=f'"{git_blob(content)}"', X_Repo_Commit=commit)


class ScenarioHub:
    def __init__(self, repositories, trusted=(), publishers=None):
        self.repositories, self.trusted = repositories, set(trusted)
        self.publishers = {name.split("/")[0] for name in repositories} if publishers is None else set(publishers)
        self.requests, self.user_agents = [], []
        handler = type("BoundHandler", (Handler,), {"hub": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
