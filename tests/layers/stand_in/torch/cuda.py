# SPDX-License-Identifier: Apache-2.0
"""Built without CUDA."""


def is_available():
    return False


def current_device():
    raise AssertionError("Torch not compiled with CUDA enabled")


def get_device_capability(device=None):
    raise AssertionError("Torch not compiled with CUDA enabled")
