# SPDX-License-Identifier: Apache-2.0
"""The tables that `kernels benchmark` shows, as text."""

import math

__all__ = ["comparison_text", "results_text"]

TEXT, INTEGER, TIME = range(3)  # kinds of columns
PADDING = 2  # a column is at least this much wider than its header


def results_text(results):
    """An empty line, the table, and below it how sure each difference from the reference is."""
    names = sorted(results)
    referenced = any(results[name].ref_mean_ms is not None for name in names)
    columns = [column for column in _COLUMNS if referenced or column[0] not in _WITH_REFERENCE]
    table = [(title, kind, [cell(name, results[name]) for name in names]) for title, kind, cell in columns]
    text = "\n" + draw(table) + "\n\n"
    if referenced:
        lines = [_significance(name, results[name]) for name in names]
        text += "".join(line + "\n" for line in lines if line) + "\n"
    return text


def comparison_text(first, others):
    """The same workloads of several kernels side by side. first: (label, results), others: a list of such."""
    label, results = first
    names = sorted(results)
    table = [
        ("Benchmark", TEXT, [split_name(name)[0] for name in names]),
        ("Workload", TEXT, [split_name(name)[1] for name in names]),
        (f"{label}(ms)", TIME, [time_text(results[name].mean_ms) for name in names]),
    ]
    for other, measured in others:
        table.append((f"{other}(ms)", TIME, [_mean_text(measured, name) for name in names]))
        table.append((f"vs {label}", TEXT, [_ratio_text(results[name], measured.get(name)) for name in names]))
    return "\n" + draw(table) + "\n\n"


def _mean_text(measured, name):
    return time_text(measured[name].mean_ms) if name in measured else ""


def _ratio_text(ours, other):
    return f"{ours.mean_ms / other.mean_ms:.2f}x" if other is not None and other.mean_ms > 0 else ""


# ---- cells ----


def split_name(name):
    """("Class", "workload") at the last dot."""
    benchmark, _, workload = name.rpartition(".")
    return benchmark, workload


def time_text(milliseconds):
    """At most four decimals, none that says nothing: 1.04, 12345.6789, 5."""
    text = f"{milliseconds:.4f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _speedup(_, timing):
    return f"{timing.ref_mean_ms / timing.mean_ms:.2f}x" if timing.ref_mean_ms is not None and timing.mean_ms else ""


def _reference(_, timing):
    return "" if timing.ref_mean_ms is None else time_text(timing.ref_mean_ms)


_MATCH = {True: "✓", False: "✗", None: "·"}
_WITH_REFERENCE = {"Speedup", "Ref(ms)"}
_COLUMNS = (
    ("Benchmark", TEXT, lambda name, timing: split_name(name)[0]),
    ("Workload", TEXT, lambda name, timing: split_name(name)[1]),
    ("N", INTEGER, lambda name, timing: str(timing.iterations)),
    ("Speedup", TEXT, _speedup),
    ("Mean(ms)", TIME, lambda name, timing: time_text(timing.mean_ms)),
    ("Std(ms)", TIME, lambda name, timing: time_text(timing.std_ms)),
    ("Min(ms)", TIME, lambda name, timing: time_text(timing.min_ms)),
    ("Max(ms)", TIME, lambda name, timing: time_text(timing.max_ms)),
    ("IQR(ms)", TIME, lambda name, timing: time_text(timing.iqr_ms)),
    ("Outliers", INTEGER, lambda name, timing: str(timing.outliers)),
    ("Ref(ms)", TIME, _reference),
    ("Match", TEXT, lambda name, timing: _MATCH[timing.verified]),
)


def _significance(name, timing):
    """ "large: 1.72x faster (95% CI: ...)", or None without a reference."""
    if timing.ref_mean_ms is None or not timing.mean_ms > 0:
        return None
    margin = 1.96 * timing.std_ms / math.sqrt(timing.iterations)
    low, high = timing.mean_ms - margin, timing.mean_ms + margin
    speedup = timing.ref_mean_ms / timing.mean_ms
    if speedup >= 1 or timing.ref_mean_ms == 0:
        verdict = f"{speedup:.2f}x faster"
    else:
        verdict = f"{timing.mean_ms / timing.ref_mean_ms:.2f}x slower"
    line = f"  {split_name(name)[1]}: {verdict} (95% CI: {low:.4f}-{high:.4f}ms vs ref {timing.ref_mean_ms:.4f}ms)"
    return line + (" ✓ significant" if high < timing.ref_mean_ms else "")


# ---- layout ----


def draw(columns):
    """A box of (title, kind, cells) without a final newline."""
    laid_out = [_lay_out(*column) for column in columns]
    bar = ["─" * (len(title) + 2) for title, _ in laid_out]
    rows = ["│ " + " │ ".join(cells) + " │" for cells in zip(*(cells for _, cells in laid_out))]
    return "\n".join(
        [
            "┌" + "┬".join(bar) + "┐",
            "│ " + " │ ".join(title for title, _ in laid_out) + " │",
            "├" + "┼".join(bar) + "┤",
            *rows,
            "└" + "┴".join(bar) + "┘",
        ]
    )


def _lay_out(title, kind, cells):
    """Title and cells, all of one width."""
    if kind == TIME:
        cells = _align_points(cells)
    width = max([len(title) + PADDING, *map(len, cells)])
    place = str.ljust if kind == TEXT else str.rjust
    return place(title, width), [place(cell, width) for cell in cells]


def _align_points(cells):
    """Blanks behind numbers so that their decimal points stand below each other."""
    decimals = [len(cell) - cell.index(".") - 1 if "." in cell else -1 for cell in cells]
    longest = max((count for count, cell in zip(decimals, cells) if cell), default=-1)
    return [cell + " " * (longest - count) if cell else "" for cell, count in zip(cells, decimals)]
