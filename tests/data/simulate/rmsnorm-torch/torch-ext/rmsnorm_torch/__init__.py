# SPDX-License-Identifier: Apache-2.0
"""RMS normalisation in plain torch, for every device."""

from . import layers

__all__ = ["layers"]
