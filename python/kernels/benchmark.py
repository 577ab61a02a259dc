# SPDX-License-Identifier: Apache-2.0
"""The base class of a kernel's benchmarks."""


class Benchmark:
    """Derive from it in a kernel's benchmarks/benchmark.py; `kernels benchmark` finds the class.

    A method `benchmark_<name>` is measured. `setup_<name>`, else `setup`, runs once before it; `verify_<name>` returns what
    `self.out` must hold after a run. `seed` is given to torch before each setup when it is not None.
    """

    seed: int | None = None
    device: str = "cpu"

    def __init__(self) -> None:
        self.kernel = None  # the module under test, set before setup
        self.out = None  # what verification looks at

    def setup(self) -> None:
        """Prepares the inputs of all benchmarks that have no setup of their own."""
