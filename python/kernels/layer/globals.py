# SPDX-License-Identifier: Apache-2.0
"""The mapping that is current, and the switch that turns all of it off."""

import os
from contextvars import ContextVar

from kernels.layer._mapping import KernelMapping

_TRUE = frozenset(("true", "yes", "on"))
_FALSE = frozenset(("", "false", "no", "off"))

_PROCESS_MAPPING = KernelMapping()

_KERNEL_MAPPING: ContextVar[KernelMapping] = ContextVar("_KERNEL_MAPPING", default=_PROCESS_MAPPING)
"""Until something sets it, every thread and task sees the one mapping of the process."""


def _is_disabled(text: str) -> bool:
    """DISABLE_KERNEL_MAPPING: a number, or one of true yes on false no off in any case."""
    word = text.strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    try:
        return bool(int(word))
    except ValueError:
        import logging

        logging.getLogger(__name__).warning(
            "DISABLE_KERNEL_MAPPING=%s is ignored: expected 1, 0, true, false, yes, no, on or off", text
        )
        return False


_DISABLE_KERNEL_MAPPING: bool = _is_disabled(os.environ.get("DISABLE_KERNEL_MAPPING", ""))
