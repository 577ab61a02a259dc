# SPDX-License-Identifier: Apache-2.0
"""What the ready-made benchmarks have in common."""

from kernels.benchmark import Benchmark


class ThreeSizes(Benchmark):
    """The workloads small, medium and large: _make gets what `sizes` says for one, _run is timed, _reference checks it."""

    seed = 42
    sizes: dict[str, tuple] = {}

    def _make(self, *size):
        raise NotImplementedError

    def _run(self):
        raise NotImplementedError

    def _reference(self):
        raise NotImplementedError

    def setup_small(self):
        self._make(*self.sizes["small"])

    def setup_medium(self):
        self._make(*self.sizes["medium"])

    def setup_large(self):
        self._make(*self.sizes["large"])

    def benchmark_small(self):
        self._run()

    def benchmark_medium(self):
        self._run()

    def benchmark_large(self):
        self._run()

    def verify_small(self):
        return self._reference()

    def verify_medium(self):
        return self._reference()

    def verify_large(self):
        return self._reference()
