# SPDX-License-Identifier: Apache-2.0
"""The formats of the Kernel Hub under the name they had as a package of their own; they live in kernels._rust."""

from kernels._rust import *
from kernels._rust import __all__, __version__
