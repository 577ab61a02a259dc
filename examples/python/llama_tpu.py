# SPDX-License-Identifier: Apache-2.0
"""A small Llama of transformers whose RMSNorm layers are a TPU kernel of the Hub, on a machine without a TPU.

    pip install torch transformers xla-cpu-pjrt jax kernels
    python llama_tpu.py

The model keeps its weights and its code; kernelize puts the kernel's forward in the place of the layers' own. On a TPU leave out
kernels.simulate and move model and tokens to "tpu".
"""
import kernels
import torch
from kernels import LayerRepository, Mode, kernelize, use_kernel_mapping
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.utils import is_kernels_available

assert is_kernels_available(), "transformers does not find this package"

own_calls = 0
own_forward = LlamaRMSNorm.forward


def counted(self, hidden_states):
    global own_calls
    own_calls += 1
    return own_forward(self, hidden_states)


LlamaRMSNorm.forward = counted

torch.manual_seed(0)
config = LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                     vocab_size=256, rms_norm_eps=1e-6)
model = LlamaForCausalLM(config).eval()
tokens = torch.arange(24).reshape(2, 12)
with torch.no_grad():
    want = model(tokens).logits
print(f"before: the layers' own forward was called {own_calls} times")

kernels.simulate("tpu")
own_calls = 0
with use_kernel_mapping(
    {"RMSNorm": {"tpu": LayerRepository("kernels-test/rmsnorm-tpu", layer_name="RMSNorm", version=1)}}, inherit_mapping=False
):
    model = kernelize(model, mode=Mode.INFERENCE, device="tpu")
with torch.no_grad():
    got = model(tokens).logits
difference = float((got - want).abs().max() / want.abs().max())
assert own_calls == 0, "a layer kept its own forward"
assert difference < 1e-4, f"the results differ by {difference}"
print(f"after: {own_calls} times; all norms were the TPU kernel, simulated; results differ by {difference:.1e} of the largest")
