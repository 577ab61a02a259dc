# SPDX-License-Identifier: Apache-2.0
"""What a kernelized model is used for."""

import enum
import sys

from kernels import _native

# The default of 3.11.4 and later; before it, Mode(16) was Mode(0).
_STRICT = {"boundary": enum.STRICT} if sys.version_info >= (3, 11) else {}


class Mode(enum.Flag, **_STRICT):
    """What a kernel is registered for, and what kernelize is asked for.

        kernels.kernelize(model, mode=Mode.INFERENCE | Mode.TORCH_COMPILE)

    A request is INFERENCE or TRAINING, alone or with TORCH_COMPILE. An inference request also takes kernels that were
    registered for training, never the reverse; a request with TORCH_COMPILE takes only what was registered with it. A
    repository that is registered without a mode, or for FALLBACK, serves what nothing else serves.

    ValueError: INFERENCE | TRAINING, and FALLBACK with anything else.
    """

    _NONE = 0
    FALLBACK = 1
    TRAINING = 2
    INFERENCE = 4
    TORCH_COMPILE = 8

    def __or__(self, other):
        if not isinstance(other, Mode):
            return NotImplemented
        return Mode(_native.mode_union(self.value, other.value))

    def __invert__(self):
        return Mode(15 - self.value)  # before 3.11 it was made with |
