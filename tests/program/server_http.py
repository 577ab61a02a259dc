# SPDX-License-Identifier: Apache-2.0
"""Raw requests to the embedded hub: exactly the bytes that a test wants to send."""
import base64
import http.client
import json
import socket
import urllib.parse


def address(url):
    parts = urllib.parse.urlsplit(url)
    return parts.hostname, parts.port


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


def ask(url, method, target, body=None, headers=None, timeout=60) -> Answer:
    """One request on a connection of its own; the target goes out as it is."""
    connection = http.client.HTTPConnection(*address(url), timeout=timeout)
    try:
        headers = headers or {}
        connection.request(method, target, body=body, headers=headers, encode_chunked="Transfer-Encoding" in headers)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def send_raw(url, data: bytes, timeout=30) -> bytes:
    """Sends bytes and reads until the server closes or falls silent for a second."""
    with socket.create_connection(address(url), timeout=timeout) as s:
        try:
            s.sendall(data)
        except OSError:
            pass  # refused early
        s.settimeout(2)
        got = b""
        try:
            while piece := s.recv(65536):
                got += piece
        except OSError:
            pass
        return got


def create(url, repo_id, **headers):
    owner, name = repo_id.split("/")
    answer = ask(url, "POST", "/api/repos/create",
                 json.dumps({"name": name, "organization": owner, "type": "kernel"}), headers)
    assert answer.status == 200, answer.body
    return answer


def lines(*operations, summary="test", parent=None) -> bytes:
    header = {"summary": summary, "description": ""} | ({"parentCommit": parent} if parent else {})
    rows = [{"key": "header", "value": header}, *operations]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def file(path, content: bytes):
    return {"key": "file", "value": {"content": base64.b64encode(content).decode(), "path": path,
                                     "encoding": "base64"}}


def commit(url, repo_id, *operations, revision="main", parent=None, headers=None) -> Answer:
    return ask(url, "POST", f"/api/kernels/{repo_id}/commit/{revision}", lines(*operations, parent=parent),
               {"Content-Type": "application/x-ndjson", **(headers or {})})
