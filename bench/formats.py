# SPDX-License-Identifier: Apache-2.0
"""One side of the benchmarks of the formats: kernels._rust and kernels.variants of whichever `kernels` is importable.

    formats.py digest FOLDER RUNS       Digest.hash_variant, on one core
    formats.py build FOLDER RUNS        Build.open
    formats.py variants - RUNS          resolve_variants of 1,000 variants

Prints the seconds of each run, a line each; one run before is not counted. Seconds of the processor, so that other
programs on the machine count little: files are in memory, nothing waits.
"""
import os
import sys
import time

from kernels._rust import Build, Digest, DigestAlgorithm


def resolution():
    """1,000 variants of 25 releases of torch and 40 of CUDA, parsed; resolving them is what is measured."""
    from kernels.variants import parse_variant, resolve_variants

    names = [f"torch2{torch}-cxx11-cu{cuda}-x86_64-linux" for torch in range(1, 26) for cuda in range(100, 140)]
    variants = [parse_variant(name) for name in names]
    return lambda: resolve_variants(variants)


what, folder, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
calls = {"digest": (lambda: Digest.hash_variant(DigestAlgorithm.SHA256, folder), 1),
         "build": (lambda: Build.open(folder), 200),  # so short that one call alone cannot be timed
         "variants": (resolution() if what == "variants" else None, 20)}
call, repeats = calls[what]
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
call()
for _ in range(runs):
    begin = time.process_time()
    for _ in range(repeats):
        call()
    print((time.process_time() - begin) / repeats)
