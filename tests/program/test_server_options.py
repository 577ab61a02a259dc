# SPDX-License-Identifier: Apache-2.0
"""The embedded hub: tokens that stay, HTTPS, renamed repositories, clients that take their time."""
import http.client
import json
import socket
import ssl
import stat
import subprocess
import time

import pytest
from server_http import address, ask, commit, create, file, lines


# ---- tokens ----

def test_tokens_that_stay(run, programs, start_hub, tmp_path):
    store = tmp_path / "store"
    token = run(programs.kernels_serve, store, "--add-token", "alice").stdout.strip()
    reader = run(programs.kernels_serve, store, "--add-token", "bob:ro").stdout.strip()
    assert token.startswith("hf_") and len(token) == 43 and token != reader
    assert stat.S_IMODE((store / "tokens").stat().st_mode) == 0o600
    assert token not in (store / "tokens").read_text() and reader not in (store / "tokens").read_text()

    def status(hub, value):
        headers = {"Authorization": f"Bearer {value}"} if value else {}
        body = json.dumps({"name": "x", "organization": "acme", "type": "kernel"})
        return ask(hub.url, "POST", "/api/repos/create", body, headers).status

    hub = start_hub("--token", "carol:secret", directory=store)
    assert [status(hub, value) for value in (token, "secret", reader, "wrong", None)] == [200, 409, 403, 401, 401]
    hub.stop()
    run(programs.kernels_serve, store, "--remove-token", "alice")
    hub = start_hub(directory=store)
    assert [status(hub, value) for value in (token, reader)] == [401, 403]
    done = run(programs.kernels_serve, store, "--remove-token", "alice", check=False)
    assert done.returncode == 1 and "alice" in done.stderr


def test_a_token_that_stays_opens_the_network(run, programs, start_hub, tmp_path):
    run(programs.kernels_serve, tmp_path / "store", "--add-token", "alice")
    hub = start_hub("--host", "0.0.0.0", directory=tmp_path / "store")
    assert hub.url.startswith("http://0.0.0.0:")


@pytest.mark.parametrize("text, expected", [("alice", "line 1"), ("alice rw 12\n", "line 1"),
                                            ("\na/b rw " + "0" * 64 + "\n", "line 2"), ("a xx " + "0" * 64, "line 1")])
def test_damaged_files_of_tokens(run, programs, tmp_path, text, expected):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "tokens").write_text(text)
    done = run(programs.kernels_serve, tmp_path / "store", check=False)
    assert done.returncode == 1 and expected in done.stderr and done.stdout == ""


def test_names_of_tokens(run, programs, tmp_path):
    done = run(programs.kernels_serve, tmp_path / "store", "--add-token", "a/b", check=False)
    assert done.returncode == 2 and "NAME" in done.stderr


# ---- HTTPS ----

@pytest.fixture
def certificate(tmp_path):
    files = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                    "-out", files[0], "-keyout", files[1]], check=True, capture_output=True)
    return files


def test_https(start_hub, certificate):
    hub = start_hub("--tls-cert", certificate[0], "--tls-key", certificate[1], "--page-size", "1")
    assert hub.url.startswith("https://127.0.0.1:")
    context = ssl.create_default_context(cafile=certificate[0])
    connection = http.client.HTTPSConnection(*address(hub.url), context=context, timeout=60)

    def request(method, target, body=None):
        connection.request(method, target, body=body)
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    content = bytes(range(256)) * 4096
    assert request("POST", "/api/repos/create", b'{"name":"d","organization":"acme","type":"kernel"}')[0] == 200
    assert request("POST", "/api/kernels/acme/d/commit/main", lines(file("a", content), file("b", b"")))[0] == 200
    assert request("GET", "/kernels/acme/d/resolve/main/a")[2] == content
    _, headers, _ = request("GET", "/api/kernels/acme/d/tree/main")
    assert headers["Link"].startswith(f"<{hub.url}/api/")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        http.client.HTTPSConnection(*address(hub.url), timeout=60).request("GET", "/")  # unknown certificate


def test_wrong_certificates(run, programs, certificate, tmp_path):
    other = tmp_path / "other.pem"
    other.write_text("nonsense")
    store = tmp_path / "store"
    for options, code, expected in ((["--tls-cert", certificate[0]], 2, "--tls-key"),
                                    (["--tls-cert", tmp_path / "none", "--tls-key", certificate[1]], 1, "none"),
                                    (["--tls-cert", other, "--tls-key", certificate[1]], 2, "PEM")):
        done = run(programs.kernels_serve, store, *options, check=False)
        assert done.returncode == code and expected in done.stderr and done.stdout == ""


# ---- renamed repositories ----

def test_aliases(start_hub, environment):
    hub = start_hub("--alias", "old/demo=acme/demo", "--alias", "solo=acme/demo")
    create(hub.url, "acme/demo")
    commit(hub.url, "acme/demo", file("a b", b"1"))
    for target, expected in (("/kernels/old/demo/resolve/main/a%20b?x=1", "/kernels/acme/demo/resolve/main/a%20b?x=1"),
                             ("/api/kernels/old/demo/tree/main", "/api/kernels/acme/demo/tree/main"),
                             ("/api/kernels/solo/refs", "/api/kernels/acme/demo/refs"),
                             ("/api/kernels/old/demo", "/api/kernels/acme/demo")):
        answer = ask(hub.url, "GET", target)
        assert answer.status == 307 and answer.headers["Location"] == expected
        assert ask(hub.url, "GET", expected).status == 200
    answer = ask(hub.url, "POST", "/kernels/old/demo.git/info/lfs/objects/batch", b"{}")
    assert answer.status == 307 and answer.headers["Location"] == "/kernels/acme/demo.git/info/lfs/objects/batch"
    assert ask(hub.url, "GET", "/api/kernels/old/demolition").status == 401  # only the whole name


@pytest.mark.parametrize("alias", ["a/b", "a/b=", "a/b=a/b", "a/../b=c/d", "a/b=c d"])
def test_wrong_aliases(run, programs, tmp_path, alias):
    done = run(programs.kernels_serve, tmp_path / "store", "--alias", alias, check=False)
    assert done.returncode == 2 and "OLD=NEW" in done.stderr


# ---- time ----

def closed_after(s, pieces, pause):
    """Sends piece after piece; seconds until the server hangs up."""
    started = time.monotonic()
    s.settimeout(pause)
    for piece in pieces:
        try:
            s.sendall(piece)
            if s.recv(1000) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - started


def test_slow_senders(start_hub):
    hub = start_hub("--timeout", "2")
    create(hub.url, "acme/demo")
    head = b"POST /api/kernels/acme/demo/commit/main HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    for first, piece in ((b"", b""),  # silent
                         (b"GET /api/whoami-v2 HTTP/1.1\r\n", b"X: y\r\n"),  # one header a moment
                         (b"GET /", b"x"),  # one byte of the address a moment
                         (head, b"x")):  # one byte of the body a moment
        with socket.create_connection(address(hub.url)) as s:
            assert closed_after(s, [first] + [piece] * 100, 0.25) < 15, first
    # a connection that served a request before has no more patience coming
    with socket.create_connection(address(hub.url)) as s:
        s.sendall(b"GET /api/whoami-v2 HTTP/1.1\r\nHost: x\r\n\r\n")
        s.recv(4000)
        assert closed_after(s, [b"G"] + [b"E"] * 100, 0.25) < 20
    answer = commit(hub.url, "acme/demo", file("a", b"1"))  # others are served
    assert answer.status == 200
