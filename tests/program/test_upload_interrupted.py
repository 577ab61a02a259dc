# SPDX-License-Identifier: Apache-2.0
"""Uploads whose client or server is killed at any moment: the branch shows the old version or the new one, never
something between; the same upload again brings the new one and adds nothing twice. `./run test --full`: 50 rounds."""
import hashlib
import json
import random
import signal
import subprocess
import time

import pytest
from conftest import FULL
from server_http import ask

ROUNDS = 50 if FULL else 6
REPO = "me/demo"
SMALL = 40


class Version:
    """The files of one round: half of the small ones differ from round to round, some go and some come."""

    def __init__(self, number: int):
        metadata = {"name": "demo", "id": f"_demo_cpu_{number:07x}", "version": 1, "license": "MIT",
                    "python-depends": [], "kernel-depends": [], "backend": {"type": "cpu"}}
        self.files = {"metadata.json": json.dumps(metadata).encode(), "big.bin": random.Random(number).randbytes(6 << 20)}
        for i in range(SMALL):
            if (i + number) % 5:
                self.files[f"part{i}.py"] = b"%d" % (number if i % 2 else 0) * (i + 1)

    def write(self, folder):
        subprocess.run(["rm", "-rf", folder / "build"], check=True)
        variant = folder / "build" / "torch-cpu"
        variant.mkdir(parents=True)
        for name, content in self.files.items():
            (variant / name).write_bytes(content)

    @property
    def listing(self):
        return {f"build/torch-cpu/{name}": (len(content), hashlib.sha256(content).hexdigest())
                for name, content in self.files.items()}


def shown(url):
    """What the branch shows now: path -> size and hash, read file by file."""
    head = ask(url, "GET", f"/api/kernels/{REPO}/revision/v1").json()["sha"]
    found = {}
    for entry in ask(url, "GET", f"/api/kernels/{REPO}/tree/{head}?recursive=true").json():
        if entry["type"] == "file":
            content = ask(url, "GET", f"/kernels/{REPO}/resolve/{head}/{entry['path']}").body
            found[entry["path"]] = (entry["size"], hashlib.sha256(content).hexdigest())
    return found


def commits(store):
    done = subprocess.run(["git", "-C", store / "kernels" / "me" / "demo.git", "rev-list", "--count", "v1"], text=True,
                          capture_output=True, check=True)
    return int(done.stdout)


@pytest.mark.longer
@pytest.mark.parametrize("options", [[], ["--lfs-threshold", "1000", "--lfs-part-size", "2000000"]], ids=["commits", "lfs"])
def test_killed_at_any_moment(start_hub, programs, environment, run, tmp_path, options):
    store, folder, dice = tmp_path / "store", tmp_path / "kernel", random.Random(11)
    folder.mkdir()

    def start():
        return start_hub(*options, directory=store)

    def upload(hub):
        env = {**environment, "HF_ENDPOINT": hub.url}
        return subprocess.Popen([programs.kernel_builder, "upload", folder, "--repo-id", REPO], env=env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    hub, old = start(), Version(0)
    old.write(folder)
    started = time.monotonic()
    assert upload(hub).wait(120) == 0
    duration = time.monotonic() - started
    assert shown(hub.url) == old.listing
    count = commits(store)
    for number in range(1, ROUNDS + 1):
        new = Version(number)
        new.write(folder)
        client = upload(hub)
        time.sleep(dice.random() * duration * 1.1)
        victim = client if number % 2 else hub.process
        victim.send_signal(signal.SIGKILL)
        client.wait(120)
        if victim is hub.process:
            hub.process.wait()
            hub = start()
        seen = shown(hub.url)
        assert seen in (old.listing, new.listing), f"round {number}"
        # the server may still be about to commit what a killed client sent: then one who planned before it is refused
        assert 0 in (upload(hub).wait(120) for _ in range(3)), f"round {number}"
        assert shown(hub.url) == new.listing, f"round {number}"
        count += 1
        assert commits(store) == count, f"round {number}: a version was committed twice"
        old = new
    assert hub.stop() == 0
    assert ": 0 problems" in run(programs.kernels_serve, store, "--check").stdout
    subprocess.run(["git", "-C", store / "kernels" / "me" / "demo.git", "fsck", "--full", "--strict"], check=True)
