# SPDX-License-Identifier: Apache-2.0
__version__ = "2.15.0+cpu"
cuda = None
hip = None
xpu = None
