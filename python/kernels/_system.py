# SPDX-License-Identifier: Apache-2.0
"""The C library of this process."""

import os


def glibc_version() -> str | None:
    """"2.36"; None when the C library is another one."""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION")  # "glibc 2.36"
    except (AttributeError, ValueError, OSError):
        return None
    name, _, version = (text or "").partition(" ")
    return version or None if name == "glibc" else None
