# SPDX-License-Identifier: Apache-2.0
"""Running the Python package of the build folder in a child process."""
import pathlib
import re
import subprocess


def variables(build_dir: pathlib.Path) -> dict[str, str]:
    """Environment in which `import kernels` finds the package of the build folder."""
    return {"PYTHONPATH": str(build_dir / "python"), **_preloaded(build_dir)}


def _preloaded(build_dir: pathlib.Path) -> dict[str, str]:
    """A sanitized extension needs the sanitizers' libraries before Python itself."""
    cache = (build_dir / "CMakeCache.txt").read_text()
    if "KERNELS_SANITIZE:BOOL=ON" not in cache:
        return {}
    compiler = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", cache, re.MULTILINE).group(1)
    names = ["libasan.so", "libubsan.so", "libstdc++.so"]
    found = [subprocess.run([compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True).stdout
             for name in names]
    # what CPython itself leaves behind is not ours to judge
    return {"LD_PRELOAD": " ".join(path.strip() for path in found), "ASAN_OPTIONS": "detect_leaks=0"}
