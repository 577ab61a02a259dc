# SPDX-License-Identifier: Apache-2.0
"""ReLU for Google TPU: a Pallas kernel as a torch op."""

from . import layers
from .op import relu

__all__ = ["layers", "relu"]
