# SPDX-License-Identifier: Apache-2.0
"""As much of torch as kernels.layer and its tests touch, for where torch is not installed. There are no tensors: the
tests calculate with plain numbers."""
__version__ = "2.15.0+cpu"


class device:
    def __init__(self, text):
        self.type, _, index = text.partition(":")
        self.index = int(index) if index else None


class Tensor:
    def __init__(self, *size, device="cpu"):
        self.size = size
        self.device = device if not isinstance(device, str) else globals()["device"](device)

    def to(self, device):
        return type(self)(*self.size, device=device)


relu = max  # a builtin that tells no signature, as torch.relu


def compiled_with_cxx11_abi():
    return True


from . import backends, cuda, nn, version  # noqa: E402, F401
