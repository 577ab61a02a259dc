#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the project's own C and C++ files, each ended by a NUL byte, for xargs -0."""
import sys

import c_source

for path in c_source.files(c_source.ROOT):
    if "dlpack" not in path.parts:  # kept as its authors wrote it
        sys.stdout.write(f"{path.relative_to(c_source.ROOT)}\0")
