# /// script
# requires-python = ">=3.10"
# dependencies = ["kernels", "numpy", "torch"@example_dependencies@]
# ///
"""Runs the built kernel on a small tensor: `kernel-builder build-and-copy`, then `python example.py`."""
from pathlib import Path

import kernels
import torch

DEVICES = [@device_list@]

accelerator = torch.accelerator.current_accelerator(check_available=True)
if accelerator is None or accelerator.type not in DEVICES:
    raise SystemExit("this machine has none of the devices " + ", ".join(DEVICES))

kernel = kernels.get_local_kernel(Path("build"))
x = torch.arange(8 * 128, dtype=torch.float32).reshape(8, 128)
result = kernel.@python_name@(x.to(accelerator)).cpu()
assert torch.equal(result, x + 1), result
print("@python_name@ adds one on", accelerator)
