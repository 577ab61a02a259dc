# SPDX-License-Identifier: Apache-2.0
"""Attributes are put in by tests: `tpu` makes this process one with a TPU."""
