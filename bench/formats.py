# SPDX-License-Identifier: Apache-2.0
"""One side of the benchmarks of the formats: kernels._rust of whichever `kernels` is importable.

    formats.py digest FOLDER RUNS       Digest.hash_variant, on one core
    formats.py build FOLDER RUNS        Build.open

Prints the seconds of each run, a line each; one run before is not counted. Seconds of the processor, so that other
programs on the machine count little: files are in memory, nothing waits.
"""
import os
import sys
import time

from kernels._rust import Build, Digest, DigestAlgorithm

what, folder, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
calls = {"digest": (lambda: Digest.hash_variant(DigestAlgorithm.SHA256, folder), 1),
         "build": (lambda: Build.open(folder), 200)}  # so short that one call alone cannot be timed
call, repeats = calls[what]
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
call()
for _ in range(runs):
    begin = time.process_time()
    for _ in range(repeats):
        call()
    print((time.process_time() - begin) / repeats)
