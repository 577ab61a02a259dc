# SPDX-License-Identifier: Apache-2.0
"""The embedded hub with many writers, and killed while it writes."""
import concurrent.futures
import json
import os
import random
import signal
import socket
import subprocess
import time

from server_http import address, ask, commit, create, file, lines


def fsck(store):
    done = subprocess.run(["git", "-C", store, "fsck", "--full", "--strict"], text=True, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_parallel_commits_to_one_branch(start_hub):
    hub = start_hub()
    create(hub.url, "acme/demo")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: commit(hub.url, "acme/demo", file(f"dir{i % 4}/f{i}", b"%d" % i)), range(32)))
    assert {a.status for a in answers} == {200}
    assert len({a.json()["commitOid"] for a in answers}) == 32
    tree = ask(hub.url, "GET", "/api/kernels/acme/demo/tree/main?recursive=true").json()
    assert len([e for e in tree if e["type"] == "file"]) == 32
    store = hub.directory / "kernels" / "acme" / "demo.git"
    fsck(store)
    count = subprocess.run(["git", "-C", store, "rev-list", "--count", "main"], text=True, capture_output=True)
    assert count.stdout.strip() == "33"


def test_parallel_commits_on_one_parent(start_hub):
    hub = start_hub()
    create(hub.url, "acme/demo")
    head = commit(hub.url, "acme/demo", file("f", b"0")).json()["commitOid"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: commit(hub.url, "acme/demo", file(f"f{i}", b"1"), parent=head), range(8)))
    assert sorted(a.status for a in answers) == [200] + [412] * 7


def test_parallel_creation_and_pull_requests(start_hub):
    hub = start_hub()
    body = json.dumps({"name": "demo", "organization": "acme", "type": "kernel"})
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(hub.url, "POST", "/api/repos/create", body).status, range(8)))
        assert sorted(answers) == [200] + [409] * 7
        target = "/api/kernels/acme/demo/commit/main?create_pr=1"
        pulls = list(pool.map(lambda i: ask(hub.url, "POST", target, lines(file(f"f{i}", b"1"))).json(), range(8)))
    assert sorted(p["prNum"] for p in pulls) == list(range(1, 9))
    assert all(p["pullRequestUrl"].endswith(f"/discussions/{p['prNum']}") for p in pulls)
    refs = ask(hub.url, "GET", "/api/kernels/acme/demo/refs?include_prs=1").json()
    assert {r["targetCommit"] for r in refs["pullRequests"]} == {p["commitOid"] for p in pulls}
    fsck(hub.directory / "kernels" / "acme" / "demo.git")


def test_a_push_from_outside_is_seen_and_kept(start_hub, tmp_path):
    hub = start_hub()
    create(hub.url, "acme/demo")
    commit(hub.url, "acme/demo", file("f", b"0"))
    store, work = hub.directory / "kernels" / "acme" / "demo.git", tmp_path / "work"
    git = ["git", "-C", work, "-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run(["git", "clone", "-q", store, work], check=True)
    (work / "g").write_text("1")
    subprocess.run([*git, "add", "g"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "g"], check=True)
    subprocess.run([*git, "push", "-q"], check=True)
    subprocess.run(["git", "-C", store, "gc", "-q", "--prune=now"], check=True)  # packed objects and references
    assert commit(hub.url, "acme/demo", file("h", b"2")).status == 200
    tree = ask(hub.url, "GET", "/api/kernels/acme/demo/tree/main").json()
    assert [e["path"] for e in tree] == ["f", "g", "h"]
    assert ask(hub.url, "GET", "/kernels/acme/demo/resolve/main/g").body == b"1"
    fsck(store)


def test_killed_while_committing(start_hub, tmp_path):
    """Whatever the moment: the branch shows the old or the new version, and the next server goes on."""
    store, expected = tmp_path / "store", {}
    seed = random.Random(7)
    for round_number in range(6):
        hub = start_hub(directory=store)
        if round_number == 0:
            create(hub.url, "acme/demo")
        tree = ask(hub.url, "GET", "/api/kernels/acme/demo/tree/main").json()
        assert sorted(e["path"] for e in tree) in (sorted(expected), sorted(expected | {"last": 1}))
        expected = {e["path"]: 1 for e in tree if e["path"] != "last"}
        if any(e["path"] == "last" for e in tree):
            assert commit(hub.url, "acme/demo", {"key": "deletedFile", "value": {"path": "last"}}).status == 200
        name = f"f{round_number}"
        assert commit(hub.url, "acme/demo", file(name, b"kept")).status == 200
        expected[name] = 1
        body = lines(file("last", os.urandom(6 << 20)))
        with socket.create_connection(address(hub.url)) as s:
            s.sendall(b"POST /api/kernels/acme/demo/commit/main HTTP/1.1\r\nHost: x\r\n"
                      b"Content-Length: %d\r\n\r\n" % len(body))
            cut = seed.randrange(len(body)) if round_number % 2 else len(body)
            s.sendall(body[:cut])
            time.sleep(seed.random() * 0.2)
            hub.process.send_signal(signal.SIGKILL)
            hub.process.wait()
        fsck(store / "kernels" / "acme" / "demo.git")
    # what a killed writer can leave behind blocks nobody
    (store / "kernels" / "acme" / "demo.git" / "refs" / "heads" / "main.lock").write_text("")
    (store / "lfs" / ".0.1.tmp").write_text("half")
    (store / "tmp" / "half.git").mkdir()
    hub = start_hub(directory=store)
    assert commit(hub.url, "acme/demo", file("end", b"1")).status == 200
    assert list((store / "lfs").iterdir()) == [] and list((store / "tmp").iterdir()) == []
    fsck(store / "kernels" / "acme" / "demo.git")
