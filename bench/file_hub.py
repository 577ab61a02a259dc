#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The fastest Hub that Python makes: one repository a/b of given files, sent with sendfile, for the benchmarks.

    file_hub.py FOLDER    FOLDER holds what is below build/; prints its URL, then serves until it is killed

GET /count gives the number of requests since the last one.
"""
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import re
import sys
import threading

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 10 << 20


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536
    files: dict[str, tuple[pathlib.Path, dict]]
    count = 0
    lock = threading.Lock()

    def log_message(self, *_):
        pass

    def answer(self, value, status=200, headers=None):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, text)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def send(self, path: str):
        if path not in self.files:
            self.answer({"error": "none"}, 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            return
        local, entry = self.files[path]
        size = entry["size"]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted else 0
        end = min(int(wanted[2]) + 1, size) if wanted and wanted[2] else size
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{size}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", '"' + entry.get("lfs", entry)["oid"] + '"')
        self.end_headers()
        self.wfile.flush()
        if self.command == "GET":
            with open(local, "rb") as file, contextlib.suppress(ConnectionError):  # the rest may not be wanted
                while start < end:
                    start += os.sendfile(self.connection.fileno(), file.fileno(), start, end - start)

    def do_GET(self):
        path = self.path.partition("?")[0]
        if path == "/count":
            with self.lock:
                count, Handler.count = Handler.count, 0
            self.answer(count)
            return
        with self.lock:
            Handler.count += 1
        if "/resolve/" in path:
            self.send(path.split("/", 6)[6])
        elif "/tree/" in path:
            entries = [entry for _, entry in self.files.values()]
            if "recursive=true" not in self.path:
                names = sorted({"/".join(entry["path"].split("/")[:2]) for entry in entries})
                entries = [{"type": "directory", "oid": COMMIT, "size": 0, "path": name} for name in names]
            self.answer(entries)
        elif path.endswith("/refs"):
            self.answer({"branches": [{"name": "v1", "ref": "refs/heads/v1", "targetCommit": COMMIT}], "converts": [], "tags": []})
        elif "/revision/" in path:
            self.answer({"id": "a/b", "sha": COMMIT})
        elif path.endswith("/overview"):
            self.answer({"name": "a", "trustedKernelPublisher": True})
        else:
            self.answer({"error": "none"}, 404)

    do_HEAD = do_GET


def entry_of(local: pathlib.Path, name: str) -> dict:
    content = hashlib.sha1(b"blob %d\0" % local.stat().st_size)
    sha256 = hashlib.sha256()
    with open(local, "rb") as file:
        while piece := file.read(1 << 20):
            content.update(piece)
            sha256.update(piece)
    entry = {"type": "file", "oid": content.hexdigest(), "size": local.stat().st_size, "path": name}
    if entry["size"] >= LARGE:
        entry["lfs"] = {"oid": sha256.hexdigest(), "size": entry["size"], "pointerSize": 134}
    return entry


def main():
    folder = pathlib.Path(sys.argv[1])
    Handler.files = {}
    for local in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = f"build/{local.relative_to(folder)}"
        Handler.files[name] = (local, entry_of(local, name))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
