# SPDX-License-Identifier: Apache-2.0
"""The pages of the embedded hub: as text, and in a real browser (./run test --full)."""
import html.parser
import json
import shutil
import subprocess
import zlib

import pytest
from server_http import ask, commit, create, file, lines

CARD = b"""---
license: mit
---
# Fast <activations>

See [the paper](https://example.org/paper), not [this](javascript:alert(1)).

<script>document.title = "taken over"</script>
<img src=x onerror="document.title = 'taken over'">

```python
y = relu(x) < 1
```
"""


def metadata(backend, archs=None):
    return json.dumps({"name": "demo", "id": "_demo_abc1234", "version": 1, "license": "Apache-2.0",
                       "python-depends": [], "kernel-depends": [],
                       "backend": {"type": backend, **({"archs": archs} if archs else {})}}).encode()


@pytest.fixture
def served(start_hub):
    hub = start_hub("--trusted", "acme")
    create(hub.url, "acme/demo")
    create(hub.url, "other/thing")
    commit(hub.url, "acme/demo", file("README.md", CARD))
    for version in ("v1", "v2", "v10"):
        assert ask(hub.url, "POST", f"/api/kernels/acme/demo/branch/{version}", b"{}").status == 201
    cuda = "build/torch29-cxx11-cu128-x86_64-linux"
    answer = commit(hub.url, "acme/demo", file("build/torch-tpu/metadata.json", metadata("tpu")),
                    file("build/torch-tpu/sub/a.py", b"x" * 2000), file(f"{cuda}/_demo.so", b"y" * 1500000),
                    file(f"{cuda}/metadata.json", metadata("cuda", ["8.0", "9.0a"])),
                    file("build/no variant/x", b"1"), file("build/torch-rocm/metadata.json", b"{broken"), revision="v10")
    assert answer.status == 200
    hub.head = answer.json()["commitOid"]
    return hub


class Page(html.parser.HTMLParser):
    """Tags are balanced; links, rows of tables, text."""

    VOID = {"meta", "link", "br", "hr"}

    def __init__(self, answer):
        super().__init__()
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
        self.open, self.links, self.rows, self.text, self.tags = [], [], [], "", set()
        self.feed(answer.body.decode())
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attributes)
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "a" and dict(attributes).get("href"):
            self.links.append(dict(attributes)["href"])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data.strip()


def test_list_of_kernels(served):
    answer = ask(served.url, "GET", "/")
    page = Page(answer)
    assert page.rows[1:] == [["acme/demo", "v10", ""], ["other/thing", "", ""]]
    assert page.links == ["/", "/kernels/acme/demo", "/kernels/other/thing"]
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src" not in policy and "unsafe" not in policy
    assert ask(served.url, "GET", "/style.css").headers["Content-Type"].startswith("text/css")
    assert ask(served.url, "HEAD", "/").body == b""


def test_page_of_a_kernel(served):
    page = Page(ask(served.url, "GET", "/kernels/acme/demo"))
    assert page.rows[1:] == [
        ["torch-rocm", "rocm", "", "", "1", "7 B"],
        ["torch-tpu", "tpu", "", "Apache-2.0", "2", "2.1 kB"],
        ["torch29-cxx11-cu128-x86_64-linux", "cu128", "8.0, 9.0a", "Apache-2.0", "2", "1.5 MB"]]
    assert page.links[1:4] == [f"/kernels/acme/demo/tree/{v}" for v in ("v2", "v1", "main")]  # v10 is shown
    assert "https://example.org/paper" in page.links and not any("javascript" in link for link in page.links)
    assert 'get_kernel("acme/demo", version=10)' in page.text and f"HF_ENDPOINT={served.url}" in page.text
    assert "trusted publisher" in page.text and served.head[:10] in page.text and "license: mit" not in page.text
    assert {"script", "img", "iframe", "form", "style"}.isdisjoint(page.tags)


def test_other_revisions(served):
    main = Page(ask(served.url, "GET", "/kernels/acme/demo/tree/main"))
    assert "no build variants" in main.text and 'revision="main"' in main.text
    assert 'version=2' in Page(ask(served.url, "GET", "/kernels/acme/demo/tree/v2")).text
    commit_page = Page(ask(served.url, "GET", f"/kernels/acme/demo/commit/{served.head}"))
    assert "torch-tpu" in commit_page.text
    pull = ask(served.url, "POST", "/api/kernels/acme/demo/commit/v10?create_pr=1", lines(file("n", b"1"))).json()
    page = Page(ask(served.url, "GET", pull["pullRequestUrl"].removeprefix(served.url)))
    assert "Pull requests:" in page.text
    untrusted = Page(ask(served.url, "GET", "/kernels/other/thing"))
    assert "trust_remote_code=True" in untrusted.text and "trusted publisher" not in untrusted.text
    for target in ("/kernels/acme/nothing", "/kernels/acme/demo/tree/nothing", "/kernels/acme/demo/discussions/9",
                   "/kernels/acme/demo/discussions/..%2Fheads%2Fmain", "/acme/demo"):
        assert ask(served.url, "GET", target).status in (401, 404), target


def test_private_repositories_are_not_listed(start_hub):
    hub = start_hub("--token", "me:secret", "--private", "acme/hidden")
    headers = {"Authorization": "Bearer secret"}
    for repo in ("acme/hidden", "acme/open"):
        create(hub.url, repo, **headers)
    assert [row[0] for row in Page(ask(hub.url, "GET", "/")).rows[1:]] == ["acme/open"]
    assert [row[0] for row in Page(ask(hub.url, "GET", "/", headers=headers)).rows[1:]] == ["acme/hidden", "acme/open"]
    assert ask(hub.url, "GET", "/kernels/acme/hidden").status == 401


def test_an_empty_hub_says_how_to_publish(hub):
    assert "kernel-builder upload" in Page(ask(hub, "GET", "/")).text


def test_long_lists_have_pages(start_hub):
    hub = start_hub()
    for i in range(103):
        create(hub.url, f"acme/k{i:03}")
    first = Page(ask(hub.url, "GET", "/"))
    assert len(first.rows) == 101 and first.links[-1] == "/kernels?after=acme/k099"
    assert [row[0] for row in Page(ask(hub.url, "GET", first.links[-1])).rows[1:]] == [f"acme/k{i}" for i in range(100, 103)]


# ---- in a browser ----

def colours(png: bytes) -> int:
    """How many different bytes a picture holds: an empty page has next to none."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    data, position = b"", 8
    while position < len(png):
        size = int.from_bytes(png[position:position + 4], "big")
        if png[position + 4:position + 8] == b"IDAT":
            data += png[position + 8:position + 8 + size]
        position += size + 12
    return len(set(zlib.decompress(data)))


@pytest.mark.full
def test_in_a_browser(served, tmp_path):
    browser = next((path for name in ("chromium-headless-shell", "chromium") if (path := shutil.which(name))), None)
    assert browser, "chromium is missing: ./run test --full installs it"

    def browse(target, *options):
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                               f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1100,1400", *options,
                               served.url + target], capture_output=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert b"CONSOLE" not in done.stderr, done.stderr  # refused scripts, missing files
        return done.stdout.decode()

    for target, title, expected in (("/", "Kernel hub", "acme/demo"),
                                    ("/kernels/acme/demo", "acme/demo", "torch29-cxx11-cu128-x86_64-linux")):
        document = browse(target, "--dump-dom")
        assert f"<title>{title}</title>" in document and expected in document
        assert "taken over" not in document.split("<body>")[0] and "<img" not in document
        picture = tmp_path / "page.png"
        browse(target, f"--screenshot={picture}")
        assert colours(picture.read_bytes()) > 50
