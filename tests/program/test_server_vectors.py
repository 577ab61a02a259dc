# SPDX-License-Identifier: Apache-2.0
"""A recorded upload of the Python client, sent again to the embedded hub: the same answers but for ids and addresses."""
import json
import re

from server_http import ask

COMMIT = re.compile(r"[0-9a-f]{40}")
FREE = {"_id", "id", "lastModified", "tags"}  # each server's own


class Comparison:
    """Every member of the recorded answer is in ours; commit ids correspond one to one, blob ids are equal."""

    def __init__(self, url):
        self.url, self.ids, self.addresses = url, {}, {}

    def equal(self, recorded, ours, where):
        if isinstance(recorded, dict):
            assert isinstance(ours, dict), where
            folder = recorded.get("type") == "directory"  # whose id is free as well
            for key in recorded.keys() - FREE - ({"oid"} if folder else set()):
                assert key in ours, f"{where}.{key} is missing"
                if key == "href":
                    self.addresses[recorded[key].removeprefix("{ENDPOINT}")] = ours[key].removeprefix(self.url)
                else:
                    self.equal(recorded[key], ours[key], f"{where}.{key}")
        elif isinstance(recorded, list):
            assert len(recorded) == len(ours), where
            for i, (a, b) in enumerate(zip(recorded, ours)):
                self.equal(a, b, f"{where}[{i}]")
        elif isinstance(recorded, str):
            self.equal_text(recorded.replace("{ENDPOINT}", self.url), ours, where)
        else:
            assert recorded == ours, where

    def equal_text(self, recorded, ours, where):
        for a, b in zip(COMMIT.findall(recorded), COMMIT.findall(ours)):
            if re.search(r"ommit|sha$|Commit", where):
                assert self.ids.setdefault(a, b) == b, where
                recorded = recorded.replace(a, b)
        assert recorded == ours, where


def test_recorded_upload(start_hub, data):
    steps = json.loads((data / "loader" / "http" / "python_client_upload.json").read_text())["steps"]
    requests = [request for step in steps for request in step["requests"]]
    hub = start_hub("--token", "good:hf_good", "--lfs-threshold", "100", "--trusted", "acme")
    comparison = Comparison(hub.url)
    for number, request in enumerate(requests):
        where = f"{number}: {request['method']} {request['path']}"
        target = comparison.addresses.get(request["path"], request["path"])
        if request.get("query"):
            target += "?" + request["query"]
        body = request.get("body")
        body = None if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        answer = ask(hub.url, request["method"], target, body, request.get("headers"))
        expected = request["response"]
        assert answer.status == expected["status"], (where, answer.body)
        for name in expected.get("headers", {}):
            assert name in answer.headers, (where, name)
        if isinstance(expected.get("body"), (dict, list)):
            comparison.equal(expected["body"], answer.json(), where)
    assert len(comparison.ids) >= 4  # heads of main, two commits, the pull request
    refs = ask(hub.url, "GET", "/api/kernels/acme/new/refs").json()
    assert [one["name"] for one in refs["branches"]] == ["main", "v1"]
