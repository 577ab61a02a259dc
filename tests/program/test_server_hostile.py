# SPDX-License-Identifier: Apache-2.0
"""Requests that mean harm: refused, nothing written, the server goes on."""
import json
import os
import socket
import subprocess

import pytest
from server_http import address, ask, commit, create, file, lines, send_raw

SECRET = "outside the store"


@pytest.fixture
def served(start_hub, tmp_path):
    (tmp_path / "secret.txt").write_text(SECRET)
    hub = start_hub(directory=tmp_path / "store")
    create(hub.url, "acme/demo")
    assert commit(hub.url, "acme/demo", file("README.md", b"# hello\n")).status == 200
    return hub


def names_below(directory):
    return sorted(os.path.relpath(os.path.join(folder, name), directory)
                  for folder, _, names in os.walk(directory) for name in names
                  if "/objects/" not in folder)


UPWARDS = ["../../../secret.txt", "..%2F..%2F..%2Fsecret.txt", "%2e%2e/%2e%2e/%2e%2e/secret.txt",
           "..%5c..%5csecret.txt", "/etc/passwd", "%2Fetc%2Fpasswd", "a/../../b", "./README.md", "a//b",
           "README.md%00.txt", "C:%5Csecret.txt", "%ff%fe", "build/", ".git/config"]


def test_reading_upwards(served):
    for path in UPWARDS:
        for target in (f"/kernels/acme/demo/resolve/main/{path}", f"/api/kernels/acme/demo/tree/main/{path}"):
            answer = ask(served.url, "GET", target)
            assert answer.status in (400, 404), (target, answer.status, answer.body)
            assert SECRET.encode() not in answer.body and b"root:" not in answer.body


STRANGE_TARGETS = [
    "/kernels/../secret.txt/resolve/main/README.md",
    "/kernels/acme%2F..%2F..%2Fsecret/resolve/main/README.md",
    "/kernels/acme/..%2Fdemo/resolve/main/README.md",
    "/kernels/acme/demo/resolve/..%2F..%2Fmain/README.md",
    "/kernels/acme/demo/resolve/refs%2Fheads%2F..%2Fheads%2Fmain/README.md",
    "/kernels/acme/demo/resolve/main%5E%7Btree%7D/README.md",
    "/kernels/acme/demo/resolve/main:README.md/README.md",
    "/kernels/acme/demo/resolve/HEAD~1/README.md",
    "/kernels/acme/demo/resolve/HEAD/README.md",
    "/kernels/acme/demo/resolve/refs%2Fstash/README.md",
    "/kernels/acme/demo/resolve/%2e%2e/README.md",
    "/kernels/acme/demo.git/config",
    "/api/kernels/..%2F..%2Fetc/x/refs",
    "/api/kernels/acme/demo.git/refs",
    "/api/kernels/a--b/c/refs",
    "/api/organizations/..%2F..%2Fetc/overview",
    "/api/organizations/%2e%2e/overview",
    "/cdn/..%2Flock?size=0&expires=9999999999&signature=" + "0" * 64,
    "/kernels/acme/demo/resolve/" + "x" * 5000 + "/README.md",
    "/" + "a/" * 200,
    "/%",
    "/%4",
    "/%zz",
    "http://127.0.0.1/api/whoami-v2",
    "*",
    "/api/kernels/acme/demo/tree/main?" + "&".join(f"a{i}=1" for i in range(100)),
]


def test_strange_targets(served):
    for target in STRANGE_TARGETS:
        answer = ask(served.url, "GET", target)
        assert 400 <= answer.status < 500, (target, answer.status, answer.body)
        assert ask(served.url, "GET", "/kernels/acme/demo/resolve/main/README.md").body == b"# hello\n"


UNSAFE_PATHS = [
    "../x", "a/../../x", "/x", "a//b", "./a", "a/.", "a/", "", "a\\b", "a\u0000b", "a\nb", "C:/x", ".git/config",
    "a/.GIT/hooks/post-update", "GIT~1/x", "x" * 300, "/".join("x" * 100), "a/" * 600 + "b",
]


def test_writing_upwards(served):
    for path in UNSAFE_PATHS:
        before = names_below(served.directory.parent)
        operations = [file(path, b"evil"), {"key": "deletedFile", "value": {"path": path}},
                      {"key": "deletedFolder", "value": {"path": path}},
                      {"key": "lfsFile", "value": {"path": path, "algo": "sha256", "oid": "0" * 64, "size": 1}}]
        for operation in operations:
            answer = commit(served.url, "acme/demo", operation)
            assert answer.status in (400, 404, 413), (operation, answer.status, answer.body)
        answer = ask(served.url, "POST", "/api/kernels/acme/demo/preupload/main",
                     json.dumps({"files": [{"path": path, "size": 1, "sample": ""}]}))
        assert answer.status == 400, path
        assert names_below(served.directory.parent) == before, path


WRONG_BRANCHES = [
    "..%2Fx", "..", "a..b", "a%20b", "a~1", "a%5E", "a:b", "-x", "x.lock", "a%2F", "%2Fa", "refs%2Fheads%2Fx", "HEAD",
    "0" * 40, "x" * 256, "a%00b", "@%7B", "%C3%28", "a%5Cb", "main%2Fx",
]


def test_branch_names(served):
    for branch in WRONG_BRANCHES:
        before = names_below(served.directory)
        answer = ask(served.url, "POST", f"/api/kernels/acme/demo/branch/{branch}", b"{}")
        assert answer.status in (400, 404, 409), (branch, answer.status, answer.body)
        assert ask(served.url, "DELETE", f"/api/kernels/acme/demo/branch/{branch}").status in (400, 404)
        assert names_below(served.directory) == before
        assert ask(served.url, "DELETE", "/api/kernels/acme/demo/branch/main").status == 403


WRONG_REPOSITORIES = [
    ("../x", "acme"), ("x", ".."), ("x.git", "acme"), ("a--b", "acme"), ("", "acme"), ("x", "a/b"), ("x/y", "acme"),
    ("x", "api"), ("kernels", None), ("x" * 97, "acme"), ("x\n", "acme"), ("x\u0000", "acme"), (3, "acme"),
]


def test_repository_names(served):
    for name, owner in WRONG_REPOSITORIES:
        before = names_below(served.directory)
        for method, target in (("POST", "/api/repos/create"), ("DELETE", "/api/repos/delete")):
            answer = ask(served.url, method, target,
                         json.dumps({"name": name, "organization": owner, "type": "kernel"}))
            assert answer.status in (400, 404), (name, owner, answer.status, answer.body)
        assert names_below(served.directory) == before


WRONG_BODIES = [b"[]", b"{", b"nul", b'{"name":' + b"[" * 100000, b'"' + b"\xff" * 10 + b'"',
                b'{"name": {"a": 1}, "type": "kernel"}', b'{"name": "x", "type": "dataset"}']


def test_bodies_that_are_no_json_for_us(served):
    for body in WRONG_BODIES:
        for target in ("/api/repos/create", "/api/kernels/acme/demo/preupload/main",
                       "/kernels/acme/demo.git/info/lfs/objects/batch", "/kernels/acme/demo.git/info/lfs/objects/verify"):
            answer = ask(served.url, "POST", target, body)
            assert answer.status == 400, (target, answer.status, answer.body)


def test_requests_that_are_no_http(served):
    for data in (b"\0" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 50, os.urandom(5000),
                 b"GET /api/whoami-v2 HTTP/1.1\r\n\r\n",  # no Host
                 b"POST /api/repos/create HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                 b"POST /api/repos/create HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                 b"POST /api/repos/create HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
        answer = send_raw(served.url, data)
        assert not answer.startswith(b"HTTP/1.1 2"), answer[:200]
    assert ask(served.url, "GET", "/kernels/acme/demo/resolve/main/README.md").body == b"# hello\n"


def test_oversized_headers(served):
    for head in (b"X-Long: " + b"x" * 300000, b"\r\n".join(b"X-%d: y" % i for i in range(50000))):
        answer = send_raw(served.url, b"GET /api/whoami-v2 HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n")
        assert not answer.startswith(b"HTTP/1.1 2"), answer[:200]
    long = ask(served.url, "GET", "/" + "x" * 20000)
    assert long.status == 414
    assert ask(served.url, "GET", "/kernels/acme/demo/resolve/main/README.md").body == b"# hello\n"


def test_host_and_messages_cannot_inject_headers(served):
    answer = send_raw(served.url, b"POST /api/repos/create HTTP/1.1\r\nHost: evil.example/\"><x>\r\n"
                                  b"Content-Length: 45\r\n\r\n" + b'{"name":"h","organization":"a","type":"kernel"}')
    assert b"evil" not in answer
    answer = ask(served.url, "GET", "/kernels/acme/demo/resolve/main/%C2%9B%E2%80%AE")
    assert answer.status == 404 and answer.headers["X-Error-Message"].isascii()


def test_wrong_tokens(start_hub):
    hub = start_hub("--token", "me:secret", "--token", "you:other:ro")
    for header in ("Bearer wrong", "Bearer ", "Bearer secre", "Bearer secrett", "Basic secret", "secret", "Bearer ?",
                   "Bearer " + "x" * 10000):
        answer = ask(hub.url, "POST", "/api/repos/create", b'{"name":"x","type":"kernel"}', {"Authorization": header})
        assert answer.status == 401, header
        assert "X-Error-Code" not in answer.headers
    assert ask(hub.url, "POST", "/api/repos/create", b'{"name":"x","type":"kernel"}').status == 401
    ro = {"Authorization": "Bearer other"}
    assert ask(hub.url, "POST", "/api/repos/create", b'{"name":"x","type":"kernel"}', ro).status == 403
    assert names_below(hub.directory / "kernels") == []


def test_a_repository_with_links_serves_none(served, tmp_path):
    """Somebody with access to the folder pushed a symbolic link: it does not exist for clients."""
    work, store = tmp_path / "work", served.directory / "kernels" / "acme" / "demo.git"
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run(["git", "clone", "-q", store, work], check=True)
    (work / "link").symlink_to("/etc/passwd")
    subprocess.run(["git", "-C", work, "add", "link"], check=True)
    subprocess.run(["git", "-C", work, *identity, "commit", "-q", "-m", "link"], check=True)
    subprocess.run(["git", "-C", work, "push", "-q"], check=True)
    assert ask(served.url, "GET", "/kernels/acme/demo/resolve/main/link").status == 404
    tree = ask(served.url, "GET", "/api/kernels/acme/demo/tree/main").json()
    assert [e["path"] for e in tree] == ["README.md"]


def test_connections_that_say_nothing_do_not_block_others(served):
    silent = [socket.create_connection(address(served.url)) for _ in range(100)]
    for s in silent[:50]:
        s.sendall(b"GET /api/whoami-v2 HTTP/1.1\r\nHost:")
    assert ask(served.url, "GET", "/kernels/acme/demo/resolve/main/README.md").body == b"# hello\n"
    for s in silent:
        s.close()


def test_early_answer_to_a_large_refused_body(served):
    body = lines(file("a", b"x" * (8 << 20)))
    answer = ask(served.url, "POST", "/api/kernels/acme/nothing/commit/main", body)
    assert answer.status == 401 and answer.headers["X-Error-Code"] == "RepoNotFound"
    head = b"POST /api/kernels/acme/nothing/commit/main HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"
    assert send_raw(served.url, head).startswith(b"HTTP/1.1 413 ") or send_raw(served.url, head).startswith(
        b"HTTP/1.1 401 ")
