# SPDX-License-Identifier: Apache-2.0
"""Eight processes fill one cache and are killed at random: what has a name is right, and nobody waits for the dead.

Few rounds by default; `./run test --full` runs a hundred, with locks that work and with locks that lie.
"""
import os
import random
import signal
import subprocess
import time

import pytest
from conftest import FULL
from hub_fixtures import Driver, cache_files, preload
from scripted_hub import COMMIT, ScriptedHub, git_blob, sha256

PROCESSES = 8
PATIENCE = 30  # seconds that the living may take once the killing is over; they need about one
FILES = {**{f"build/torch-cpu/f{i}": b"%d" % i * 5000 for i in range(6)}, "build/torch-cpu/large": os.urandom(1 << 20)}
LARGE = "build/torch-cpu/large"


@pytest.fixture
def scripted():
    with ScriptedHub(FILES, {LARGE}) as server:
        server.pause, server.piece = 0.01, 65536  # a download takes long enough to be killed in it
        yield server


def start(driver, env) -> list[subprocess.Popen]:
    return [subprocess.Popen(driver.command("fetch", "kernel", "a/b", "v1"), env={**driver.environment, **env},
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(PROCESSES)]


def check_published(driver) -> int:
    """Every name says the truth; the number of blobs."""
    blobs = 0
    for path, text in cache_files(driver.cache).items():
        if path.endswith((".incomplete", ".tmp")) or "/.kernels/" in path:
            continue
        name = path.rsplit("/", 1)[1]
        if "/blobs/" in path:
            content = text.encode("latin-1")
            assert name == (sha256(content) if len(name) == 64 else git_blob(content)), path
            blobs += 1
        elif "/refs/" in path:
            assert text == COMMIT
        else:
            assert (driver.cache / path).read_bytes() == FILES[path.split("/", 3)[3]], path
    return blobs


def one_round(driver, env, chance: random.Random) -> tuple[int, float]:
    """Number of killed processes, seconds until the last of the others was done."""
    processes = start(driver, env)
    victims = chance.sample(processes, chance.randint(1, PROCESSES - 1))
    for victim in victims:
        time.sleep(chance.uniform(0, 0.25))
        victim.send_signal(signal.SIGKILL)
    over = time.monotonic()
    for process in processes:
        code = process.wait(PATIENCE)
        assert code == 0 or (process in victims and code == -signal.SIGKILL), code
    return sum(process.returncode != 0 for process in processes), time.monotonic() - over


@pytest.mark.longer
@pytest.mark.parametrize("locks", ["working", "lying"])
def test_killed_at_random(locks, build_dir, tmp_path, scripted, record_property, capsys):
    rounds = 100 if FULL else 6
    env = preload(build_dir, FAULT_CALLS="flock", FAULT_ERRNO="lie") if locks == "lying" else {}
    chance = random.Random(20260830)
    killed = published = requests = 0
    longest = 0.0
    for number in range(rounds):
        driver = Driver(build_dir / "tests" / "hub_driver", tmp_path / f"home{number}", scripted.url)
        dead, seconds = one_round(driver, env, chance)
        killed, longest = killed + dead, max(longest, seconds)
        published += check_published(driver)
        requests += len(scripted.sent(part="/resolve/"))
        scripted.requests.clear()
        driver.ok("fetch", "kernel", "a/b", "v1", env=env)
        assert check_published(driver) == len(FILES)
        scripted.requests.clear()
    figures = {"rounds": rounds, "processes": rounds * PROCESSES, "killed": killed, "published blobs checked": published,
               "longest wait of a living process, s": round(longest, 2), "file requests a round": round(requests / rounds, 1)}
    record_property("kill test", f"{locks} locks: {figures}")
    with capsys.disabled():
        print(f"\nkill test, {locks} locks: {figures}")


def test_each_file_is_downloaded_once(build_dir, tmp_path, scripted):
    driver = Driver(build_dir / "tests" / "hub_driver", tmp_path / "home", scripted.url)
    for process in start(driver, {}):
        assert process.wait(120) == 0
    assert len(scripted.sent(part="/resolve/")) == len(FILES)
    assert check_published(driver) == len(FILES)
    assert not any(path.endswith((".incomplete", ".tmp")) for path in cache_files(driver.cache))
