# SPDX-License-Identifier: Apache-2.0
import pytest

torch = pytest.importorskip("torch", reason="needs torch and torch_tpu")
kernels = pytest.importorskip("kernels", reason="needs the kernels package")


@pytest.fixture
def tpu():
    """The TPU, or a skipped test that says why there is none. torch.tpu is not asked: it raises in torch_tpu 0.2.0."""
    pytest.importorskip("torch_tpu", reason="needs torch_tpu")
    if torch._C._get_privateuse1_backend_name() != "tpu" or torch.accelerator.device_count() == 0:
        pytest.skip("no TPU on this machine")
    return torch.device("tpu")


@pytest.fixture
def kernel(tpu):
    return kernels.get_kernel("kernels-test/relu-tpu", version=1)


@pytest.mark.kernels_ci
def test_relu(kernel, tpu):
    x = torch.randn(16, 16)
    torch.testing.assert_close(kernel.relu(x.to(tpu)).cpu(), torch.relu(x))


@pytest.mark.kernels_ci
def test_layer(kernel, tpu):
    x = torch.randn(16, 16)
    torch.testing.assert_close(kernel.layers.ReLU()(x.to(tpu)).cpu(), torch.nn.ReLU()(x))
