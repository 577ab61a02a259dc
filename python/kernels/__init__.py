# SPDX-License-Identifier: Apache-2.0
"""Kernels of the Kernel Hub. kernels.native loads and calls them without torch."""

from kernels._native import version as __version__

__all__ = ["__version__"]
