# SPDX-License-Identifier: Apache-2.0
"""RMS normalisation for Google TPU: a Pallas kernel as a torch op."""

from . import layers
from .op import rmsnorm

__all__ = ["layers", "rmsnorm"]
