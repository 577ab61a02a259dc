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
    return kernels.get_kernel("kernels-test/rmsnorm-tpu", version=1)


@pytest.mark.kernels_ci
def test_rmsnorm(kernel, tpu):
    x, weight = torch.randn(256, 1024), torch.randn(1024)
    want = torch.nn.functional.rms_norm(x, (1024,), weight, eps=1e-6)
    torch.testing.assert_close(kernel.rmsnorm(x.to(tpu), weight.to(tpu)).cpu(), want)


@pytest.mark.kernels_ci
def test_layer(kernel, tpu):
    x = torch.randn(2, 128, 1024)
    layer = torch.nn.RMSNorm(1024, eps=1e-6)
    want = layer(x)
    layer = layer.to(tpu)
    got = kernel.layers.RMSNorm.forward(layer, x.to(tpu))
    torch.testing.assert_close(got.cpu(), want)
