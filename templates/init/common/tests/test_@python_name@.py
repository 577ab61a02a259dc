import kernels
import pytest
import torch

DEVICES = [@device_list@]


@pytest.fixture(scope="module")
def device():
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None or accelerator.type not in DEVICES:
        pytest.skip("this machine has none of the devices " + ", ".join(DEVICES))
    return accelerator


@pytest.fixture(scope="module")
def kernel(device):
    return kernels.get_kernel("@repo_id@", version=1)


@pytest.mark.kernels_ci
@pytest.mark.parametrize("shape", [(8, 128), (256, 1024)])
def test_@python_name@(kernel, device, shape):
    x = torch.randn(shape)
    assert torch.equal(kernel.@python_name@(x.to(device)).cpu(), x + 1)


@pytest.mark.kernels_ci
def test_layer(kernel, device):
    x = torch.randn(8, 128)
    assert torch.equal(kernel.layers.@class_name@()(x.to(device)).cpu(), x + 1)
