# SPDX-License-Identifier: Apache-2.0
"""A file system that fails at every call, through a preloaded library: nothing wrong is ever published, one message says
what happened, and the next run puts it right."""
import shutil

import pytest
from conftest import FULL
from hub_fixtures import Driver, cache_files, preload
from scripted_hub import ScriptedHub
from test_hub_download import FILES, LARGE, expected_cache

CALLS = "open,mkdir,pwrite,fsync,rename,symlink,ftruncate,close"


@pytest.fixture
def driver(build_dir, tmp_path):
    with ScriptedHub(FILES, {LARGE}) as server:
        yield Driver(build_dir / "tests" / "hub_driver", tmp_path / "home", server.url)


def check_cache(driver):
    """What has a name has the right content; nothing half done is left."""
    for path, text in cache_files(driver.cache).items():
        assert text == expected_cache().get(path), path


@pytest.mark.longer  # every call; else a part of them
@pytest.mark.parametrize("number", ["ENOSPC", "EIO"])
def test_every_call_fails_once(number, build_dir, driver):
    refused = 0
    step = 1 if FULL else 4 if number == "ENOSPC" else 5
    for nth in range(1, 200, step):
        faults = preload(build_dir, FAULT_CALLS=CALLS, FAULT_ERRNO=number, FAULT_NTH=nth, FAULT_BELOW=driver.cache)
        outcome = driver.run("fetch", "kernel", "a/b", "v1", env=faults)
        if "fault: " not in outcome.errors:
            break
        check_cache(driver)
        if outcome.code != 0:
            refused += 1
            assert outcome.failure.count("cannot") >= 1
            assert ("NO_SPACE" in outcome.failure) == (number == "ENOSPC"), outcome.failure
        shutil.rmtree(driver.cache, ignore_errors=True)
    assert 30 < nth < 190 and refused > 20 / step, (nth, refused)
    driver.ok("fetch", "kernel", "a/b", "v1")
    assert cache_files(driver.cache) == expected_cache()


@pytest.mark.parametrize("mode, calls", [("EINTR", "pwrite,fsync,close,flock,read"), ("short", "pwrite,read")])
def test_interrupted_and_short_calls_change_nothing(mode, calls, build_dir, driver):
    faults = preload(build_dir, FAULT_CALLS=calls, FAULT_ERRNO=mode, FAULT_BELOW=driver.cache)
    assert "fault: pwrite" in driver.ok("fetch", "kernel", "a/b", "v1", env=faults).errors
    assert cache_files(driver.cache) == expected_cache()


@pytest.mark.parametrize("number", ["ENOLCK", "EOPNOTSUPP"])
def test_locks_that_do_not_exist(number, build_dir, driver):
    faults = preload(build_dir, FAULT_CALLS="flock", FAULT_ERRNO=number)
    assert "fault: flock" in driver.ok("fetch", "kernel", "a/b", "v1", env=faults).errors
    assert cache_files(driver.cache) == expected_cache()


@pytest.mark.parametrize("number", ["EOPNOTSUPP"])
def test_links_that_do_not_exist(number, build_dir, driver):
    """A file system without symbolic links: real files stand in the snapshot."""
    faults = preload(build_dir, FAULT_CALLS="symlink", FAULT_ERRNO=number)
    driver.ok("fetch", "kernel", "a/b", "v1", env=faults)
    found = cache_files(driver.cache)
    assert {path.partition("/snapshots/")[2].partition("/")[2]: text.encode("latin-1") for path, text in found.items()
            if "/snapshots/" in path} == FILES
    assert not any("/blobs/" in path for path in found)
    outcome = driver.ok("fetch", "kernel", "a/b", "v1", env=faults)
    assert outcome.requests == 2 and "fault: symlink" not in outcome.errors
