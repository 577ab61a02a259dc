# SPDX-License-Identifier: Apache-2.0
"""The device under test, and the machine around it. Nothing here imports torch: it is looked for where a script has."""

import platform
import subprocess
import sys

from .benchmark_results import MachineInfo

__all__ = ["collect_machine_info", "device_of", "synchronizer"]

UNKNOWN = "N/A"
SYSCTL_SECONDS = 5

# torch's names of devices, where they are not those of the backends
_DEVICES = {"rocm": "cuda", "metal": "mps", "cann": "npu"}


def loaded_torch():
    """The module torch if anything imported it, else None."""
    return sys.modules.get("torch")


def device_of(backend):
    """torch's device name for the name of a backend: "cuda" for "rocm"."""
    return _DEVICES.get(backend, backend)


def synchronizer(device):
    """(function that waits for the device, whether it really does)."""
    torch = loaded_torch()
    if torch is None or device == "cpu":
        return _nothing, True
    if is_accelerator(torch, device):  # some backends keep their own function to torch itself
        synchronize = torch.accelerator.synchronize
    else:
        synchronize = getattr(getattr(torch, device, None), "synchronize", None)
    return synchronize or _nothing, synchronize is not None


def _nothing():
    pass


def is_accelerator(torch, device):
    """Is it the one that torch.accelerator speaks of? Backends from outside torch need not have a module torch.<device>."""
    try:
        current = torch.accelerator.current_accelerator()
        return current is not None and current.type == device and hasattr(torch.accelerator, "synchronize")
    except (AttributeError, RuntimeError):
        return False


# ---- what the machine is called ----


def collect_machine_info(backend=None):
    """MachineInfo; backend None: detected."""
    torch = loaded_torch()
    backend = backend or detected_backend()
    gpu, label, cores = (UNKNOWN, "CPU", None) if torch is None else _device_facts(backend, torch)
    return MachineInfo(
        gpu=gpu,
        backend=label,
        pytorch_version=UNKNOWN if torch is None else str(torch.__version__),
        os=f"{platform.system()} {platform.release()}",
        cpu=_cpu_name(),
        gpu_cores=cores,
    )


def detected_backend():
    """Name of the backend that a kernel is loaded for."""
    from kernels.backends import _backend

    return _backend().name


def is_simulated(backend):
    """Do kernels of this backend run on CPU tensors (kernels.simulate)?"""
    from kernels._simulate import simulated

    return simulated() == backend


def _device_facts(backend, torch):
    """(name of the device, text of the backend, GPU cores or None)."""
    if is_simulated(backend):
        return UNKNOWN, f"{backend.upper()} (simulated)", None
    if backend == "cuda":
        return _name(torch, "cuda"), f"CUDA {torch.version.cuda}", None
    if backend == "rocm":
        return _name(torch, "cuda"), f"ROCm {torch.version.hip}", None
    if backend == "metal":
        chip, cores = _apple_gpu()
        return chip, "MPS", cores
    labels = {"xpu": "XPU", "cann": "NPU", "tpu": "TPU", "neuron": "Neuron"}
    if backend in labels:
        return _name(torch, device_of(backend)), labels[backend], None
    return UNKNOWN, "CPU", None


def _name(torch, device):
    """torch.<device>.get_device_name(0), or N/A: a name is not worth a failed benchmark."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a function is experimental is no news for who reads results
            return str(getattr(torch, device).get_device_name(0))
    except Exception:
        return _tpu_name() if device == "tpu" else UNKNOWN


def _tpu_name():
    from kernels import _native

    generation = _native.system_detect(None).get("tpu_generation")
    return f"TPU {generation}" if generation else UNKNOWN


def _apple_gpu():
    text = _output_of("ioreg", "-r", "-d", "1", "-c", "AGXAccelerator")
    values = {}
    for line in text.splitlines():
        key, equals, value = line.partition("=")
        if equals:
            values[key.strip(' |"')] = value.strip(' "')
    cores = values.get("gpu-core-count", "")
    return values.get("model", UNKNOWN), int(cores) if cores.isdigit() else None


def _cpu_name():
    if sys.platform == "darwin":
        name = _output_of("sysctl", "-n", "machdep.cpu.brand_string").strip()
    else:
        name = _proc_cpu_name()
    return name or platform.processor() or platform.machine() or "Unknown"


def _proc_cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return ""


def _output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SYSCTL_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
