# SPDX-License-Identifier: Apache-2.0
"""Large files of the embedded hub, and `kernels serve --check`."""
import hashlib
import json
import os
import subprocess

import pytest
from server_http import ask, commit, create, file


def batch(url, content, repo="acme/demo", operation="upload", transfers=("basic",), **headers):
    oid = hashlib.sha256(content).hexdigest()
    body = json.dumps({"operation": operation, "transfers": list(transfers), "hash_algo": "sha256",
                       "objects": [{"oid": oid, "size": len(content)}]})
    answer = ask(url, "POST", f"/kernels/{repo}.git/info/lfs/objects/batch", body, headers)
    return oid, answer.json()["objects"][0] if answer.status == 200 else answer.status


def put(url, href, content):
    return ask(url, "PUT", href.removeprefix(url), content)


def pointer(path, oid, size):
    return {"key": "lfsFile", "value": {"path": path, "algo": "sha256", "oid": oid, "size": size}}


def upload(url, content, repo="acme/demo"):
    oid, answer = batch(url, content, repo)
    assert put(url, answer["actions"]["upload"]["href"], content).status == 200
    return oid


# ---- in parts ----

@pytest.fixture
def parts(start_hub):
    hub = start_hub("--lfs-part-size", "1000")
    create(hub.url, "acme/demo")
    return hub


CONTENT = os.urandom(2500)


def urls(answer):
    header = answer["actions"]["upload"]["header"]
    assert header.pop("chunk_size") == "1000"
    return [header[key] for key in sorted(header, key=int)]


def join(hub, answer, count=3, content=CONTENT):
    body = json.dumps({"oid": hashlib.sha256(content).hexdigest(),
                       "parts": [{"partNumber": i + 1, "etag": "x"} for i in range(count)]})
    return ask(hub.url, "POST", answer["actions"]["upload"]["href"].removeprefix(hub.url), body)


def test_upload_in_parts(parts):
    oid, answer = batch(parts.url, CONTENT, transfers=("basic", "multipart"))
    targets = urls(answer)
    assert len(targets) == 3
    assert join(parts, answer).status == 400  # nothing was sent
    assert put(parts.url, targets[0], CONTENT[:999]).status == 400  # too short
    assert put(parts.url, targets[0], b"x" * 1000).status == 200  # wrong bytes, sent again below
    for number in (2, 0, 1):  # in any order
        sent = put(parts.url, targets[number], CONTENT[number * 1000:][:1000])
        assert sent.status == 200 and sent.headers["ETag"]
    assert join(parts, answer, count=2).status == 400
    assert commit(parts.url, "acme/demo", pointer("big", oid, 2500)).status == 400  # not joined yet
    assert join(parts, answer).status == 200
    assert join(parts, answer).status == 200  # the client did not hear the first answer
    assert list((parts.directory / "parts").iterdir()) == []
    assert commit(parts.url, "acme/demo", pointer("big", oid, 2500)).status == 200
    assert ask(parts.url, "GET", "/kernels/acme/demo/resolve/main/big").body == CONTENT


def test_parts_that_are_something_else(parts):
    oid, answer = batch(parts.url, CONTENT, transfers=("basic", "multipart"))
    for target, size in zip(urls(answer), (1000, 1000, 500)):
        assert put(parts.url, target, b"x" * size).status == 200
    assert join(parts, answer).status == 400
    assert list((parts.directory / "parts").iterdir()) == [] and list((parts.directory / "lfs").iterdir()) == []


def test_addresses_of_parts_are_signed(parts):
    _, answer = batch(parts.url, CONTENT, transfers=("basic", "multipart"))
    target = urls(answer)[0]
    for wrong in (target.replace("/1?", "/2?"), target.replace("size=1000", "size=1001"), target.split("?")[0]):
        assert put(parts.url, wrong, CONTENT[:1000]).status == 403
    href = answer["actions"]["upload"]["href"]
    other = href.replace(hashlib.sha256(CONTENT).hexdigest(), "0" * 64)
    assert ask(parts.url, "POST", other.removeprefix(parts.url), b"{}").status == 403


def test_small_files_and_old_clients_send_the_whole(parts):
    assert batch(parts.url, CONTENT)[1]["actions"]["upload"]["header"] == {}
    assert batch(parts.url, b"x" * 1000, transfers=("multipart",))[1]["actions"]["upload"]["header"] == {}


def test_parts_of_an_earlier_server_go(parts, start_hub):
    _, answer = batch(parts.url, CONTENT, transfers=("basic", "multipart"))
    assert put(parts.url, urls(answer)[0], CONTENT[:1000]).status == 200
    assert len(list((parts.directory / "parts").iterdir())) == 1
    parts.stop()
    start_hub(directory=parts.directory)
    assert list((parts.directory / "parts").iterdir()) == []


# ---- who may use a content ----

def test_a_hash_alone_gives_no_content(start_hub):
    """Whoever knows the hash of a private file cannot make it part of a repository of his own."""
    hub = start_hub()
    secret = os.urandom(3000)
    for repo in ("acme/demo", "evil/demo"):
        create(hub.url, repo)
    oid = upload(hub.url, secret)
    assert commit(hub.url, "acme/demo", pointer("big", oid, 3000)).status == 200
    assert commit(hub.url, "evil/demo", pointer("big", oid, 3000)).status == 400
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 3000\n".encode()
    assert commit(hub.url, "evil/demo", file("big", text)).status == 200
    assert ask(hub.url, "GET", "/kernels/evil/demo/resolve/main/big").body == text
    assert batch(hub.url, secret, "evil/demo", "download")[1]["error"]["code"] == 404
    assert "actions" in batch(hub.url, secret, "evil/demo")[1]  # it has to be sent
    assert "actions" not in batch(hub.url, secret, "acme/demo")[1]
    upload(hub.url, secret, "evil/demo")  # whoever has it may
    assert ask(hub.url, "GET", "/kernels/evil/demo/resolve/main/big").body == secret
    assert [p.name for p in (hub.directory / "lfs").iterdir()] == [oid]  # stored once


def test_batch_download(start_hub):
    hub = start_hub("--token", "me:secret", "--token", "you:other:ro", "--private", "acme/hidden")
    me, you = ({"Authorization": f"Bearer {token}"} for token in ("secret", "other"))
    content = os.urandom(2000)
    for repo in ("acme/demo", "acme/hidden"):
        create(hub.url, repo, **me)
        oid, answer = batch(hub.url, content, repo, **me)
        assert put(hub.url, answer["actions"]["upload"]["href"], content).status == 200
    for repo, headers in (("acme/demo", {}), ("acme/hidden", you)):
        _, answer = batch(hub.url, content, repo, "download", **headers)
        assert ask(hub.url, "GET", answer["actions"]["download"]["href"].removeprefix(hub.url)).body == content
    assert batch(hub.url, content, "acme/hidden", "download")[1] == 401
    assert batch(hub.url, content, "acme/demo")[1] == 401  # uploads need a token
    assert batch(hub.url, content, "acme/demo", **you)[1] == 403


# ---- check ----

@pytest.fixture
def check(run, programs):
    def check_store(directory, code=0):
        done = run(programs.kernels_serve, directory, "--check", check=False)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    return check_store


@pytest.fixture
def store(start_hub):
    hub = start_hub()
    create(hub.url, "acme/demo")
    oid = upload(hub.url, b"large" * 1000)
    answer = commit(hub.url, "acme/demo", file("a/b", b"1"), file("big", os.urandom(3 << 20)), pointer("l", oid, 5000))
    assert answer.status == 200, answer.body
    hub.stop()
    hub.oid, hub.head = oid, answer.json()["commitOid"]
    hub.git = hub.directory / "kernels" / "acme" / "demo.git"
    return hub


def test_check_of_a_sound_store(store, check):
    assert check(store.directory) == "1 repositories, 1 references, 8 objects, 1 large files: 0 problems\n"


def loose(store, oid):
    path = store.git / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    return path


def blob(store, path):
    return subprocess.run(["git", "-C", store.git, "rev-parse", f"main:{path}"], text=True, check=True,
                          capture_output=True).stdout.strip()


def test_check_finds_damage(store, check):
    def damaged(path, change, expected):
        before = path.read_bytes()
        change(path)
        assert expected in check(store.directory, 1), expected
        path.write_bytes(before)
        check(store.directory)

    def flip(path):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    damaged(loose(store, blob(store, "big")), flip, f"object {blob(store, 'big')}")
    damaged(loose(store, blob(store, "a/b")), os.unlink, f"{blob(store, 'a/b')}, which is missing")
    damaged(loose(store, store.head), os.unlink, "refs/heads/main leads to no commit")
    damaged(store.directory / "lfs" / store.oid, flip, f"lfs: {store.oid} has another content")
    damaged(store.directory / "lfs" / store.oid, os.unlink, f"large file {store.oid} is missing")
    damaged(store.git / "refs" / "heads" / "main", os.unlink, "the branch main is missing")


def test_check_of_a_packed_repository_and_of_a_served_one(store, check, start_hub):
    subprocess.run(["git", "-C", store.git, "gc", "-q"], check=True)
    assert "8 objects" in check(store.directory)
    start_hub(directory=store.directory)
    assert "already served" in check(store.directory, 1)


def test_pushes_stay_in_single_objects(store, tmp_path, start_hub):
    """A packed blob could only be read as a whole: git is told to unpack what is pushed."""
    work = tmp_path / "work"
    git = ["git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run(["git", "clone", "-q", store.git, work], check=True)
    for i in range(150):
        (work / f"f{i}").write_text(str(i))
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "many"], check=True)
    subprocess.run([*git, "push", "-q"], check=True)
    assert list((store.git / "objects" / "pack").glob("*.pack")) == []
    hub = start_hub(directory=store.directory)
    assert ask(hub.url, "GET", "/kernels/acme/demo/resolve/main/f149").body == b"149"
