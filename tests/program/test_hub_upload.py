# SPDX-License-Identifier: Apache-2.0
"""Writing to a Hub: repositories, branches, commits, large files, pull requests."""
import json
import threading

import pytest
from hub_fixtures import Driver
from scripted_hub import HEAD, ScriptedHub, redirect, sha256, status


@pytest.fixture
def scripted():
    with ScriptedHub() as server:
        yield server


@pytest.fixture
def driver(build_dir, scripted, tmp_path):
    made = Driver(build_dir / "tests" / "hub_driver", tmp_path / "home", scripted.url)
    made.environment["HF_TOKEN"] = "secret"
    return made


@pytest.fixture
def local(tmp_path):
    def write(name: str, content: bytes):
        path = tmp_path / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return write


def lines_of(request):
    return [json.loads(line) for line in request.body.decode().splitlines()]


def test_create_repository(driver, scripted):
    assert driver.ok("create", "kernel", "a/b").lines == ["A/b"]  # the Hub's own spelling
    assert scripted.requests[-1].json == {"name": "b", "organization": "a", "private": False, "type": "kernel"}
    assert scripted.requests[-1].headers["authorization"] == "Bearer secret"
    driver.ok("create", "model", "b")
    assert scripted.requests[-1].json == {"name": "b", "private": False, "type": "model"}


@pytest.mark.parametrize("url, id_on_hub", [("https://huggingface.co/kernels/A/B", "A/B"), ("https://evil/x/y", "a/b"),
                                            ("https://huggingface.co/kernels/../x", "a/b"), (None, "a/b")])
def test_existing_repository(driver, scripted, url, id_on_hub):
    scripted.rule("POST", "/api/repos/create", status(409, body=json.dumps({"error": "exists", "url": url}).encode()))
    assert driver.ok("create", "kernel", "a/b").lines == [id_on_hub]


def test_busy_hub(driver, scripted):
    busy = status(409, body=b'{"error": "another conflicting operation is in progress"}')
    scripted.rule("POST", "/api/repos/create", busy, times=1)
    driver.ok("create", "kernel", "a/b")
    assert len(scripted.requests) == 2


def test_create_refused(driver, scripted):
    scripted.rule("POST", "/api/repos/create", status(403, {"X-Error-Message": "approval needed"}))
    assert "approval needed" in driver.fails("FORBIDDEN 403", "create", "kernel", "a/b")


def test_branch(driver, scripted):
    assert driver.ok("branch", "kernel", "a/b", "v1").lines == ["created"]
    assert scripted.requests[-1].path == "/api/kernels/a/b/branch/v1" and scripted.requests[-1].json == {}
    scripted.rule("POST", "/branch/", status(409))
    assert driver.ok("branch", "kernel", "a/b", "v1").lines == ["exists"]


def test_commit(driver, scripted, local):
    content = bytes(range(256)) * 300
    scripted.files["old"] = b"old"
    outcome = driver.ok("commit", "kernel", "a/b", "v1", "message \"é\"", f"+x/a.bin={local('a', content)}", "-old",
                        f"+empty={local('e', b'')}")
    assert outcome.lines == [f"commit {HEAD} added 2 deleted 1 unchanged 0 pr 0 -"]
    assert scripted.files == {"x/a.bin": content, "empty": b""}
    assert [request.path.split("/a/b/")[1] for request in scripted.requests] == ["preupload/v1", "commit/v1"]
    assert scripted.requests[-1].headers["content-type"] == "application/x-ndjson"
    header, *rest = lines_of(scripted.requests[-1])
    assert header == {"key": "header", "value": {"summary": "message \"é\"", "description": ""}}
    assert [item["key"] for item in rest] == ["file", "deletedFile", "file"]


def test_sample(driver, scripted, local):
    import base64
    content = bytes(range(256)) * 4
    driver.ok("commit", "kernel", "a/b", "v1", "m", f"+a={local('a', content)}")
    assert scripted.requests[0].json == {"files": [
        {"path": "a", "sample": base64.b64encode(content[:512]).decode(), "size": 1024}]}


def test_unchanged_content_is_not_sent(driver, scripted, local):
    scripted.files = {"a": b"same", "big": b"large"}
    scripted.lfs = {"big"}
    outcome = driver.ok("commit", "kernel", "a/b", "v1", "m", f"+a={local('a', b'same')}", f"+big={local('b', b'large')}")
    assert outcome.lines == ["commit - added 0 deleted 0 unchanged 2 pr 0 -"]
    assert scripted.sent(part="/commit/") == [] and scripted.sent(part="/batch") == []


def test_ignored_file(driver, scripted, local):
    scripted.ignored = {"b"}
    driver.ok("commit", "kernel", "a/b", "v1", "m", f"+a={local('a', b'1')}", f"+b={local('b', b'2')}")
    assert scripted.files == {"a": b"1"}


def test_groups_and_batches(driver, scripted, local):
    words = [f"+f{i:04}={local(str(i), b'%d' % i)}" for i in range(1001)]
    outcome = driver.ok("commit", "kernel", "a/b", "v1", "Uploaded.", *words)
    assert outcome.lines == [f"commit {HEAD} added 1001 deleted 0 unchanged 0 pr 0 -"]
    assert len(scripted.files) == 1001 and scripted.files["f1000"] == b"1000"
    sizes = [len(request.json["files"]) for request in scripted.sent(part="/preupload/")]
    assert sizes == [256, 256, 256, 232, 1]
    messages = [lines_of(request)[0]["value"]["summary"] for request in scripted.sent(part="/commit/")]
    assert messages == ["Uploaded (batch 1/2).", "Uploaded (batch 2/2)."]


def test_large_file(driver, scripted, local):
    content = b"large" * 100_000
    scripted.lfs_threshold = 1000
    driver.ok("commit", "kernel", "a/b", "v1", "m", f"+big={local('b', content)}", f"+again={local('c', content)}",
              f"+small={local('s', b's')}")
    assert scripted.files == {"big": content, "again": content, "small": b"s"}
    batch, = scripted.sent(part="/objects/batch")
    assert batch.path == "/kernels/a/b.git/info/lfs/objects/batch"
    assert batch.headers["content-type"] == batch.headers["accept"] == "application/vnd.git-lfs+json"
    assert batch.json == {"operation": "upload", "transfers": ["basic", "multipart"], "hash_algo": "sha256",
                          "objects": [{"oid": sha256(content), "size": len(content)}], "ref": {"name": "v1"}}
    put, = scripted.sent("PUT")
    assert "authorization" not in put.headers and put.headers["x-store"] == "yes"
    verify, = scripted.sent(part="/verify/")
    assert verify.json == {"oid": sha256(content), "size": len(content)}
    assert verify.headers["authorization"] == "Bearer secret"
    assert {"key": "lfsFile", "value": {"path": "big", "algo": "sha256", "oid": sha256(content), "size": len(content)}} \
        in lines_of(scripted.requests[-1])


def test_large_file_that_is_there(driver, scripted, local):
    scripted.lfs_threshold = 1
    scripted.store[sha256(b"large")] = b"large"
    driver.ok("commit", "kernel", "a/b", "v1", "m", f"+big={local('b', b'large')}")
    assert scripted.sent("PUT") == [] and scripted.files == {"big": b"large"}


def test_parts(driver, scripted, local):
    content = bytes(range(250)) * 1000
    scripted.lfs_threshold = 1000
    scripted.chunk_size = 100_000
    driver.ok("commit", "kernel", "a/b", "v1", "m", f"+big={local('b', content)}")
    assert scripted.files == {"big": content}
    assert sorted(len(request.body) for request in scripted.sent("PUT")) == [50_000, 100_000, 100_000]
    complete, = scripted.sent(part="/complete/")
    assert [part["partNumber"] for part in complete.json["parts"]] == [1, 2, 3]
    assert complete.json["parts"][0]["etag"] == f'"part-{sha256(content)}.1"'
    assert "authorization" not in complete.headers


@pytest.mark.parametrize("chunk_size", [0, 100])
def test_content_goes_several_at_a_time(driver, scripted, local, chunk_size):
    """Four files, or the four parts of one, arrive before any of them is answered."""
    together = threading.Barrier(4, timeout=60)

    def wait(handler):
        together.wait()
        return False

    scripted.lfs_threshold = 1
    scripted.chunk_size = chunk_size
    contents = [bytes([i]) * 400 for i in range(1 if chunk_size else 4)]
    scripted.rule("PUT", "/put/", wait)
    driver.ok("commit", "kernel", "a/b", "v1", "m", *(f"+f{i}={local(f'f{i}', text)}" for i, text in enumerate(contents)))
    assert scripted.files == {f"f{i}": text for i, text in enumerate(contents)}
    assert len(scripted.sent("PUT")) == 4 and len(scripted.sent(part="/verify/")) == len(contents)


def test_one_part_fails(driver, scripted, local):
    scripted.lfs_threshold = 1
    scripted.chunk_size = 100
    scripted.rule("PUT", ".3", status(403))
    text = driver.fails("FORBIDDEN 403", "commit", "kernel", "a/b", "v1", "m", f"+big={local('b', b'x' * 1000)}")
    assert "cannot upload big" in text and scripted.sent(part="/complete/") == [] and scripted.sent(part="/commit/") == []


def test_senseless_parts(driver, scripted, local):
    scripted.lfs_threshold = 1
    scripted.chunk_size = 3
    original = scripted.upload_actions

    def one_part_less(oid, size):
        actions = original(oid, size)
        del actions["upload"]["header"]["2"]
        return actions

    scripted.upload_actions = one_part_less
    driver.fails("SCHEMA", "commit", "kernel", "a/b", "v1", "m", f"+big={local('b', b'large')}")
    assert scripted.sent("PUT") == [] and scripted.sent(part="/commit/") == []


def test_large_file_refused(driver, scripted, local):
    scripted.lfs_threshold = 1
    answer = {"objects": [{"oid": sha256(b"large"), "size": 5, "error": {"code": 422, "message": "too\x1b large"}}]}
    scripted.rule("POST", "/batch", status(200, body=json.dumps(answer).encode()))
    text = driver.fails("HTTP", "commit", "kernel", "a/b", "v1", "m", f"+big={local('b', b'large')}")
    assert "too\\x1b large" in text and "big" in text


def test_store_fails_once(driver, scripted, local):
    scripted.lfs_threshold = 1
    scripted.rule("PUT", "/put/", status(500), times=1)
    driver.ok("commit", "kernel", "a/b", "v1", "m", f"+big={local('b', b'large')}")
    assert [request.body for request in scripted.sent("PUT")] == [b"large", b"large"]


def test_commit_is_never_sent_twice(driver, scripted, local):
    scripted.rule("POST", "/commit/", status(503))
    driver.fails("HTTP 503", "commit", "kernel", "a/b", "v1", "m", f"+a={local('a', b'1')}")
    assert len(scripted.sent(part="/commit/")) == 1


def test_conflict(driver, scripted, local):
    scripted.rule("POST", "/commit/", status(409, {"X-Error-Message": "head moved"}))
    text = driver.fails("CONFLICT 409", "commit", "kernel", "a/b", "v1", "m", f"+a={local('a', b'1')}")
    assert "head moved" in text and "v1" in text


def test_commit_goes_to_no_other_host(driver, scripted, local):
    with ScriptedHub() as other:
        scripted.rule("POST", "/commit/", redirect(f"{other.url}/x", 307))
        driver.fails("HTTP", "commit", "kernel", "a/b", "v1", "m", f"+a={local('a', b'1')}")
        assert other.requests == []


def test_delete_missing_file(driver):
    driver.fails("ENTRY_NOT_FOUND 404", "commit", "kernel", "a/b", "v1", "m", "-none")


@pytest.mark.parametrize("number_told", [True, False])
def test_pull_request(driver, scripted, local, number_told):
    scripted.tells_pr_number = number_told
    scripted.lfs_threshold = 5
    words = [f"+f{i:04}={local(str(i), b'%d' % i)}" for i in range(1000)] + [f"+big={local('b', b'large file')}"]
    outcome = driver.ok("pr", "kernel", "a/b", "v1", "m", *words)
    assert outcome.lines == [f"commit {HEAD} added 1001 deleted 0 unchanged 0 pr 7 {scripted.url}/kernels/a/b/discussions/7"]
    first, second = scripted.sent(part="/commit/")
    assert (first.path, first.query) == ("/api/kernels/a/b/commit/v1", "create_pr=1")
    assert (second.path, second.query) == ("/api/kernels/a/b/commit/refs%2Fpr%2F7", "")
    batch, = scripted.sent(part="/objects/batch")
    assert "ref" not in batch.json


def test_local_problems_send_nothing(driver, scripted, tmp_path, local):
    driver.fails("FILE_NOT_FOUND", "commit", "kernel", "a/b", "v1", "m", f"+a={tmp_path}/none")
    driver.fails("FILE_NOT_FOUND", "commit", "kernel", "a/b", "v1", "m", f"+a={tmp_path}")
    driver.fails("UNSAFE_NAME", "commit", "kernel", "a/b", "v1", "m", f"+../a={local('a', b'')}")
    driver.fails("INVALID_ARGUMENT", "commit", "kernel", "a/b", "v1", "two\nlines", "-a")
    driver.fails("OFFLINE", "commit", "kernel", "a/b", "v1", "m", "-a", env={"HF_HUB_OFFLINE": "1"})
    assert scripted.requests == []


def test_token_file_is_enough(driver, scripted, tmp_path, local):
    token = tmp_path / "home" / "huggingface" / "token"
    token.parent.mkdir(parents=True, exist_ok=True)
    token.write_text("from-file\n")
    driver.ok("commit", "kernel", "a/b", "v1", "m", f"+a={local('a', b'1')}", env={"HF_TOKEN": ""})
    assert scripted.requests[-1].headers["authorization"] == "Bearer from-file"
