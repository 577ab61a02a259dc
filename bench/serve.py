# SPDX-License-Identifier: Apache-2.0
"""The embedded hub under 200 parallel clients, beside nginx serving the same files (part of bench/run.py).

    serve.py [--seconds N]    alone, with a table of what was seen

No request may fail, and the second half of the time must need no more descriptors and memory than the first.
"""
import argparse
import base64
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
SERVE = ROOT / "build" / "release" / "src" / "cli" / "kernels-serve"
CLIENTS = 200
SMALL, LARGE = 4096, 8 << 20
WARM_UP_SECONDS = 3
# What one connection more or less may cost: threads end when clients do.
DESCRIPTORS_SLACK, MEGABYTES_SLACK = 8, 32


class Failed(Exception):
    """The server did not hold what it has to."""


# ---- the two servers ----

def ask(url: str, method: str, target: str, body: bytes = b"") -> bytes:
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request(method, target, body)
    response = connection.getresponse()
    answer = response.read()
    connection.close()
    if response.status >= 300:
        raise Failed(f"{method} {target}: {response.status} {answer[:200]!r}")
    return answer


def publish(url: str, small: bytes, large: bytes):
    ask(url, "POST", "/api/repos/create", b'{"name":"demo","organization":"acme","type":"kernel"}')
    oid = hashlib.sha256(large).hexdigest()
    batch = {"operation": "upload", "transfers": ["basic"], "objects": [{"oid": oid, "size": len(large)}]}
    answer = json.loads(ask(url, "POST", "/kernels/acme/demo.git/info/lfs/objects/batch", json.dumps(batch).encode()))
    ask(url, "PUT", answer["objects"][0]["actions"]["upload"]["href"].removeprefix(url), large)
    rows = [{"key": "header", "value": {"summary": "files", "description": ""}},
            {"key": "file", "value": {"path": "small", "encoding": "base64",
                                      "content": base64.b64encode(small).decode()}},
            {"key": "lfsFile", "value": {"path": "large", "algo": "sha256", "oid": oid, "size": len(large)}}]
    ask(url, "POST", "/api/kernels/acme/demo/commit/main", "".join(json.dumps(row) + "\n" for row in rows).encode())


@contextlib.contextmanager
def our_hub(folder: pathlib.Path):
    process = subprocess.Popen([SERVE, folder / "store"], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.terminate()
        process.wait(60)


NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes auto;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


@contextlib.contextmanager
def nginx(folder: pathlib.Path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port))
    process = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-e", folder / "error.log", "-c",
                                folder / "nginx.conf"])
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


# ---- measuring ----

def load(url: str, seconds: int) -> dict:
    """200 clients as fast as they can; requests and bytes a second."""
    done = subprocess.run(["wrk", "-t2", f"-c{CLIENTS}", f"-d{seconds}s", "--timeout", "30s", url], text=True,
                          capture_output=True, timeout=seconds + 120)
    requests = re.search(r"(\d+) requests in ([\d.]+)(m?)s?, ([\d.]+)(\w+) read", done.stdout)
    errors = re.search(r"Socket errors:.*|Non-2xx.*", done.stdout)
    if done.returncode != 0 or requests is None or errors:
        raise Failed(f"{url}: {errors.group() if errors else done.stdout + done.stderr}")
    rate = float(re.search(r"Requests/sec:\s*([\d.]+)", done.stdout).group(1))
    transfer, unit = re.search(r"Transfer/sec:\s*([\d.]+)(\w+)", done.stdout).groups()
    return {"requests": rate, "bytes": float(transfer) * {"KB": 1e3, "MB": 1e6, "GB": 1e9}.get(unit, 1)}


class Watch:
    """Descriptors and own memory of a process, twice a second."""

    def __init__(self, pid: int):
        self.pid, self.rows, self.stopping = pid, [], threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.started = time.monotonic()

    def look(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            memory = int(next(line for line in status if line.startswith("RssAnon")).split()[1]) / 1024
        return time.monotonic() - self.started, len(os.listdir(f"/proc/{self.pid}/fd")), memory

    def run(self):
        while not self.stopping.wait(0.5):
            self.rows.append(self.look())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()

    def check(self):
        """(descriptors, megabytes) at most; Failed when either grew after the warm-up."""
        warm = [row for row in self.rows if row[0] >= WARM_UP_SECONDS] or self.rows
        for column, slack, what in ((1, DESCRIPTORS_SLACK, "descriptors"), (2, MEGABYTES_SLACK, "megabytes")):
            values = [row[column] for row in warm]
            first = max(values[:len(values) // 2 + 1])
            if max(values) > first + slack:
                raise Failed(f"{what} of the server grew from {first:.0f} to {max(values):.0f}")
        return max(row[1] for row in warm), max(row[2] for row in warm)


def bench(seconds: int) -> dict:
    """Figures of both servers; raises Failed when the hub does not hold."""
    if shutil.which("wrk") is None:
        raise Failed("wrk is missing")
    ours, peaks = [], []
    with tempfile.TemporaryDirectory(prefix="kernels-bench-", dir=ROOT / "build") as name:
        folder = pathlib.Path(name)
        small, large = b"x = 1\n" * (SMALL // 6), os.urandom(LARGE)
        (folder / "files").mkdir()
        (folder / "files" / "small").write_bytes(small)
        (folder / "files" / "large").write_bytes(large)
        os.chmod(folder, 0o755)
        os.chmod(folder / "files", 0o755)
        with our_hub(folder) as (url, process):
            publish(url, small, large)
            for file in ("small", "large"):
                with Watch(process.pid) as watch:
                    ours.append(load(f"{url}/kernels/acme/demo/resolve/main/{file}", seconds))
                peaks.append(watch.check())
        with nginx(folder) as url:
            peer = [load(f"{url}/{file}", min(seconds, 20)) for file in ("small", "large")]
    return {"small": (ours[0]["requests"], peer[0]["requests"]), "large": (ours[1]["bytes"], peer[1]["bytes"]),
            "descriptors": max(row[0] for row in peaks), "megabytes": max(row[1] for row in peaks)}


def main() -> int:
    parser = argparse.ArgumentParser(description="the embedded hub beside nginx")
    parser.add_argument("--seconds", type=int, default=60)
    try:
        figures = bench(parser.parse_args().seconds)
    except Failed as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    for key, unit, scale in (("small", "requests/s", 1), ("large", "MB/s", 1e6)):
        ours, peer = figures[key]
        print(f"{key} files, {CLIENTS} clients: {ours / scale:.0f} {unit}, nginx {peer / scale:.0f} {unit}, "
              f"ratio {ours / peer:.2f}")
    print(f"at most {figures['descriptors']} descriptors, {figures['megabytes']:.0f} MB of own memory")
    return 0


if __name__ == "__main__":
    sys.exit(main())
