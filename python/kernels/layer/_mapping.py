# SPDX-License-Identifier: Apache-2.0
"""The native mapping with the face of a dictionary: {layer name: {device type: DeviceRepos}}."""

from collections.abc import Mapping

from kernels import _native
from kernels.layer.repos import DeviceRepos, _class_of, _entry


class KernelMapping(Mapping):
    """Which repository stands in for a layer, to be read as a dictionary of dictionaries.

    mapping["RMSNorm"]["tpu"].repos[Mode.FALLBACK]

    Any number of threads may read it while one registers: a reader sees all of a registration or nothing of it.
    """

    def __init__(self, _native_mapping=None):
        self.native = _native_mapping or _native.LayerMapping()

    def copy(self) -> "KernelMapping":
        """An independent one with the same repositories; takes no longer for a large mapping."""
        return KernelMapping(self.native.copy())

    def register(self, mapping: dict, clear: bool = False) -> None:
        """All of {layer name: {device: repository or {mode: repository}}}, or nothing when an exception is raised."""
        entries = []
        for layer, devices in mapping.items():
            entries.append((str(layer), None, None, ()))
            entries.extend(_entry(str(layer), device, target) for device, target in devices.items())
        self.native.register(tuple(entries), clear)

    def __getitem__(self, layer: str) -> "_Devices":
        if layer not in self._layers():
            raise KeyError(layer)
        return _Devices(self.native, layer)

    def __iter__(self):
        return iter(self._layers())

    def __len__(self) -> int:
        return len(self._layers())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"

    def _layers(self) -> dict:
        return dict.fromkeys(entry[0] for entry in self.native.entries())


def from_dictionary(mapping: dict) -> KernelMapping:
    """A mapping of what stands in a plain {layer name: {device type: DeviceRepos}}."""
    entries = []
    for layer, devices in mapping.items():
        entries.append((layer, None, None, ()))
        entries.extend((layer, *each[1:]) for repos in devices.values() for each in repos._entries())
    made = KernelMapping()
    made.native.register(tuple(entries), False)
    return made


class _Devices(Mapping):
    """One layer of a mapping, as it is at the moment: {device type: DeviceRepos}."""

    def __init__(self, native, layer: str):
        self._native = native
        self._layer = layer

    def __getitem__(self, device_type: str) -> DeviceRepos:
        if device_type not in self._types():
            raise KeyError(device_type)
        return _class_of(device_type)(self._native, self._layer)

    def __iter__(self):
        return iter(self._types())

    def __len__(self) -> int:
        return len(self._types())

    def __repr__(self) -> str:
        return repr(dict(self))

    def _types(self) -> dict:
        return dict.fromkeys(entry[1] for entry in self._native.entries() if entry[0] == self._layer and entry[1])
