# SPDX-License-Identifier: Apache-2.0
"""The import check of a built TPU variant, run by kernel-builder in the environment `torch-tpu`.

    python -I -B - VARIANT_DIR PACKAGE < check_import.py

Exit 0: the package was imported and has what its __all__ promises, and no device was touched; one line says with what.
Else the last line on stderr is "error: ...".
"""
import importlib.metadata
import importlib.util
import os
import sys
import traceback


def import_package(folder: str, name: str):
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, "__init__.py"),
                                                  submodule_search_locations=[folder])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def complaint(folder: str, name: str) -> str | None:
    import torch

    try:
        module = import_package(folder, name)
    except BaseException as failure:  # whatever a package raises while it is imported
        traceback.print_exc()
        return f"importing the package failed: {type(failure).__name__}: {failure}"
    missing = [word for word in getattr(module, "__all__", ()) if not hasattr(module, word)]
    if missing:
        return f"__all__ of the package names what it does not have: {', '.join(missing)}"
    if torch.tpu.is_initialized():
        return "importing the package started the TPU runtime: a kernel must touch no device before it is called"
    return None


def main() -> int:
    import torch
    import torch_tpu  # noqa: F401  also when torch does not load it by itself

    found = complaint(*sys.argv[1:3])
    if found:
        print("error: " + " ".join(found.split()), file=sys.stderr)
        return 1
    print(f"torch {torch.__version__}, torch_tpu {importlib.metadata.version('torch_tpu')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
