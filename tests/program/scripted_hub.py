# SPDX-License-Identifier: Apache-2.0
"""A Hub in one process that does what a test tells it to, wrong things above all.

    with ScriptedHub({"build/torch-cpu/a.py": b"x"}) as hub:
        hub.rule("GET", "/resolve/", status(503), times=1)

Rules are looked at first, in order; what no rule takes is answered as a Hub would. `hub.requests` keeps what came in.
Actions get the handler and either answer or return False, which lets the request through.
"""
import base64
import dataclasses
import hashlib
import http.server
import json
import threading
import time
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HEAD = "fedcba9876543210fedcba9876543210fedcba98"


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclasses.dataclass
class Request:
    method: str
    path: str  # percent-encoding kept
    query: str
    headers: dict[str, str]  # lower-case names
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclasses.dataclass
class Rule:
    method: str
    part: str
    action: object
    times: int


def status(code: int, headers=None, body: bytes = b""):
    return lambda handler: handler.answer(code, body, headers or {})


def redirect(location, code: int = 302, headers=None):
    def act(handler):
        target = location(handler) if callable(location) else location
        handler.answer(code, b"", {"Location": target, **(headers or {})})

    return act


def answer_file(body: bytes):
    """This content as a file of the repository, whatever it really holds."""
    return lambda handler: handler.answer(200, body, {"X-Repo-Commit": COMMIT})


def drop(after: int = 0):
    """Closes the connection after so many bytes of a body that was announced in full."""
    def act(handler):
        content = handler.content()
        if content is None:
            handler.close_connection = True
            return
        start = handler.range_start()
        handler.begin(200 if start is None else 206, handler.file_headers(content, start))
        handler.wfile.write(content[start or 0:(start or 0) + after])
        handler.wfile.flush()
        handler.close_connection = True
        handler.connection.shutdown(2)

    return act


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: "ScriptedHub"

    def log_message(self, *_):
        pass

    def begin(self, code: int, headers: dict):
        self.send_response(code)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, str(value))
        self.end_headers()

    def answer(self, code: int, body: bytes, headers=None):
        self.begin(code, {"Content-Length": len(body), **(headers or {})})
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_json(self, value, code: int = 200, headers=None):
        self.answer(code, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    # ---- files ----

    def content(self):
        mark = f"/resolve/{COMMIT}/"
        if mark not in self.request.path:
            return None
        return self.hub.files.get(urllib.parse.unquote(self.request.path.split(mark, 1)[1]))

    def range_start(self):
        value = None if self.hub.ignores_ranges else self.request.headers.get("range")
        return int(value.removeprefix("bytes=").split("-")[0]) if value else None

    def range_end(self, content: bytes) -> int:
        value = self.request.headers.get("range", "")
        end = "" if self.hub.ignores_ranges else value.partition("-")[2]
        return min(int(end) + 1, len(content)) if end else len(content)

    def file_headers(self, content: bytes, start: int | None = None) -> dict:
        path = urllib.parse.unquote(self.request.path.split(f"/resolve/{COMMIT}/", 1)[1])
        etag = sha256(content) if path in self.hub.lfs else git_blob(content)
        end = self.range_end(content)
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT, "Content-Length": end - (start or 0)}
        if start is not None:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(content)}"
        return headers

    def resolve(self):
        content = self.content()
        if content is None:
            self.answer(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            return
        start = self.range_start()
        self.begin(200 if start is None else 206, self.file_headers(content, start))
        if self.command == "GET":
            self.send_slowly(content[start or 0:self.range_end(content)])

    def send_slowly(self, body: bytes):
        """In pieces, each after the pause that the test asked for."""
        step = self.hub.piece if self.hub.pause else len(body)
        for i in range(0, len(body), max(step, 1)):
            time.sleep(self.hub.pause)
            self.wfile.write(body[i:i + step])

    def tree(self):
        entries = []
        folders = set()
        for path, content in self.hub.files.items():
            parts = path.split("/")
            folders.update("/".join(parts[:i]) for i in range(1, len(parts)))
            entry = {"type": "file", "oid": git_blob(content), "size": len(content), "path": path}
            if path in self.hub.lfs:
                entry["oid"] = git_blob(b"pointer")
                entry["lfs"] = {"oid": sha256(content), "size": len(content), "pointerSize": 7}
            if self.hub.tree_without_ids:
                del entry["oid"]
                entry.pop("lfs", None)
            entries.append(entry)
        entries += [{"type": "directory", "oid": HEAD, "size": 0, "path": folder} for folder in folders]
        query = urllib.parse.parse_qs(self.request.query)
        if query.get("recursive") != ["true"]:
            entries = [entry for entry in entries if "/" not in entry["path"]]
        start = int(query.get("cursor", ["0"])[0])
        page = entries[start:start + self.hub.page_size]
        headers = {}
        if start + self.hub.page_size < len(entries):
            link = f"{self.hub.url}{self.request.path}?recursive=true&cursor={start + self.hub.page_size}"
            headers["Link"] = f'<{link}>; rel="next"'
        self.answer_json(page, 200, headers)

    # ---- uploads ----

    def preupload(self):
        files = []
        for file in self.request.json["files"]:
            path = file["path"]
            entry = {"path": path, "uploadMode": self.hub.mode(path, file["size"]), "shouldIgnore": path in self.hub.ignored}
            if path in self.hub.files:
                content = self.hub.files[path]
                entry["oid"] = sha256(content) if path in self.hub.lfs else git_blob(content)
            files.append(entry)
        self.answer_json({"files": files})

    def batch(self):
        objects = []
        for item in self.request.json["objects"]:
            oid, size = item["oid"], item["size"]
            answer = {"oid": oid, "size": size}
            if oid not in self.hub.store:
                answer["actions"] = self.hub.upload_actions(oid, size)
            objects.append(answer)
        self.answer_json({"transfer": "basic", "objects": objects})

    def put(self):
        name = self.request.path.split("/put/", 1)[1]
        self.hub.store[name] = self.request.body
        self.answer(200, b"", {"ETag": f'"part-{name}"'})

    def complete(self):
        body = self.request.json
        parts = [self.hub.store.pop(f"{body['oid']}.{part['partNumber']}") for part in body["parts"]]
        self.hub.store[body["oid"]] = b"".join(parts)
        self.answer_json({})

    def commit(self):
        for line in self.request.body.decode().splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "file":
                self.hub.files[value["path"]] = base64.b64decode(value["content"], validate=True)
            elif item["key"] == "lfsFile":
                self.hub.files[value["path"]] = self.hub.store[value["oid"]]
                self.hub.lfs.add(value["path"])
            elif item["key"] == "deletedFile":
                if self.hub.files.pop(value["path"], None) is None:
                    return self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        answer = {"commitUrl": "x", "commitOid": HEAD}
        if "create_pr=1" in self.request.query:
            answer["pullRequestUrl"] = f"{self.hub.url}/kernels/a/b/discussions/7"
            if self.hub.tells_pr_number:
                answer["prNum"] = 7
        return self.answer_json(answer)

    # ---- dispatch ----

    def route(self):
        path = self.request.path
        if "/resolve/" in path:
            self.resolve()
        elif "/tree/" in path:
            self.tree()
        elif path.endswith("/refs"):
            self.answer_json({
                "branches": [{"name": "main", "ref": "refs/heads/main", "targetCommit": HEAD},
                             {"name": "v1", "ref": "refs/heads/v1", "targetCommit": COMMIT}],
                "converts": [], "tags": [],
                "pullRequests": [{"name": "refs/pr/7", "ref": "refs/pr/7", "targetCommit": HEAD}]})
        elif "/revision/" in path:
            if path.rsplit("/", 1)[1] not in ("main", "v1"):
                return self.answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
            self.answer_json({"id": "a/b", "sha": COMMIT})
        elif path.endswith("/overview"):
            self.answer_json({"name": "a", "trustedKernelPublisher": True})
        elif path == "/api/whoami-v2":
            self.answer_json({"name": "me", "type": "user"})
        elif path == "/api/repos/create":
            self.answer_json({"url": f"{self.hub.url}/kernels/A/b"})
        elif "/branch/" in path:
            self.answer(201, b"Created")
        elif "/preupload/" in path:
            self.preupload()
        elif path.endswith("/objects/batch"):
            self.batch()
        elif "/put/" in path:
            self.put()
        elif path.startswith("/complete/"):
            self.complete()
        elif path.startswith("/verify/"):
            self.answer_json({})
        elif "/commit/" in path:
            self.commit()
        else:
            self.answer_json({"error": "no such thing"}, 404)
        return None

    def read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            raise AssertionError("bodies have a length")
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def handle_request(self):
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.request = Request(self.command, path, query, headers, self.read_body())
        with self.hub.lock:
            self.hub.requests.append(self.request)
            action = self.hub.take_rule(self.request)
        try:
            if action is None or action(self) is False:
                self.route()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = handle_request


class ScriptedHub:
    def __init__(self, files=None, lfs=(), tls=None):
        self.files: dict[str, bytes] = dict(files or {})
        self.lfs = set(lfs)
        self.store: dict[str, bytes] = {}
        self.ignored: set[str] = set()
        self.requests: list[Request] = []
        self.rules: list[Rule] = []
        self.page_size = 1000
        self.ignores_ranges = False
        self.pause, self.piece = 0.0, 65536  # seconds before each so many bytes of a file
        self.tree_without_ids = False
        self.tells_pr_number = True
        self.chunk_size = 0
        self.lfs_threshold = 10**9
        self.lock = threading.Lock()
        handler = type("BoundHandler", (Handler,), {"hub": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def rule(self, method: str, part: str, action, times: int = 10**9):
        self.rules.append(Rule(method, part, action, times))

    def take_rule(self, request: Request):
        for rule in self.rules:
            if rule.times > 0 and rule.method == request.method and rule.part in request.path:
                rule.times -= 1
                return rule.action
        return None

    def mode(self, path: str, size: int) -> str:
        return "lfs" if path in self.lfs or size >= self.lfs_threshold else "regular"

    def upload_actions(self, oid: str, size: int) -> dict:
        verify = {"href": f"https://huggingface.co/verify/{oid}"}  # the public name: to be sent to this hub
        if not self.chunk_size:
            return {"upload": {"href": f"{self.url}/put/{oid}", "header": {"X-Store": "yes"}}, "verify": verify}
        count = -(-size // self.chunk_size)
        header = {str(i + 1): f"{self.url}/put/{oid}.{i + 1}" for i in range(count)}
        header["chunk_size"] = str(self.chunk_size)
        return {"upload": {"href": f"{self.url}/complete/{oid}", "header": header}, "verify": verify}

    def sent(self, method=None, part="") -> list[Request]:
        return [r for r in self.requests if (method is None or r.method == method) and part in r.path]
