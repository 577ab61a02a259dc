# SPDX-License-Identifier: Apache-2.0
"""The plainest client of the Hub's write interface: puts small kernels on an embedded hub for the tests."""
import base64
import hashlib
import json
import urllib.error
import urllib.request


def _post(url: str, body: bytes, content_type="application/json") -> bytes:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": content_type}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        raise AssertionError(f"POST {url}: {error.code} {error.read()!r}") from error


def create_repository(hub: str, repo_id: str) -> None:
    owner, name = repo_id.split("/")
    _post(f"{hub}/api/repos/create", json.dumps({"name": name, "organization": owner, "type": "kernel"}).encode())


def create_branch(hub: str, repo_id: str, branch: str) -> None:
    _post(f"{hub}/api/kernels/{repo_id}/branch/{branch}", b"{}")


def commit(hub: str, repo_id: str, branch: str, files: dict[str, str | bytes | None]) -> str:
    """Commits files (None deletes one) and returns the id of the commit."""
    lines = [{"key": "header", "value": {"summary": "test", "description": ""}}]
    for path, content in files.items():
        if content is None:
            lines.append({"key": "deletedFile", "value": {"path": path}})
            continue
        data = content.encode() if isinstance(content, str) else content
        lines.append({"key": "file", "value": {"path": path, "content": base64.b64encode(data).decode(),
                                               "encoding": "base64"}})
    body = "".join(json.dumps(line) + "\n" for line in lines).encode()
    answer = _post(f"{hub}/api/kernels/{repo_id}/commit/{branch}", body, "application/x-ndjson")
    return json.loads(answer)["commitOid"]


def publish(hub: str, repo_id: str, branches: dict[str, dict[str, str | bytes]]) -> dict[str, str]:
    """Makes a repository with these files on these branches; returns branch -> commit."""
    create_repository(hub, repo_id)
    for branch in branches:
        if branch != "main":
            create_branch(hub, repo_id, branch)
    return {branch: commit(hub, repo_id, branch, files) for branch, files in branches.items() if files}


def metadata(name="stub", backend="cpu", version=1, files: dict[str, str | bytes] | None = None, **more) -> str:
    """Text of a metadata.json; with files it has their digest."""
    document = {"name": name, "id": f"_{name.replace('-', '_')}_{backend}_abc1234", "version": version,
                "license": "Apache-2.0", "python-depends": [], "backend": {"type": backend}, **more}
    if files is not None:
        hashes = {}
        for path, content in sorted(files.items()):
            data = content.encode() if isinstance(content, str) else content
            hashes[path] = base64.b64encode(hashlib.sha256(data).digest()).decode()
        document["digest"] = {"algorithm": "sha256", "files": hashes}
    return json.dumps(document)


def variant(folder: str, files: dict[str, str | bytes] | None = None, digest=True, **more) -> dict[str, str | bytes]:
    """Files of build/<folder>/ with a metadata.json (see metadata())."""
    files = {"__init__.py": "def hello():\n    return 1\n"} if files is None else files
    text = metadata(files=files if digest else None, **more)
    return {f"build/{folder}/{path}": content for path, content in {**files, "metadata.json": text}.items()}
