# SPDX-License-Identifier: Apache-2.0
"""Machines made of files and stand-ins for torch, for tests of what a process finds out about itself.

    torch_module(state)       a module that looks like an imported torch (fields of release17/tpu_detect.json, `dynamic`)
    Host(folder)              a machine below a folder: .root (its /sys, /dev, /etc), .packages (a folder for sys.path)
"""
import pathlib
import shutil
import struct
import subprocess
import sys
import types

TORCH = """
import os, types
from . import version
__version__ = getattr(version, "__version__", "2.15.0")
backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: False))
private_name = "privateuseone"
_C = types.SimpleNamespace(_get_privateuse1_backend_name=lambda: private_name)
def compiled_with_cxx11_abi(): return True
if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") == "1":
    from importlib.metadata import entry_points
    for point in entry_points(group="torch.backends"):
        point.load()()
"""

# torch_tpu before 0.2.0 sets torch.backends.tpu, later ones torch.tpu and, with a TPU, the private name.
TORCH_TPU = """
import torch
def start():
    if {old}:
        torch.backends.tpu = object()
        return
    torch.tpu = object()
    if {attached}:
        torch.private_name = "tpu"
"""


def torch_module(state: dict):
    torch = types.ModuleType("torch")
    torch.__version__ = "2.15.0"
    torch.version = types.SimpleNamespace(cuda=state.get("cuda"), hip=state.get("hip"), xpu=state.get("xpu"))
    torch.backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: state.get("mps", False)))
    torch._C = types.SimpleNamespace()
    torch.ops = types.SimpleNamespace()
    name = state.get("privateuse1")
    if name is not None:
        torch._C._get_privateuse1_backend_name = lambda: name
    device = types.SimpleNamespace(type=name if name == "tpu" else "cuda")
    torch.accelerator = types.SimpleNamespace(current_accelerator=lambda: device, device_count=lambda: int(name == "tpu"))
    if state.get("backends_tpu"):
        torch.backends.tpu = object()
    if state.get("neuron"):
        torch.neuron = object()
    if state.get("torch_tpu_module") or state.get("tpu_namespace"):
        torch.tpu = object()
    sys.modules.pop("torch_tpu", None)
    if state.get("torch_tpu_module"):
        sys.modules["torch_tpu"] = types.ModuleType("torch_tpu")
    sys.modules["torch"] = torch
    return torch


class Host:
    def __init__(self, folder):
        self.root = pathlib.Path(folder) / "root"
        self.packages = pathlib.Path(folder) / "packages"
        self.root.mkdir(parents=True)
        self.packages.mkdir()

    def _write(self, path: pathlib.Path, text: str = ""):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add_node(self, path: str):
        self._write(self.root / path.lstrip("/"))

    def add_pci_device(self, number: int, vendor: str, device: str, group: str | None):
        folder = self.root / f"sys/bus/pci/devices/0000:00:{number:02}.0"
        self._write(folder / "vendor", f"{vendor}\n")
        self._write(folder / "device", f"{device}\n")
        if group is not None:
            groups = self.root / "sys/kernel/iommu_groups" / group
            groups.mkdir(parents=True, exist_ok=True)
            (folder / "iommu_group").symlink_to(groups)

    def add_torch(self, version_file: str, abi: int | None = 1):
        self._write(self.packages / "torch/version.py", version_file)
        self._write(self.packages / "torch/__init__.py", TORCH)
        if abi is not None:
            self._write(self.packages / "torch/share/cmake/Torch/TorchConfig.cmake", f"-D_GLIBCXX_USE_CXX11_ABI={abi}\n")

    def add_backend_package(self, name: str, version: str, attached: bool):
        old = name == "torch_tpu" and version < "0.2"
        source = TORCH_TPU.format(old=old, attached=attached) if name == "torch_tpu" else "def start(): pass\n"
        self._write(self.packages / name / "__init__.py", source)
        info = self.packages / f"{name}-{version}.dist-info"
        self._write(info / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        self._write(info / "entry_points.txt", f"[torch.backends]\n{name} = {name}:start\n")

    def add_static(self, facts: dict):
        """A host of release17/tpu_detect.json, `static`."""
        self.add_torch(facts["version_py"].replace("cuda = os.getenv", "import os\ncuda = os.getenv"))
        known = {"0x005e", "0x0062", "0x0063", "0x006f", "0x0076"}
        devices = facts.get("pci", [])
        for number, device in enumerate(devices):
            self.add_pci_device(number, device["vendor"], device["device"], device["iommu_group"])
        for group in facts.get("vfio", []):
            self.add_node(f"/dev/vfio/{group}")
        for node in facts.get("nodes", []):
            self.add_node(node)
        attached = any(d["device"] in known and d["iommu_group"] in facts.get("vfio", []) for d in devices)
        for name in facts["entry_points"]:
            self.add_backend_package(name, facts.get("torch_tpu_version", "1.0") if name == "torch_tpu" else "1.0", attached)

    def add_cuda_runtime(self, library: dict | None):
        """A linker cache that names a runtime: {"version": 12080, "rc": 0}; with "dlopen": False its file is no library."""
        path = self.root / "libcudart.so.12"
        if library is None:
            return
        if library.get("dlopen") is False:
            self._write(path, "no library")
        else:
            source = f"int cudaRuntimeGetVersion(int *v) {{ *v = {library['version']}; return {library.get('rc', 0)}; }}"
            compiler = shutil.which("cc") or shutil.which("gcc") or "clang"
            subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=source, text=True, check=True)
        names = b"libcudart.so.12\0"
        header = b"glibc-ld.so.cache1.1" + struct.pack("<II", 1, 0) + bytes(20)
        entry = struct.pack("<iIIIQ", 3, 72, 72 + len(names), 0, 0)
        cache = self.root / "etc/ld.so.cache"
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_bytes(header + entry + names + bytes(path) + b"\0")
