# SPDX-License-Identifier: Apache-2.0
"""Windows looks for the libraries of extension modules in folders that a process names."""

import os
import sys

_DNNL = r"C:\Program Files (x86)\Intel\oneAPI\dnnl\latest\bin"


def _add_additional_dll_paths():
    """Adds the folder of oneDNN if it is there. Does nothing elsewhere than on Windows, and never fails."""
    if sys.platform != "win32":
        return
    try:
        if os.path.isdir(_DNNL):
            os.add_dll_directory(_DNNL)
    except Exception:
        pass
