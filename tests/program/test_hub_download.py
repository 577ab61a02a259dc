# SPDX-License-Identifier: Apache-2.0
"""Reading a Hub and filling the cache, with a server that does everything wrong."""
import os
import random
import re
import ssl
import subprocess
import time

import pytest
from hub_fixtures import Driver, cache_files
from scripted_hub import COMMIT, HEAD, ScriptedHub, answer_file, drop, git_blob, redirect, sha256, status

FILES = {
    "README.md": b"# demo\n",
    "build/torch-cpu/__init__.py": b"BACKEND = 'cpu'\n",
    "build/torch-cpu/metadata.json": b"{}",
    "build/torch-cpu/data/table.bin": bytes(range(256)) * 4096,
    "build/torch-cpu/empty": b"",
}
LARGE = "build/torch-cpu/data/table.bin"
REPOSITORY = "kernels--a--b"


@pytest.fixture
def scripted():
    with ScriptedHub(FILES, {LARGE}) as server:
        yield server


@pytest.fixture
def driver(build_dir, scripted, tmp_path):
    return Driver(build_dir / "tests" / "hub_driver", tmp_path / "home", scripted.url)


def blob_name(path: str) -> str:
    return sha256(FILES[path]) if path == LARGE else git_blob(FILES[path])


def expected_cache(paths=FILES, ref="v1") -> dict[str, str]:
    expected = {f"{REPOSITORY}/refs/{ref}": COMMIT}
    for path in paths:
        expected[f"{REPOSITORY}/blobs/{blob_name(path)}"] = FILES[path].decode("latin-1")
        up = "../" * (path.count("/") + 2)
        expected[f"{REPOSITORY}/snapshots/{COMMIT}/{path}"] = f"-> {up}blobs/{blob_name(path)}"
    return expected


def assert_nothing_stored(driver):
    assert [path for path in cache_files(driver.cache) if "/blobs/" in path or "/snapshots/" in path] == []


# ---- asking ----

def test_refs(driver):
    assert driver.ok("refs", "kernel", "a/b").lines == [
        f"branch main refs/heads/main {HEAD}", f"branch v1 refs/heads/v1 {COMMIT}", f"pr refs/pr/7 refs/pr/7 {HEAD}"]


def test_revision(driver, scripted):
    assert driver.ok("revision", "kernel", "a/b", "v1").lines == [COMMIT]
    outcome = driver.ok("revision", "kernel", "a/b", COMMIT)
    assert outcome.lines == [COMMIT] and outcome.requests == 0
    assert driver.fails("REVISION_NOT_FOUND 404", "revision", "kernel", "a/b", "nope")
    driver.ok("tree", "kernel", "a/b", "refs/heads/v1", "build")
    assert scripted.requests[-1].path == "/api/kernels/a/b/tree/refs%2Fheads%2Fv1/build"
    driver.ok("tree", "model", "a/b", "v1")
    assert scripted.requests[-1].path == "/api/models/a/b/tree/v1"


def test_headers(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1", env={"HF_TOKEN": " t\n"})
    for request in scripted.requests:
        assert re.fullmatch(r"kernels/\d+\.\d+\.\d+; driver/1", request.headers["user-agent"])
        assert request.headers["authorization"] == "Bearer t"
    for request in scripted.sent(part="/resolve/"):
        assert request.headers["x-hf-download-counter"] == "1"
        assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pages(driver, scripted, size):
    whole = driver.ok("tree", "kernel", "a/b", "v1").lines
    scripted.page_size = size
    assert driver.ok("tree", "kernel", "a/b", "v1").lines == whole
    assert whole == sorted(whole, key=lambda line: line.split()[1]) and len(whole) == 8


def test_next_page_elsewhere(driver, scripted):
    with ScriptedHub(FILES) as other:
        link = f'<{other.url}/api/kernels/a/b/tree/v1?cursor=1>; rel="next"'
        scripted.rule("GET", "/tree/", status(200, {"Link": link}, b"[]"))
        assert "another host" in driver.fails("HTTP", "tree", "kernel", "a/b", "v1")
        assert other.requests == []


def test_pages_in_a_circle(driver, scripted):
    link = f'<{scripted.url}/api/kernels/a/b/tree/v1?cursor=1>; rel="next"'
    scripted.rule("GET", "/tree/", status(200, {"Link": link}, b"[]"))
    assert "circle" in driver.fails("HTTP", "tree", "kernel", "a/b", "v1")
    assert len(scripted.requests) == 2


def test_publisher(driver, scripted):
    driver.ok("publisher", "a/b")
    assert scripted.requests[-1].path == "/api/organizations/a/overview"
    scripted.rule("GET", "/overview", status(200, body=b'{"name": "a"}'), times=1)
    text = driver.fails("UNTRUSTED", "publisher", "a/b")
    assert "not from a trusted publisher" in text and "trust_remote_code" not in text  # whoever shows it adds the remedy
    scripted.rule("GET", "/overview", status(404))
    text = driver.fails("UNTRUSTED 404", "publisher", "a/b")
    assert "could not verify publisher trust status" in text


def test_whoami(driver, scripted):
    assert driver.ok("whoami").lines == ["me"]
    scripted.rule("GET", "/api/whoami-v2", status(401))
    assert "HF_TOKEN" in driver.fails("AUTHENTICATION 401", "whoami")


@pytest.mark.parametrize("repo", ["../x/y", "a--b/c", "a/b/c", "a/b.git"])
def test_bad_ids_send_nothing(driver, scripted, repo):
    assert driver.run("refs", "kernel", repo).code == 1
    assert driver.run("fetch", "kernel", repo, "v1").code == 1
    assert scripted.requests == []


@pytest.mark.parametrize("code, headers, expected", [
    (401, {"X-Error-Code": "RepoNotFound"}, "REPOSITORY_NOT_FOUND 401"),
    (401, {}, "AUTHENTICATION 401"),
    (403, {"X-Error-Code": "GatedRepo"}, "GATED_REPOSITORY 403"),
    (404, {}, "HTTP 404"),
])
def test_refusals(driver, scripted, code, headers, expected):
    scripted.rule("GET", "/refs", status(code, headers))
    driver.fails(expected, "refs", "kernel", "a/b")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"branches": 1}', b'{"branches": [{"name": "x"}]}',
                                  b'{"branches": [{"name": "x", "ref": "x", "targetCommit": "../../x"}]}',
                                  b'{"branches": [{"name": "a/../../b", "ref": "x", "targetCommit": "%s"}]}'
                                  % COMMIT.encode()])
def test_senseless_answers(driver, scripted, body):
    scripted.rule("GET", "/refs", status(200, body=body))
    assert driver.run("refs", "kernel", "a/b").code == 1


def test_header_flood(driver, scripted):
    scripted.rule("GET", "/refs", status(200, {f"X-{i}": "y" * 8000 for i in range(9)}, b"{}"))
    assert "header" in driver.fails("LIMIT", "refs", "kernel", "a/b")
    assert len(scripted.requests) == 1


def test_endless_answer(driver, scripted):
    def endless(handler):
        handler.begin(200, {"Connection": "close"})
        handler.close_connection = True
        while True:
            handler.wfile.write(b" " * 65536)

    scripted.rule("GET", "/overview", endless)
    assert "larger than" in driver.fails("UNTRUSTED", "publisher", "a/b")


def test_warning_of_the_hub_told_once(driver, scripted):
    def warn(handler):
        handler.answer_json({"id": "a/b", "sha": COMMIT}, headers={"X-HF-Warning": "topic; beware"})

    scripted.rule("GET", "/revision/", warn)
    scripted.rule("GET", "/tree/", status(200, {"X-HF-Warning": "topic; again"}, b"[]"))
    assert driver.ok("fetch", "kernel", "a/b", "v1").errors.count("warning: ") == 1


def test_no_answer(driver, scripted):
    scripted.__exit__()
    assert "HF_HUB_OFFLINE" in driver.fails("NETWORK", "refs", "kernel", "a/b")


# ---- downloading ----

def test_fetch(driver, scripted):
    outcome = driver.ok("fetch", "kernel", "a/b", "v1")
    assert outcome.lines == [str(driver.cache / REPOSITORY / "snapshots" / COMMIT)]
    assert cache_files(driver.cache) == expected_cache()
    assert outcome.requests == len(FILES) + 2 and scripted.sent("HEAD") == []
    assert (driver.cache / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    locks = {path.name for path in (driver.cache / ".locks" / REPOSITORY).iterdir()}
    assert locks == {f"{blob_name(path)}.lock" for path in FILES}
    mask = os.umask(0)
    os.umask(mask)
    assert (driver.cache / REPOSITORY / "blobs" / blob_name(LARGE)).stat().st_mode & 0o777 == 0o666 & ~mask


def test_warm_fetch_sends_no_file_request(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1")
    scripted.requests.clear()
    driver.ok("fetch", "kernel", "a/b", "v1")
    assert scripted.sent(part="/resolve/") == []


def test_part_of_the_files(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1", "build/torch-cpu/m")
    assert cache_files(driver.cache) == expected_cache(["build/torch-cpu/metadata.json"])


def test_equal_files_are_one_blob(driver, scripted):
    scripted.files = {f"d{i}/same": b"same" for i in range(20)}
    driver.ok("fetch", "kernel", "a/b", "v1")
    assert len(scripted.sent(part="/resolve/")) == 1
    files = cache_files(driver.cache)
    assert sum("/blobs/" in path for path in files) == 1 and sum("/snapshots/" in path for path in files) == 20


def test_many_files(driver, scripted):
    scripted.files = {f"f{i}": b"%d" % i for i in range(200)}
    outcome = driver.ok("fetch", "kernel", "a/b", "v1")
    assert outcome.requests == 202
    assert sum("/snapshots/" in path for path in cache_files(driver.cache)) == 200


def test_snapshot_versions_and_offline(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1")
    scripted.requests.clear()
    offline = {"HF_HUB_OFFLINE": "1"}
    folder = driver.cache / REPOSITORY / "snapshots" / COMMIT
    assert driver.ok("snapshot", "kernel", "a/b", "v1", env=offline).lines == [f"{COMMIT} {folder}"]
    assert driver.ok("snapshot", "kernel", "a/b", COMMIT, env=offline).lines == [f"{COMMIT} {folder}"]
    assert driver.ok("versions", "a/b", env=offline).lines == [f"1 {COMMIT}"]
    driver.fails("NOT_CACHED", "snapshot", "kernel", "a/b", "v2", env=offline)
    driver.fails("OFFLINE", "refs", "kernel", "a/b", env=offline)
    driver.ok("check", "kernel", "a/b", COMMIT, "torch-cpu", env=offline)
    (folder / "build/torch-cpu/metadata.json").unlink()
    text = driver.fails("NOT_CACHED", "check", "kernel", "a/b", COMMIT, "torch-cpu", env=offline)
    assert "build/torch-cpu/metadata.json" in text
    assert scripted.requests == []


def test_kernels_cache(driver, tmp_path):
    driver.ok("fetch", "kernel", "a/b", "v1", env={"KERNELS_CACHE": str(tmp_path / "other")})
    assert cache_files(tmp_path / "other") == expected_cache()
    assert not driver.cache.exists()


def test_listing_without_ids(driver, scripted):
    """Then the head of each file tells the id, with a weak ETag too."""
    scripted.tree_without_ids = True
    scripted.rule("HEAD", "README.md", status(200, {"ETag": f'W/"{blob_name("README.md")}"', "X-Repo-Commit": COMMIT,
                                                    "Content-Length": len(FILES["README.md"])}))
    driver.ok("fetch", "kernel", "a/b", "v1")
    assert cache_files(driver.cache) == expected_cache()
    assert len(scripted.sent("HEAD")) == len(FILES)


def test_metadata_of_a_file_stored_elsewhere(driver, scripted):
    scripted.tree_without_ids = True
    scripted.rule("HEAD", LARGE, redirect("http://cdn.invalid/x", headers={
        "X-Linked-Etag": f'"{blob_name(LARGE)}"', "X-Linked-Size": len(FILES[LARGE]), "X-Repo-Commit": COMMIT,
        "ETag": '"other"'}))
    driver.ok("fetch", "kernel", "a/b", "v1", LARGE)
    assert cache_files(driver.cache) == expected_cache([LARGE])


@pytest.mark.parametrize("headers", [{"ETag": f'"{"a" * 40}"'}, {"X-Repo-Commit": COMMIT},
                                     {"ETag": '"../../x"', "X-Repo-Commit": COMMIT}])
def test_missing_metadata(driver, scripted, headers):
    scripted.tree_without_ids = True
    scripted.rule("HEAD", "/resolve/", status(200, headers))
    assert "file metadata error" in driver.fails("HTTP", "fetch", "kernel", "a/b", "v1")
    assert_nothing_stored(driver)


# ---- faults while downloading ----

def test_wrong_bytes(driver, scripted):
    scripted.rule("GET", LARGE, answer_file(b"x" * len(FILES[LARGE])))
    text = driver.fails("INTEGRITY", "fetch", "kernel", "a/b", "v1", LARGE)
    assert LARGE in text and blob_name(LARGE) in text
    assert_nothing_stored(driver)


@pytest.mark.parametrize("change", [-1, 1])
def test_wrong_length(driver, scripted, change):
    scripted.rule("GET", LARGE, answer_file(b"x" * (len(FILES[LARGE]) + change)))
    assert "Consistency check failed" in driver.fails("INTEGRITY", "fetch", "kernel", "a/b", "v1", LARGE)
    assert_nothing_stored(driver)


def test_one_bad_file_leaves_the_good_ones(driver, scripted):
    scripted.rule("GET", "README.md", answer_file(b"#.demo\n"))
    driver.fails("INTEGRITY", "fetch", "kernel", "a/b", "v1")
    files = cache_files(driver.cache)
    assert not any(".incomplete" in path or "README" in path or "/refs/" in path for path in files)
    scripted.rules.clear()
    driver.ok("fetch", "kernel", "a/b", "v1")
    assert cache_files(driver.cache) == expected_cache()


def test_resume(driver, scripted):
    scripted.rule("GET", LARGE, drop(after=400_000), times=1)
    scripted.rule("GET", LARGE, drop(after=300_000), times=1)
    driver.ok("fetch", "kernel", "a/b", "v1", LARGE)
    ranges = [request.headers.get("range") for request in scripted.sent(part=LARGE)]
    assert ranges == [None, "bytes=400000-", "bytes=700000-"]
    assert cache_files(driver.cache) == expected_cache([LARGE])


def test_resume_ignored(driver, scripted):
    """The server answers 200 to a ranged request: start from the first byte."""
    scripted.rule("GET", LARGE, drop(after=400_000), times=1)
    scripted.rule("GET", LARGE, answer_file(FILES[LARGE]), times=1)
    driver.ok("fetch", "kernel", "a/b", "v1", LARGE)
    assert cache_files(driver.cache) == expected_cache([LARGE])


def test_resume_refused(driver, scripted):
    scripted.rule("GET", LARGE, drop(after=400_000), times=1)
    scripted.rule("GET", LARGE, status(416), times=1)
    driver.ok("fetch", "kernel", "a/b", "v1", LARGE)
    assert scripted.requests[-1].headers.get("range") is None
    assert cache_files(driver.cache) == expected_cache([LARGE])


def test_wrong_part(driver, scripted):
    scripted.rule("GET", LARGE, drop(after=400_000), times=1)
    scripted.rule("GET", LARGE, status(206, {"Content-Range": "bytes 0-9/1048576", "X-Repo-Commit": COMMIT}, b"0123456789"))
    assert "another part" in driver.fails("HTTP", "fetch", "kernel", "a/b", "v1", LARGE)
    assert_nothing_stored(driver)


@pytest.mark.parametrize("part", ["/tree/", "/resolve/"])
def test_too_many_requests(driver, scripted, part):
    scripted.rule("GET", part, status(429, {"Retry-After": "1"}), times=1)
    begin = time.monotonic()
    driver.ok("fetch", "kernel", "a/b", "v1", "README.md")
    assert 2 <= time.monotonic() - begin < 10
    assert len(scripted.sent(part=part)) == 2


def test_server_error_then_fine(driver, scripted):
    scripted.rule("GET", "/refs", status(503), times=1)
    driver.ok("refs", "kernel", "a/b")


def test_wait_longer_than_we_would(driver, scripted):
    scripted.rule("GET", "/refs", status(429, {"Retry-After": "3600"}))
    driver.fails("RATE_LIMITED 429", "refs", "kernel", "a/b")
    assert len(scripted.requests) == 1


def test_silence(driver, scripted):
    def hang(handler):
        time.sleep(4)
        return False

    scripted.rule("GET", "README.md", hang, times=1)
    driver.ok("fetch", "kernel", "a/b", "v1", "README.md", env={"HF_HUB_DOWNLOAD_TIMEOUT": "1"})
    assert len(scripted.sent(part="README.md")) == 2


def test_compressed_body(driver, scripted):
    scripted.rule("GET", "README.md", status(200, {"Content-Encoding": "gzip", "X-Repo-Commit": COMMIT}, FILES["README.md"]))
    assert "compressed" in driver.fails("HTTP", "fetch", "kernel", "a/b", "v1", "README.md")
    assert_nothing_stored(driver)


def test_file_not_found(driver, scripted):
    scripted.rule("GET", "README.md", status(404, {"X-Error-Code": "EntryNotFound"}))
    assert "README.md" in driver.fails("ENTRY_NOT_FOUND 404", "fetch", "kernel", "a/b", "v1")


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "a\\b", "C:x", "a\x00b", "a\nb"])
def test_hostile_paths(driver, scripted, path):
    scripted.files = {path: b"x"}
    driver.fails("UNSAFE_NAME" if "\0" not in path else "SCHEMA", "fetch", "kernel", "a/b", "v1")
    assert not driver.cache.exists()


# ---- redirects and the token ----

TOKEN = {"HF_TOKEN": "secret"}


def test_redirect_to_another_host(driver, scripted):
    """The content comes from there, the token does not go there."""
    with ScriptedHub(FILES, {LARGE}) as cdn:
        scripted.rule("GET", LARGE, redirect(lambda handler: f"{cdn.url}{handler.path}?signature=hidden"))
        outcome = driver.ok("fetch", "kernel", "a/b", "v1", LARGE, env=TOKEN)
        assert cache_files(driver.cache) == expected_cache([LARGE])
        assert all("authorization" not in request.headers for request in cdn.requests) and len(cdn.requests) == 1
        assert all(request.headers["authorization"] == "Bearer secret" for request in scripted.requests)
        assert "secret" not in outcome.errors and "hidden" not in outcome.errors


def test_resume_behind_a_redirect(driver, scripted):
    with ScriptedHub(FILES, {LARGE}) as cdn:
        scripted.rule("GET", LARGE, redirect(lambda handler: f"{cdn.url}{handler.path}"))
        cdn.rule("GET", LARGE, drop(after=100_000), times=1)
        driver.ok("fetch", "kernel", "a/b", "v1", LARGE)
        assert [request.headers.get("range") for request in cdn.requests] == [None, "bytes=100000-"]


def test_token_stays_lost(driver, scripted):
    """A way that left the trusted hosts and came back carries no token."""
    with ScriptedHub() as other:
        other.rule("GET", "/", redirect(f"{scripted.url}/api/back/refs"))
        scripted.rule("GET", "/a/b/refs", redirect(f"{other.url}/x"))
        driver.ok("refs", "kernel", "a/b", env=TOKEN)
        assert "authorization" not in other.requests[0].headers
        assert "authorization" not in scripted.sent(part="/back/")[0].headers


def test_relative_redirect_keeps_token_and_spelling(driver, scripted):
    def lower(handler):
        if "A/B" not in handler.path:
            return False
        return redirect(handler.path.replace("A/B", "a/b"), 307)(handler)

    scripted.rule("GET", "/", lower)
    driver.ok("fetch", "kernel", "A/B", "v1", env=TOKEN)
    assert cache_files(driver.cache) == {path.replace(REPOSITORY, "kernels--A--B"): text
                                         for path, text in expected_cache().items()}
    assert all(request.headers["authorization"] == "Bearer secret" for request in scripted.requests)


def test_redirect_that_drops_the_query(driver, scripted):
    whole = driver.ok("tree", "kernel", "a/b", "v1").lines
    scripted.rule("GET", "/kernels/x/b/tree/", redirect("/api/kernels/a/b/tree/v1", 307))
    assert driver.ok("tree", "kernel", "x/b", "v1").lines == whole


def test_redirect_loop(driver, scripted):
    scripted.rule("GET", "/refs", redirect(lambda handler: handler.path))
    assert "20 redirects" in driver.fails("HTTP", "refs", "kernel", "a/b")
    assert len(scripted.requests) == 21


@pytest.mark.parametrize("location", ["ftp://x/", "http://user@127.0.0.1/", "http://127.0.0.1:0/", "file:///etc/passwd"])
def test_unusable_redirect(driver, scripted, location):
    scripted.rule("GET", "/refs", redirect(location))
    assert driver.run("refs", "kernel", "a/b").code == 1
    assert [request.path for request in scripted.requests] == ["/api/kernels/a/b/refs"]


def test_endpoint_with_a_path(driver, scripted):
    scripted.rule("GET", "/prefix/", redirect(lambda handler: handler.path.removeprefix("/prefix"), 307))
    driver.ok("fetch", "kernel", "a/b", "v1", env={"HF_ENDPOINT": scripted.url + "/prefix/"})
    assert len(scripted.sent(part="/prefix/")) == len(FILES) + 2 == len(scripted.requests) / 2


@pytest.fixture
def secure(tmp_path):
    """A hub that speaks TLS, and its certificate."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ScriptedHub(FILES, {LARGE}, context) as server:
        yield server, {"HF_ENDPOINT": server.url, "SSL_CERT_FILE": str(certificate), **TOKEN}


def test_tls(driver, secure):
    server, environment = secure
    driver.ok("fetch", "kernel", "a/b", "v1", env=environment)
    assert cache_files(driver.cache) == expected_cache()
    del environment["SSL_CERT_FILE"]
    begin = time.monotonic()
    driver.fails("NETWORK", "refs", "kernel", "a/b", env=environment)  # unknown issuer: no second try would help
    assert time.monotonic() - begin < 10


def test_no_way_from_https_to_http(driver, secure, scripted):
    server, environment = secure
    server.rule("GET", "/refs", redirect(f"{scripted.url}/api/kernels/a/b/refs"))
    server.rule("GET", "/resolve/", redirect(lambda handler: scripted.url + handler.path))
    assert "https to http" in driver.fails("HTTP", "refs", "kernel", "a/b", env=environment)
    assert "https to http" in driver.fails("HTTP", "fetch", "kernel", "a/b", "v1", env=environment)
    assert scripted.requests == []


def test_http_proxy(driver, scripted):
    environment = {"HTTP_PROXY": scripted.url, "HF_ENDPOINT": "http://hub.invalid"}
    driver.ok("refs", "kernel", "a/b", env=environment)
    assert scripted.requests[-1].path == "http://hub.invalid/api/kernels/a/b/refs"
    driver.fails("NETWORK", "refs", "kernel", "a/b", env={**environment, "NO_PROXY": "hub.invalid"})


def test_libcurl_is_opened_when_needed(driver, scripted, tmp_path):
    """A broken libcurl hurts nobody who sends no request; who does learns which package to install."""
    driver.ok("fetch", "kernel", "a/b", "v1")
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        (tmp_path / name).write_bytes(b"")
    broken = {"LD_LIBRARY_PATH": str(tmp_path)}
    driver.ok("snapshot", "kernel", "a/b", "v1", env=broken)
    assert "libcurl4" in driver.fails("MISSING_DEPENDENCY", "refs", "kernel", "a/b", env=broken)


# ---- the cache under difficulties ----

def test_read_only_cache(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1")
    before = cache_files(driver.cache)
    for folder, _, _ in os.walk(driver.cache):
        os.chmod(folder, 0o555)
    try:
        command = driver.command("fetch", "kernel", "a/b", COMMIT)
        if os.geteuid() == 0:  # root may write anywhere: run it without that right
            command = ["setpriv", "--bounding-set", "-dac_override", *command]
            assert subprocess.run(["setpriv", "--bounding-set", "-dac_override", "touch", driver.cache / "x"]).returncode
        done = subprocess.run(command, env=driver.environment, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
    finally:
        for folder, _, _ in os.walk(driver.cache):
            os.chmod(folder, 0o755)
    assert cache_files(driver.cache) == before


def test_truncated_blob_is_replaced(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1")
    (driver.cache / REPOSITORY / "blobs" / blob_name(LARGE)).write_bytes(b"cut")
    outcome = driver.ok("fetch", "kernel", "a/b", "v1")
    assert "wrong size" in outcome.errors
    assert cache_files(driver.cache) == expected_cache()


def test_blob_without_pointer(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1")
    (driver.cache / REPOSITORY / "snapshots" / COMMIT / LARGE).unlink()
    scripted.requests.clear()
    driver.ok("fetch", "kernel", "a/b", "v1")
    assert scripted.sent(part="/resolve/") == [] and cache_files(driver.cache) == expected_cache()


def test_without_symlinks(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1", env={"HF_HUB_DISABLE_SYMLINKS": "1"})
    expected = {f"{REPOSITORY}/snapshots/{COMMIT}/{path}": text.decode("latin-1") for path, text in FILES.items()}
    assert cache_files(driver.cache) == {**expected, f"{REPOSITORY}/refs/v1": COMMIT}


def test_shared_store_is_left_alone(driver, scripted):
    """blobs/<id> may be a link into a store of another tool: followed, never written through."""
    shared = driver.cache / "blobs" / "aa" / "content"
    shared.parent.mkdir(parents=True)
    shared.write_bytes(b"cut")
    blob = driver.cache / REPOSITORY / "blobs" / blob_name(LARGE)
    blob.parent.mkdir(parents=True)
    blob.symlink_to("../../blobs/aa/content")
    driver.ok("fetch", "kernel", "a/b", "v1", LARGE)
    assert shared.read_bytes() == b"cut" and blob.read_bytes() == FILES[LARGE] and not blob.is_symlink()


def test_many_processes(driver, scripted):
    """One download of each file, whoever comes first."""
    def slow(handler):
        time.sleep(0.3)
        return False

    scripted.rule("GET", "/resolve/", slow)
    processes = [subprocess.Popen(driver.command("fetch", "kernel", "a/b", "v1"), env=driver.environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    for process in processes:
        output = process.communicate(timeout=120)
        assert process.returncode == 0, output
    assert len(scripted.sent(part="/resolve/")) == len(FILES)
    assert cache_files(driver.cache) == expected_cache()


def test_killed_download_leaves_nothing_trusted(driver, scripted):
    def trickle(handler):
        content = handler.content()
        handler.begin(200, handler.file_headers(content))
        for i in range(0, len(content), 65536):
            handler.wfile.write(content[i:i + 65536])
            time.sleep(0.2)

    scripted.rule("GET", LARGE, trickle, times=1)
    process = subprocess.Popen(driver.command("fetch", "kernel", "a/b", "v1"), env=driver.environment,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    blobs = driver.cache / REPOSITORY / "blobs"
    deadline = time.monotonic() + 20
    while not list(blobs.glob("*.incomplete")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert not (blobs / blob_name(LARGE)).exists()
    driver.ok("fetch", "kernel", "a/b", "v1")
    files = {path: text for path, text in cache_files(driver.cache).items() if not path.endswith(".incomplete")}
    assert files == expected_cache()


def test_progress(driver):
    lines = [line for line in driver.ok("fetch", "kernel", "a/b", "v1", env={"DRIVER_PROGRESS": "1"}).errors.splitlines()
             if line.startswith("progress: ")]
    total = sum(map(len, FILES.values()))
    assert f"progress: all {total}/{total}" in lines
    assert f"progress: {LARGE} {len(FILES[LARGE])}/{len(FILES[LARGE])}" in lines
    quiet = driver.ok("fetch", "kernel", "a/b", "main", env={"DRIVER_PROGRESS": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"})
    assert "progress:" not in quiet.errors


# ---- the system fails ----

@pytest.mark.parametrize("point, expected", [("open", "NO_SPACE"), ("write", "NO_SPACE"), ("sync", ""), ("rename", "")])
def test_file_system_fails(driver, scripted, point, expected):
    """The n-th call fails: one message, nothing half-written, and the next run puts it right."""
    refused = 0
    for n in range(1, 20):
        outcome = driver.run("fetch", "kernel", "a/b", "v1", env={"DRIVER_FAULT": f"{point} {n}"})
        if outcome.code == 1:
            refused += 1
            assert outcome.failure.startswith(expected) and "cannot" in outcome.failure
        for path, text in cache_files(driver.cache).items():
            assert text == expected_cache().get(path), path
        if outcome.code == 0 and cache_files(driver.cache) == expected_cache() and n > 6:
            break
        subprocess.run(["rm", "-rf", driver.cache], check=True)
    assert refused >= 3
    driver.ok("fetch", "kernel", "a/b", "v1")
    assert cache_files(driver.cache) == expected_cache()


def test_memory_runs_out(driver, scripted):
    """The n-th allocation fails, wherever that is."""
    seen = set()
    for n in range(1, 1200, 31):
        outcome = driver.run("fetch", "kernel", "a/b", "v1", env={"DRIVER_FAULT": f"allocate {n}"})
        seen.add(outcome.failure.split(" ")[0])
        for path, text in cache_files(driver.cache).items():
            assert text == expected_cache().get(path), path
        if outcome.code == 0 and n > 600:
            break
    assert "NO_MEMORY" in seen
    driver.ok("fetch", "kernel", "a/b", "v1")
    assert cache_files(driver.cache) == expected_cache()


# ---- several connections for one file ----

SLOW = 24 << 20  # bytes


@pytest.fixture
def slow(scripted):
    """A file that takes three seconds over one connection."""
    scripted.files = {LARGE: random.Random(1).randbytes(SLOW)}
    scripted.pause, scripted.piece = 0.125, 1 << 20
    return scripted


def check_slow(driver, slow):
    content = slow.files[LARGE]
    folder = driver.cache / REPOSITORY
    assert (folder / "blobs" / sha256(content)).read_bytes() == content
    assert list((folder / "blobs").glob("*.incomplete")) == []


def ranges(slow):
    return [request.headers.get("range") for request in slow.sent(part=LARGE)]


def test_parts(driver, slow):
    driver.ok("fetch", "kernel", "a/b", "v1")
    check_slow(driver, slow)
    first, *parts = ranges(slow)
    assert first is None and parts and all(re.fullmatch(r"bytes=\d+-\d+", part) for part in parts)


def test_parts_that_break_off(driver, slow):
    """Each connection goes on where it was."""
    def break_off(handler):
        if handler.request.headers.get("range", "-").endswith("-"):
            return False  # not the first connection
        return drop(after=1 << 20)(handler)

    slow.rule("GET", LARGE, break_off, times=3)
    driver.ok("fetch", "kernel", "a/b", "v1")
    check_slow(driver, slow)
    assert len(ranges(slow)) >= 3


def test_parts_of_a_server_without_ranges(driver, slow):
    slow.ignores_ranges = True
    driver.ok("fetch", "kernel", "a/b", "v1")
    check_slow(driver, slow)
    assert len(ranges(slow)) == 2  # what does not work is not tried with more connections


def test_parts_with_wrong_bytes(driver, slow):
    def lie(handler):
        if handler.request.headers.get("range") is None:
            return False
        content = handler.content()
        start, end = handler.range_start(), handler.range_end(content)
        handler.begin(206, handler.file_headers(content, start))
        handler.wfile.write(bytes(end - start))

    slow.rule("GET", LARGE, lie)
    driver.fails("INTEGRITY", "fetch", "kernel", "a/b", "v1")
    assert_nothing_stored(driver)


def test_restart_beside_parts(driver, slow):
    """The first connection breaks off and the server then starts it from the first byte: hashes start anew as well."""
    requests = []

    def first_breaks(handler):
        requests.append(handler.request.headers.get("range"))
        content = handler.content()
        if requests[-1] is None:
            handler.begin(200, handler.file_headers(content))
            for i in range(0, 10 << 20, 1 << 20):
                time.sleep(0.125)
                handler.wfile.write(content[i:i + (1 << 20)])
            handler.close_connection = True
            handler.connection.shutdown(2)
            return None
        if requests[-1].startswith("bytes=10485760-"):
            slow.ignores_ranges = True
            handler.begin(200, handler.file_headers(content))
            slow.ignores_ranges = False
            handler.wfile.write(content)
            return None
        return False

    slow.rule("GET", LARGE, first_breaks)
    driver.ok("fetch", "kernel", "a/b", "v1")
    check_slow(driver, slow)


def test_trace_ids(driver, scripted):
    driver.ok("fetch", "kernel", "a/b", "v1")
    ids = [request.headers["x-amzn-trace-id"] for request in scripted.requests]
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", one) for one in ids)
    assert len(set(ids)) == len(ids)
