# SPDX-License-Identifier: Apache-2.0
"""Which device a test may use: what decides about the mark `tpu_only` (conftest.py). Needs nothing but the torch it is
given, so that it can be run in the interpreter that has one."""


def usable_tpu(torch) -> str | None:
    """None when there is a TPU that can be computed on, else why not.

    A TPU is torch's private back end under the name `tpu`, with a device that torch.accelerator counts. `torch.tpu` is not
    asked: torch_tpu 0.2.0 has it without a TPU as well, and raises from torch.tpu.is_available() and device_count().
    """
    ask = getattr(torch._C, "_get_privateuse1_backend_name", None)
    name = ask() if ask else None
    if name != "tpu":
        return f"no TPU: the private back end of torch is {name}"
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or accelerator.type != "tpu":
        return f"no TPU: the accelerator of torch is {accelerator}"
    return None if torch.accelerator.device_count() > 0 else "no TPU: torch counts none"
