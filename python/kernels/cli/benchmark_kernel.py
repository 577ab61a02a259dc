# SPDX-License-Identifier: Apache-2.0
"""The kernel under test: where its files are and how it is loaded."""

import json
import logging
from pathlib import Path

from .benchmark_run import say

__all__ = ["Target", "is_stand_in", "kernel_id"]


class Target:
    """A folder, or a revision of a repository on the Hub, or one variant of either."""

    def __init__(self, repo_id, revision, folder=None, shown_name=None, variant=None):
        self.repo_id = repo_id
        self.revision = revision
        self.folder = folder
        self.shown_name = repo_id if shown_name is None else shown_name
        self.variant = variant

    @property
    def shown(self):
        return f"{self.shown_name}@{'local' if self.repo_id is None else self.revision}"

    @property
    def label(self):
        """Short, for the head of a column."""
        return self.variant or self.revision or self.shown_name

    def fetch(self):
        """The scripts, into the cache. Nothing of a publisher who is not trusted. SystemExit(1) when there are none."""
        if self.repo_id is None:
            return
        context, commit = self._on_hub()
        try:
            self.folder = Path(context.install_folder(self.repo_id, commit, "benchmarks")).parent
        except Exception as error:
            if getattr(error, "status", None) != "ENTRY_NOT_FOUND":
                raise
            say(f"Error: No benchmarks directory found in '{self.shown_name}'")
            raise SystemExit(1) from None

    def _on_hub(self):
        """(the Hub's configuration, the commit of the revision)."""
        from kernels.hf_hub import _get_hf_api

        context = _get_hf_api().context()
        return context, context.commit(self.repo_id, revision=self.revision)

    def load(self):
        """The kernel as a module; where Python cannot load any variant but C can, as a stand-in that C runs."""
        try:
            return self._load_module()
        except (FileNotFoundError, ModuleNotFoundError) as error:
            if isinstance(error, ModuleNotFoundError) and error.name not in ("torch", "torch_tpu"):
                raise
            stand_in = self._load_native()
            if stand_in is None:
                raise
            say("No variant for Python on this machine: the kernel's exported programs run through an XLA plugin")
            return stand_in

    def _load_module(self):
        from kernels.load import get_kernel, get_local_kernel

        if self.variant is not None:
            return get_local_kernel(self._variant_folder())
        if self.repo_id is None:
            return get_local_kernel(Path(self.folder))
        return get_kernel(self.repo_id, revision=self.revision)

    def _load_native(self):
        """A kernels.native.Kernel, None where C cannot run the kernel either."""
        from kernels import native

        try:
            if self.variant is not None:
                return native.load_local(self._variant_folder())
            if self.repo_id is None:
                return native.load_local(self.folder)
            return native.load(self.repo_id, revision=self.revision)
        except Exception as error:  # that Python cannot load it is what the user has to know
            logging.getLogger(__name__).info("nor can C run it: %s", error)
            return None

    def _variant_folder(self):
        if self.repo_id is None:
            return Path(self.folder) / "build" / self.variant
        context, commit = self._on_hub()
        return Path(context.install(self.repo_id, commit, self.variant, trust=False))


def is_stand_in(kernel):
    """Run by C on host memory, not loaded by Python?"""
    from kernels import native

    return isinstance(kernel, native.Kernel)


def kernel_id(kernel):
    """The id in its metadata: a module's name ends in it; a kernel that C runs has the file."""
    name = getattr(kernel, "__name__", None)
    if name is None:
        name = json.loads((Path(kernel.path) / "metadata.json").read_text(encoding="utf-8")).get("id", "")
    return name.rpartition("_")[2]
