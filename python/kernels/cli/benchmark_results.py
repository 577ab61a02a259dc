# SPDX-License-Identifier: Apache-2.0
"""What a benchmark measured: one record a workload, the machine, and the JSON of both."""

import math
from dataclasses import dataclass, field

__all__ = ["BenchmarkResult", "MachineInfo", "TimingResults", "statistics_of"]

DIGITS = 4  # of a millisecond


@dataclass
class TimingResults:
    """Times of one workload in milliseconds. verified: None without a verify function."""

    mean_ms: float
    std_ms: float
    min_ms: float
    max_ms: float
    iterations: int
    q1_ms: float = 0.0
    q3_ms: float = 0.0
    iqr_ms: float = 0.0
    outliers: int = 0
    verified: bool | None = None
    ref_mean_ms: float | None = None

    def __post_init__(self):
        for name in ("mean_ms", "std_ms", "min_ms", "max_ms", "q1_ms", "q3_ms", "iqr_ms"):
            self._expect(name, float)
        for name in ("iterations", "outliers"):
            self._expect(name, int)
        if self.verified is not None:
            self._expect("verified", bool)
        if self.ref_mean_ms is not None:
            self._expect("ref_mean_ms", float)
        if self.iterations <= 0:
            raise _class_error()(f"iterations must be at least 1, got {self.iterations}")
        if self.min_ms > self.max_ms:
            raise _class_error()(f"min_ms ({self.min_ms}) is greater than max_ms ({self.max_ms})")

    def _expect(self, name, wanted):
        value = getattr(self, name)
        if type(value) is not wanted:
            raise _field_error()(f"{name}: expected {wanted.__name__}, got {type(value).__name__} ({value!r})")


@dataclass
class MachineInfo:
    """Where it ran. gpu_cores: None where unknown."""

    gpu: str
    backend: str
    pytorch_version: str
    os: str
    cpu: str
    gpu_cores: int | None = None


@dataclass
class BenchmarkResult:
    """Everything one run found. extra: further facts, left out of the JSON when there are none."""

    timing_results: dict[str, TimingResults]
    kernel_commit_sha: str
    machine_info: MachineInfo
    benchmark_script_path: str = "benchmarks"
    benchmark_script_sha: str | None = None
    extra: dict = field(default_factory=dict)

    def to_payload(self):
        """The object that --json prints and submit_benchmark sends, with its keys in their order."""
        payload = {
            "results": result_records(self.timing_results),
            "machineInfo": _machine_record(self.machine_info),
            "kernelCommitSha": self.kernel_commit_sha,
            "benchmarkScriptPath": self.benchmark_script_path,
        }
        if self.benchmark_script_sha:
            payload["benchmarkScriptSha"] = self.benchmark_script_sha
        if self.extra:
            payload["extra"] = self.extra
        return payload


def result_records(results):
    """The records of "results", sorted by workload."""
    return [_workload_record(name, results[name]) for name in sorted(results)]


_TIMES = ("mean_ms", "std_ms", "min_ms", "max_ms", "q1_ms", "q3_ms", "iqr_ms", "outliers", "iterations")


def _workload_record(name, timing):
    record = {"workload": name, "timingResults": {key: getattr(timing, key) for key in _TIMES}}
    if timing.verified is not None:
        record["verified"] = timing.verified
    return record


def _machine_record(machine):
    record = {
        "gpu": machine.gpu,
        "backend": machine.backend,
        "pytorchVersion": machine.pytorch_version,
        "os": machine.os,
        "cpu": machine.cpu,
    }
    if machine.gpu_cores is not None:
        record["gpuCores"] = machine.gpu_cores
    return record


# ---- statistics ----


def _percentile(values, percent):
    """Of ascending values, interpolated between neighbours; 0.0 of none."""
    if not values:
        return 0.0
    position = (len(values) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(values) - 1)
    share = position - low
    return values[low] * (1 - share) + values[high] * share


def _calculate_iqr_and_outliers(times):
    """(first quartile, third quartile, their difference, how many lie beyond 1.5 of it) of times in any order."""
    ordered = sorted(times)
    first, third = _percentile(ordered, 25), _percentile(ordered, 75)
    spread = third - first
    outliers = sum(1 for time in times if time < first - 1.5 * spread or time > third + 1.5 * spread)
    return first, third, spread, outliers


def statistics_of(times, verified=None, ref_mean_ms=None):
    """TimingResults of at least one sample in milliseconds. Rounded at the end only."""
    mean = sum(times) / len(times)
    deviation = math.sqrt(sum((time - mean) ** 2 for time in times) / len(times))
    first, third, spread, outliers = _calculate_iqr_and_outliers(times)
    return TimingResults(
        mean_ms=_rounded(mean),
        std_ms=_rounded(deviation),
        min_ms=_rounded(min(times)),
        max_ms=_rounded(max(times)),
        iterations=len(times),
        q1_ms=_rounded(first),
        q3_ms=_rounded(third),
        iqr_ms=_rounded(spread),
        outliers=outliers,
        verified=verified,
        ref_mean_ms=None if ref_mean_ms is None else _rounded(ref_mean_ms),
    )


def _rounded(milliseconds):
    return round(float(milliseconds), DIGITS)


# ---- exceptions that callers of the released package catch ----


def _class_error():
    return _hub_error("StrictDataclassClassValidationError")


def _field_error():
    return _hub_error("StrictDataclassFieldValidationError")


def _hub_error(name):
    """The class of huggingface_hub where that is installed, else a ValueError of this name."""
    try:
        from huggingface_hub import errors
    except ImportError:
        return type(name, (ValueError,), {})
    wanted = getattr(errors, name)

    class Error(wanted):
        """With a message of its own: the base class makes it from a field and a cause."""

        def __init__(self, message):
            Exception.__init__(self, message)

        def __str__(self):
            return self.args[0]

    Error.__name__ = Error.__qualname__ = name
    return Error
