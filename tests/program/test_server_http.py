# SPDX-License-Identifier: Apache-2.0
"""The embedded hub over plain HTTP: answers, headers, limits, faults, starting and stopping."""
import base64
import concurrent.futures
import hashlib
import http.client
import json
import os
import signal
import socket
import time

import pytest
from server_http import address, ask, commit, create, file, lines, send_raw

CONTENT = bytes(range(256)) * 20


@pytest.fixture
def served(start_hub):
    hub = start_hub("--trusted", "acme")
    create(hub.url, "acme/demo")
    answer = commit(hub.url, "acme/demo", file("build/v/a b.bin", CONTENT), file("README.md", b"# hello\n"))
    assert answer.status == 200, answer.body
    hub.head = answer.json()["commitOid"]
    return hub


FILE = "/kernels/acme/demo/resolve/main/build/v/a%20b.bin"


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def test_resolve(served):
    head = ask(served.url, "HEAD", FILE)
    assert head.status == 200 and head.body == b""
    assert head.headers["Content-Length"] == str(len(CONTENT))
    assert head.headers["ETag"] == f'"{blob_id(CONTENT)}"'
    assert head.headers["X-Repo-Commit"] == served.head
    assert head.headers["Accept-Ranges"] == "bytes" and "Content-Encoding" not in head.headers
    assert "X-Xet-Hash" not in head.headers
    for revision in ("main", "refs%2Fheads%2Fmain", served.head, served.head[:8]):
        assert ask(served.url, "GET", FILE.replace("/main/", f"/{revision}/")).body == CONTENT


RANGES = [
    ("bytes=0-9", 206, CONTENT[:10], "bytes 0-9/5120"),
    ("bytes=5000-", 206, CONTENT[5000:], "bytes 5000-5119/5120"),
    ("bytes=-5", 206, CONTENT[-5:], "bytes 5115-5119/5120"),
    ("bytes=100-99999", 206, CONTENT[100:], "bytes 100-5119/5120"),
    ("bytes=9-1", 200, CONTENT, None),
    ("bytes=0-1,3-4", 200, CONTENT, None),
    ("items=0-1", 200, CONTENT, None),
    ("bytes=5120-", 416, None, "bytes */5120"),
    ("bytes=18446744073709551616-", 200, CONTENT, None),
]


def test_ranges(served):
    for header, status, expected, content_range in RANGES:
        answer = ask(served.url, "GET", FILE, headers={"Range": header})
        assert answer.status == status and answer.headers.get("Content-Range") == content_range
        if expected is not None:
            assert answer.body == expected and answer.headers["Content-Length"] == str(len(expected))


def test_errors_carry_their_codes(served):
    def code(target, **headers):
        answer = ask(served.url, "GET", target, headers=headers)
        assert "error" in answer.json()
        return answer.status, answer.headers.get("X-Error-Code"), answer.headers.get("X-Repo-Commit")

    assert code("/kernels/acme/demo/resolve/main/nothing") == (404, "EntryNotFound", served.head)
    assert code("/kernels/acme/demo/resolve/main/build") == (404, "EntryNotFound", served.head)
    assert code("/kernels/acme/demo/resolve/nothing/README.md") == (404, "RevisionNotFound", None)
    assert code("/api/kernels/acme/demo/tree/main/nothing") == (404, "EntryNotFound", served.head)
    assert code("/api/kernels/acme/demo/tree/nothing") == (404, "RevisionNotFound", None)
    assert code("/api/kernels/acme/nothing/refs") == (401, "RepoNotFound", None)
    assert code("/api/kernels/acme/nothing/refs", Authorization="Bearer x") == (404, "RepoNotFound", None)
    assert code("/api/models/acme/demo/refs") == (401, "RepoNotFound", None)
    assert code("/api/nothing") == (404, None, None)
    assert ask(served.url, "POST", FILE, b"x").status == 404


def test_refs_info_publisher(served):
    refs = ask(served.url, "GET", "/api/kernels/acme/demo/refs").json()
    branch = {"name": "main", "ref": "refs/heads/main", "targetCommit": served.head}
    assert refs == {"branches": [branch], "converts": [], "tags": []}
    assert ask(served.url, "GET", "/api/kernels/acme/demo/refs?include_prs=1").json()["pullRequests"] == []
    info = ask(served.url, "GET", "/api/kernels/acme/demo").json()
    assert info["id"] == "acme/demo" and info["sha"] == served.head and info["private"] is False
    assert [s["rfilename"] for s in info["siblings"]] == ["README.md", "build/v/a b.bin"]
    assert ask(served.url, "GET", f"/api/kernels/acme/demo/revision/{served.head}").json()["sha"] == served.head
    assert ask(served.url, "GET", "/api/organizations/acme/overview").json()["trustedKernelPublisher"] is True
    assert ask(served.url, "GET", "/api/organizations/nobody/overview").status == 404
    assert ask(served.url, "GET", "/api/whoami-v2").status == 401


def test_tree_of_a_branch_with_encoded_slashes(served):
    plain = ask(served.url, "GET", "/api/kernels/acme/demo/tree/main/build/v").json()
    assert [e["path"] for e in plain] == ["build/v/a b.bin"]
    assert ask(served.url, "GET", "/api/kernels/acme/demo/tree/refs%2Fheads%2Fmain/build%2Fv").json() == plain
    assert plain[0] == {"type": "file", "oid": blob_id(CONTENT), "size": 5120, "path": "build/v/a b.bin"}


def test_next_page_is_absolute_and_stays_on_its_commit(start_hub):
    hub = start_hub("--page-size", "2")
    create(hub.url, "acme/demo")
    commit(hub.url, "acme/demo", *[file(f"f{i}", b"1") for i in range(5)])
    target, names = "/api/kernels/acme/demo/tree/main?recursive=true&expand=false", []
    while target:
        answer = ask(hub.url, "GET", target)
        names += [e["path"] for e in answer.json()]
        link = answer.headers.get("Link")
        assert link is None or (link.startswith(f"<{hub.url}/api/") and link.endswith('>; rel="next"'))
        target = link[1:link.index(">")].removeprefix(hub.url) if link else None
        commit(hub.url, "acme/demo", file(f"a{len(names)}", b"2"))  # the branch moves meanwhile
    assert names == [f"f{i}" for i in range(5)]
    assert ask(hub.url, "GET", "/api/kernels/acme/demo/tree/main?cursor=nonsense").status == 400


def test_commits(served):
    url, repo = served.url, "acme/demo"
    ok = commit(url, repo, {"key": "deletedFolder", "value": {"path": "build/"}}, file("build", b"now a file"),
                {"key": "deletedFile", "value": {"path": "README.md"}}, file("x", b"1"), file("x", b"2"))
    assert ok.status == 200
    tree = ask(url, "GET", "/api/kernels/acme/demo/tree/main?recursive=true").json()
    assert [(e["path"], e["oid"]) for e in tree] == [("build", blob_id(b"now a file")), ("x", blob_id(b"2"))]
    head = ok.json()["commitOid"]
    assert commit(url, repo, file("y", b"1"), parent=served.head).status == 412
    assert commit(url, repo, file("y", b"1"), parent=head).status == 200
    gone = commit(url, repo, file("z", b"1"), {"key": "deletedFile", "value": {"path": "gone.txt"}})
    assert gone.status == 404 and gone.headers["X-Error-Code"] == "EntryNotFound"
    assert "gone.txt" in gone.json()["error"] and gone.headers["X-Repo-Commit"]
    assert ask(url, "HEAD", "/kernels/acme/demo/resolve/main/z").status == 404  # nothing of a failed commit
    head = ask(url, "GET", "/api/kernels/acme/demo/revision/main").json()["sha"]
    same = commit(url, repo, file("y", b"1"))  # a client that did not hear the answer
    assert same.status == 200 and same.json()["commitOid"] == head
    assert commit(url, repo, file("x/y", b"1")).status == 400  # x is a file
    assert commit(url, repo, file("a", b"1"), revision=head).status == 404  # commits go to branches
    assert commit(url, repo, file("a", b"1"), revision="nothing").status == 404


MALFORMED_COMMITS = [
    b"", b"\n", b"not json\n", b"[]\n", b'{"key": "header"}\n',
    lines() + lines(),
    lines({"key": "unknown", "value": {}}),
    lines({"key": "file", "value": {"path": "a", "content": "AAA", "encoding": "base64"}}),
    lines({"key": "file", "value": {"path": "a", "content": "AA=A", "encoding": "base64"}}),
    lines({"key": "file", "value": {"path": "a", "content": "AAAA", "encoding": "utf-8"}}),
    lines({"key": "file", "value": {"path": "a", "encoding": "base64"}}),
    lines({"key": "file", "value": {"path": "a", "encoding": "base64"}, "other": {"content": "AAAA"}}),
    lines(file("a", b"1"))[:-9],
    lines({"key": "lfsFile", "value": {"path": "a", "algo": "sha256", "oid": "0" * 64, "size": 1}}),
    lines({"key": "lfsFile", "value": {"path": "a", "algo": "sha256", "oid": "../../x", "size": 1}}),
    b'{"key":"header","value":{"summary":"' + b"x" * (2 << 20) + b'"}}\n',
]


def test_malformed_commits(served):
    for body in MALFORMED_COMMITS:
        answer = ask(served.url, "POST", "/api/kernels/acme/demo/commit/main", body)
        assert answer.status in (400, 413), (body[:200], answer.body)
        refs = ask(served.url, "GET", "/api/kernels/acme/demo/refs").json()
        assert refs["branches"][0]["targetCommit"] == served.head


def test_lines_in_any_member_order_without_final_newline(served):
    body = (b'{"value":{"description":"","summary":"m"},"key":"header"}\r\n\n'
            b'{ "value" : { "content" : "eCA9IDEK" , "encoding":"base64", "path":"caf\\u00e9\\/x" }, "key":"file"}')
    assert ask(served.url, "POST", "/api/kernels/acme/demo/commit/main", body).status == 200
    assert ask(served.url, "GET", "/kernels/acme/demo/resolve/main/caf%C3%A9/x").body == b"x = 1\n"


def test_chunked_body_and_expect(served):
    body = lines(file("chunked", b"c" * 100000))
    connection = http.client.HTTPConnection(*address(served.url), timeout=60)
    pieces = (body[i:i + 1000] for i in range(0, len(body), 1000))
    connection.request("POST", "/api/kernels/acme/demo/commit/main", pieces, encode_chunked=True,
                       headers={"Transfer-Encoding": "chunked"})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    answer.read()
    connection.request("GET", "/kernels/acme/demo/resolve/main/chunked")  # the same connection
    assert connection.getresponse().read() == b"c" * 100000
    connection.close()
    head = (f"POST /api/kernels/acme/demo/commit/main HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
            "Expect: 100-continue\r\n\r\n").encode()
    with socket.create_connection(address(served.url), timeout=60) as s:
        s.sendall(head)
        assert s.recv(100).startswith(b"HTTP/1.1 100 ")
        s.sendall(body)
        assert s.recv(100).startswith(b"HTTP/1.1 200 ")
    refused = send_raw(served.url, head.replace(b"demo", b"nope"))
    assert refused.startswith(b"HTTP/1.1 401 ")  # the body is not asked for


def test_many_connections_at_once(served):
    connections = [http.client.HTTPConnection(*address(served.url), timeout=60) for _ in range(40)]
    for connection in connections:
        connection.request("GET", FILE)
    for connection in connections:  # all are open at the same time
        assert connection.getresponse().read() == CONTENT
    for connection in connections:
        connection.close()
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: ask(served.url, "GET", FILE).body, range(200)))
    assert answers == [CONTENT] * 200


# ---- large files ----

def batch(url, content, repo="acme/demo"):
    oid = hashlib.sha256(content).hexdigest()
    answer = ask(url, "POST", f"/kernels/{repo}.git/info/lfs/objects/batch", json.dumps(
        {"operation": "upload", "transfers": ["basic"], "objects": [{"oid": oid, "size": len(content)}]}))
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/vnd.git-lfs+json"
    return oid, answer.json()


def test_large_file(served):
    content = os.urandom(3 << 20)
    oid, answer = batch(served.url, content)
    assert answer["transfer"] == "basic"
    actions = answer["objects"][0]["actions"]
    upload = actions["upload"]["href"].removeprefix(served.url)
    line = {"key": "lfsFile", "value": {"path": "big", "algo": "sha256", "oid": oid, "size": len(content)}}
    assert commit(served.url, "acme/demo", line).status == 400  # not uploaded yet
    store = served.directory / "lfs"
    for wrong in (content[:-1], content + b"x", b"y" + content[1:]):
        assert ask(served.url, "PUT", upload, wrong).status == 400
        assert list(store.iterdir()) == []
    assert ask(served.url, "PUT", upload.replace(oid, "0" * 64), content).status == 403
    assert ask(served.url, "PUT", upload.split("&signature")[0], content).status == 403
    assert ask(served.url, "PUT", upload, content).status == 200
    verify = actions["verify"]["href"].removeprefix(served.url)
    assert ask(served.url, "POST", verify, json.dumps({"oid": oid, "size": len(content)})).status == 200
    assert ask(served.url, "POST", verify, json.dumps({"oid": oid, "size": 1})).status == 400
    assert ask(served.url, "POST", verify, json.dumps({"oid": "1" * 64, "size": 1})).status == 404
    assert "actions" not in batch(served.url, content)[1]["objects"][0]
    assert commit(served.url, "acme/demo", line).status == 200
    entry = [e for e in ask(served.url, "GET", "/api/kernels/acme/demo/tree/main").json() if e["path"] == "big"][0]
    assert entry["lfs"] == {"oid": oid, "size": len(content), "pointerSize": 132}
    assert entry["size"] == len(content)
    got = ask(served.url, "GET", "/kernels/acme/demo/resolve/main/big")
    assert got.body == content and got.headers["ETag"] == f'"{oid}"'
    part = ask(served.url, "GET", "/kernels/acme/demo/resolve/main/big", headers={"Range": "bytes=1000000-1000009"})
    assert part.status == 206 and part.body == content[1000000:1000010]


def test_truncated_uploads_leave_nothing(served):
    content = os.urandom(1 << 20)
    _, answer = batch(served.url, content)
    upload = answer["objects"][0]["actions"]["upload"]["href"].removeprefix(served.url)
    for target, body in ((upload, content), ("/api/kernels/acme/demo/commit/main", lines(file("cut", content)))):
        method = "PUT" if target == upload else "POST"
        with socket.create_connection(address(served.url)) as s:
            s.sendall(f"{method} {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            s.sendall(body[:len(body) // 2])
    deadline = time.monotonic() + 20
    while list((served.directory / "lfs").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list((served.directory / "lfs").iterdir()) == []
    assert ask(served.url, "HEAD", "/kernels/acme/demo/resolve/main/cut").status == 404


def test_plain_large_files_are_streamed(start_hub):
    """Larger than what is kept in memory: through a commit and back."""
    hub = start_hub()
    create(hub.url, "acme/demo")
    content = os.urandom(1 << 20) * 20
    assert commit(hub.url, "acme/demo", file("big", content)).status == 200
    assert ask(hub.url, "GET", "/kernels/acme/demo/resolve/main/big").body == content
    part = ask(hub.url, "GET", "/kernels/acme/demo/resolve/main/big", headers={"Range": "bytes=-1000"})
    assert part.body == content[-1000:]


# ---- limits and refusals ----

def test_body_limit(start_hub):
    hub = start_hub("--max-body", "1000")
    create(hub.url, "acme/demo")
    assert commit(hub.url, "acme/demo", file("a", b"x" * 2000)).status == 413
    chunked = (b"x" * 500 for _ in range(5))
    assert ask(hub.url, "POST", "/api/repos/create", chunked, {"Transfer-Encoding": "chunked"}).status == 413
    assert commit(hub.url, "acme/demo", file("a", b"x" * 100)).status == 200
    _, answer = batch(hub.url, b"x" * 2000)
    assert answer["objects"][0]["error"]["code"] == 413


def test_read_only(start_hub, served):
    directory = served.directory
    assert served.stop() == 0
    hub = start_hub("--read-only", directory=directory)
    assert ask(hub.url, "GET", FILE).body == CONTENT
    assert commit(hub.url, "acme/demo", file("a", b"1")).status == 403
    assert ask(hub.url, "POST", "/api/repos/create", b'{"name":"a","type":"kernel"}').status == 403


def test_pages_of_the_browser_cannot_write(served):
    answer = commit(served.url, "acme/demo", file("a", b"1"), headers={"Origin": "http://evil.example"})
    assert answer.status == 403


def test_cdn_redirects_only_large_files_elsewhere(start_hub):
    hub = start_hub("--cdn")
    create(hub.url, "acme/demo")
    content = os.urandom(5000)
    oid, answer = batch(hub.url, content)
    ask(hub.url, "PUT", answer["objects"][0]["actions"]["upload"]["href"].removeprefix(hub.url), content)
    line = {"key": "lfsFile", "value": {"path": "big", "algo": "sha256", "oid": oid, "size": len(content)}}
    assert commit(hub.url, "acme/demo", line, file("small", b"s")).status == 200
    answer = ask(hub.url, "HEAD", "/kernels/acme/demo/resolve/main/big")
    port = address(hub.url)[1]
    assert answer.status == 302 and answer.headers["Location"].startswith(f"http://localhost:{port}/")
    assert answer.headers["X-Linked-Etag"] == f'"{oid}"' and answer.headers["X-Linked-Size"] == "5000"
    target = answer.headers["Location"].removeprefix(f"http://localhost:{port}")
    assert ask(hub.url, "GET", target).body == content
    assert ask(hub.url, "GET", target.replace("size=5000", "size=5001")).status == 403
    assert ask(hub.url, "GET", f"/cdn/{oid}").status == 403
    assert ask(hub.url, "GET", "/kernels/acme/demo/resolve/main/small").status == 200


# ---- faults ----

def test_faults(start_hub, tmp_path):
    faults = [
        {"path": "/kernels/acme/demo/resolve/main/a", "method": "HEAD",
         "headers": {"X-Repo-Commit": None, "ETag": 'W/"0000"'}},
        {"path": "/kernels/acme/demo/resolve/main/a", "times": 1, "truncate": 10},
        {"path": "/kernels/acme/demo/resolve/main/a", "times": 1, "drop": True},
        {"path": "/kernels/acme/demo/resolve/main/a", "times": 1, "body": "other", "delay_ms": 300},
        {"path": "/kernels/acme/demo/resolve/main/a", "times": 1, "headers": {"Content-Length": "7"}},
        {"path": "/api/kernels/acme/demo/refs", "times": 2, "status": 503, "headers": {"Retry-After": "1"}},
    ]
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(faults))
    hub = start_hub("--faults", path)
    create(hub.url, "acme/demo")
    content = b"0123456789abcdefghij"
    assert commit(hub.url, "acme/demo", file("a", content)).status == 200
    target = "/kernels/acme/demo/resolve/main/a"
    head = ask(hub.url, "HEAD", target)
    assert "X-Repo-Commit" not in head.headers and head.headers["ETag"] == 'W/"0000"'
    with pytest.raises(http.client.IncompleteRead) as cut:
        ask(hub.url, "GET", target)
    assert cut.value.partial == content[:10] and cut.value.expected == 10
    with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
        ask(hub.url, "GET", target)
    started = time.monotonic()
    assert ask(hub.url, "GET", target).body == b"other"
    assert time.monotonic() - started >= 0.3
    assert ask(hub.url, "GET", target).body == content[:7]
    assert ask(hub.url, "GET", target).body == content
    for _ in range(2):
        answer = ask(hub.url, "GET", "/api/kernels/acme/demo/refs")
        assert answer.status == 503 and answer.headers["Retry-After"] == "1"
    assert ask(hub.url, "GET", "/api/kernels/acme/demo/refs").status == 200


@pytest.mark.parametrize("text, expected", [
    ("{", "faults.json"), ("{}", "list"), ('[{"status": 500}]', '"path"'), ('[{"path": "/", "status": 7}]', "200"),
    ('[{"path": "/", "headers": {"A": 1}}]', "headers"),
])
def test_bad_fault_files(run, programs, tmp_path, text, expected):
    (tmp_path / "faults.json").write_text(text)
    done = run(programs.kernels_serve, tmp_path / "store", "--faults", tmp_path / "faults.json", check=False)
    assert done.returncode == 1 and expected in done.stderr and done.stdout == ""


# ---- starting and stopping ----

def test_occupied_port(run, programs, served, tmp_path):
    port = address(served.url)[1]
    done = run(programs.kernels_serve, tmp_path / "other", "--port", port, check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and f"port {port}" in done.stderr and "in use" in done.stderr


def test_a_store_has_one_server(run, programs, served):
    done = run(programs.kernels_serve, served.directory, check=False)
    assert done.returncode == 1 and "already served" in done.stderr


@pytest.mark.parametrize("options, expected", [
    (["--host", "0.0.0.0"], "--token"),
    (["--host", "::"], "--token"),
    (["--host", "example.org"], "--token"),
    (["--host", "example.org", "--token", "a:b"], "address"),
    (["--token", "nonsense"], "NAME:TOKEN"),
    (["--token", "me:"], "NAME:TOKEN"),
    (["--token", "a/b:secretsecret"], "NAME:TOKEN"),
    (["--private", "a/b"], "--token"),
    (["--private", "a--b/../c", "--token", "a:b"], "OWNER/NAME"),
    (["--port", "70000"], "65535"),
    (["--page-size", "0"], "1"),
])
def test_wrong_options(run, programs, tmp_path, options, expected):
    done = run(programs.kernels_serve, tmp_path / "store", *options, check=False)
    assert done.returncode == 2 and expected in done.stderr and done.stdout == ""
    assert "secretsecret" not in done.stderr
    assert not (tmp_path / "store").exists()


def test_other_addresses(start_hub):
    hub = start_hub("--host", "127.0.0.2", "--token", "me:secret")
    assert hub.url.startswith("http://127.0.0.2:")
    assert ask(hub.url, "GET", "/api/whoami-v2", headers={"Authorization": "Bearer secret"}).json()["name"] == "me"


def test_stop_waits_for_running_requests(start_hub, tmp_path):
    path = tmp_path / "faults.json"
    path.write_text(json.dumps([{"path": "/api/repos/create", "times": 1}]))
    hub = start_hub("--faults", path)
    body = json.dumps({"name": "demo", "organization": "acme", "type": "kernel"}).encode()
    with socket.create_connection(address(hub.url), timeout=60) as s:
        s.sendall(b"POST /api/repos/create HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:10])
        time.sleep(0.3)
        hub.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        s.sendall(body[10:])
        assert s.recv(100).startswith(b"HTTP/1.1 200 ")
    assert hub.stop() == 0
    assert (hub.directory / "kernels" / "acme" / "demo.git" / "HEAD").exists()


def test_access_log(start_hub):
    hub = start_hub("--access-log", "--token", "me:secret")
    ask(hub.url, "GET", "/api/whoami-v2?q=hidden", headers={"Authorization": "Bearer secret"})
    ask(hub.url, "GET", "/%ff")
    assert hub.stop() == 0
    rows = [json.loads(line) for line in hub.errors]
    assert {(r["method"], r["path"], r["status"], r["account"]) for r in rows} == {
        ("GET", "/api/whoami-v2", 200, "me"), ("GET", "/%ff", 400, None)}
    assert all(r["complete"] and r["id"] and r["time"].endswith("Z") for r in rows)
    assert "secret" not in "".join(hub.errors) and "hidden" not in "".join(hub.errors)


def test_memory_stays_bounded(start_hub):
    """A large body never stands in memory as a whole (release builds only: sanitizers keep shadows)."""
    hub = start_hub()
    with open(f"/proc/{hub.process.pid}/maps") as maps:
        if "libasan" in maps.read():
            pytest.skip("sanitized build: memory use says nothing")

    def kilobytes(key):
        with open(f"/proc/{hub.process.pid}/status") as status:
            return int(next(line for line in status if line.startswith(key)).split()[1])

    create(hub.url, "acme/demo")
    head = b'{"key":"header","value":{"summary":"m","description":""}}\n'
    start = b'{"key":"file","value":{"path":"big","encoding":"base64","content":"'
    end = b'"}}\n'
    content = os.urandom(3 << 20)
    block, count = base64.b64encode(content), 40

    def body():
        yield head + start
        for _ in range(count):
            yield block
        yield end

    length = len(head + start + end) + count * len(block)
    answer = ask(hub.url, "POST", "/api/kernels/acme/demo/commit/main", body(), {"Content-Length": str(length)},
                 timeout=300)
    assert answer.status == 200, answer.body
    assert kilobytes("VmHWM") < 40 * 1024
    connection = http.client.HTTPConnection(*address(hub.url), timeout=300)
    connection.request("GET", "/kernels/acme/demo/resolve/main/big")
    response = connection.getresponse()
    for _ in range(count):
        assert response.read(len(content)) == content
        assert kilobytes("RssAnon") < 40 * 1024  # the object's file is mapped and not counted
    connection.close()
