# SPDX-License-Identifier: Apache-2.0
"""Charts of a benchmark: how long, how many a second (both by matplotlib), and a race (text of our own, GIF by Pillow)."""

import sys
from pathlib import Path

__all__ = ["save_speedup_animation", "save_speedup_image"]

ORANGE, GREY = "#FF9D00", "#6B7280"
LIGHT = {"background": "#FFFFFF", "text": "#1A1A2E", "track": "#EDEAE3", "edge": "#D5D1C8"}
DARK = {"background": "#101623", "text": "#E6EDF3", "track": "#30363D", "edge": "#484F58"}

# the race, in units of its drawing
WIDTH, ROW, TOP, BOTTOM = 800, 50, 50, 70
TRACK_X, TRACK_WIDTH, TRACK_HEIGHT, RADIUS = 180, 470, 30, 8
PERIOD_S = 4.0  # of the reference, to and fro
FRAMES_PER_SECOND = 20

# the bars, in inches
FIGURE_WIDTH = 9
INCHES_A_CHARACTER = 0.082
LONG_NAME = 24  # characters that stand on one line

MATPLOTLIB = "matplotlib required for charts: pip install matplotlib"
PILLOW = "Pillow required for the GIF: pip install Pillow"


def save_speedup_image(results, path, backend="", repo_id="", pytorch_version="", dark=False):
    """Writes <stem>_latency<suffix> and <stem>_throughput<suffix> beside path, by its suffix as SVG or PNG.

    results: {"Class.workload": record with mean_ms and ref_mean_ms}; those without a reference are left out.
    """
    rows = _rows(results)
    if not rows:
        _say("No reference timings available, skipping image generation.")
        return
    try:
        from matplotlib.figure import Figure
    except ImportError:
        _say(MATPLOTLIB)
        return
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    subtitle = _subtitle(pytorch_version, backend)
    charts = (
        ("latency", "Latency", "ms", "shorter is better", lambda mean: mean, lambda value: f"{value:.2f} ms"),
        ("throughput", "Throughput", "operations per second", "longer is better", lambda mean: 1000 / mean, format_ops),
    )
    for name, title, unit, note, value_of, label_of in charts:
        figure = Figure(figsize=(FIGURE_WIDTH, 1.4 + 0.95 * len(rows)), facecolor=_theme(dark)["background"])
        values = [(workload, value_of(mean), value_of(reference) if reference > 0 else 0.0, reference / mean)
                  for workload, mean, reference in rows]
        _draw_bars(figure, values, _title(repo_id, title), subtitle, f"{unit} ({note})", label_of, _theme(dark))
        target = path.with_name(f"{path.stem}_{name}{path.suffix}")
        figure.savefig(target, facecolor=_theme(dark)["background"], dpi=150, metadata=_no_date(path.suffix))
        _say(f"{title} chart saved to: {target}")


def save_speedup_animation(results, path, backend="", repo_id="", pytorch_version="", dark=False):
    """Writes a race of kernel and reference to path, by its suffix as SVG or GIF."""
    rows = _rows(results)
    if not rows:
        _say("No reference timings available, skipping animation.")
        return
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    title, subtitle = _title(repo_id, "Relative Speed"), _subtitle(pytorch_version, backend)
    if path.suffix.lower() != ".gif":
        path.write_text(_race(rows, title, subtitle, _theme(dark)), encoding="utf-8")
        _say(f"Animated SVG saved to: {path}")
    elif _save_gif(rows, path, title, subtitle, _theme(dark)):
        _say(f"Animated GIF saved to: {path}")


def format_ops(operations):
    """Operations per second as a label: "2 ops/s", "1.1k ops/s", "1.2M ops/s"."""
    if operations >= 1e6:
        return f"{operations / 1e6:.1f}M ops/s"
    if operations >= 1000:
        return f"{operations / 1000:.1f}k ops/s"
    return f"{operations:.0f} ops/s"


# ---- what all share ----


def _say(text):
    print(text, file=sys.stderr, flush=True)


def _rows(results):
    """[(name, mean, reference)] in milliseconds, by name."""
    found = [(name, results[name].mean_ms, results[name].ref_mean_ms) for name in sorted(results)]
    return [row for row in found if row[2] is not None and row[1] > 0]


def _theme(dark):
    return DARK if dark else LIGHT


def _title(repo_id, what):
    return f"{repo_id or 'Kernel'} vs Torch - {what}"


def _subtitle(pytorch_version, backend):
    return " · ".join(part for part in (f"PyTorch {pytorch_version}" if pytorch_version else "", backend) if part)


# ---- bars ----


def _no_date(suffix):
    """Two runs with the same numbers give the same file."""
    return {"Date": None} if suffix.lower() == ".svg" else None


def _draw_bars(figure, values, title, subtitle, axis_note, label_of, theme):
    names = [_label_of(workload) for workload, *_ in values]
    left = (INCHES_A_CHARACTER * max(len(line) for name in names for line in name.splitlines()) + 0.3) / FIGURE_WIDTH
    left = min(left, 0.45)
    height = figure.get_figheight()
    axes = figure.add_axes((left, 0.75 / height, 0.83 - left, 1 - 1.3 / height))
    axes.set_facecolor(theme["background"])
    longest = max(max(ours, reference) for _, ours, reference, _ in values)
    for row, (workload, ours, reference, speedup) in enumerate(values):
        _draw_pair(axes, row, ours, reference, label_of, longest, theme)
        _draw_verdict(axes, row, speedup)
    axes.set_yticks(range(len(values)), names, color=theme["text"], fontsize=9)
    axes.tick_params(axis="x", colors=GREY, labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(values) - 0.45, -0.55)
    axes.set_xlim(0, longest * 1.22)
    axes.set_xlabel(axis_note, color=GREY, fontsize=8)
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=theme["track"], linewidth=0.8)
    for side in axes.spines.values():
        side.set_visible(False)
    top = 1 - 0.28 / height
    figure.text(0.015, top, title, color=theme["text"], fontsize=12, fontweight="bold", va="center", parse_math=False)
    figure.text(0.985, top, subtitle, color=GREY, fontsize=8, ha="right", va="center", parse_math=False)
    for tick in axes.get_yticklabels():
        tick.set_parse_math(False)
    _draw_legend(figure, theme)


def _label_of(name):
    """Long names on two lines, broken behind the class."""
    benchmark, dot, workload = name.rpartition(".")
    return f"{benchmark}.\n{workload}" if dot and len(name) > LONG_NAME else name


def _draw_pair(axes, row, ours, reference, label_of, longest, theme):
    for offset, value, colour in ((-0.19, ours, ORANGE), (0.19, reference, GREY)):
        axes.barh(row + offset, value, height=0.34, color=colour)
        axes.text(value + longest * 0.012, row + offset, label_of(value), color=theme["text"], fontsize=8, va="center")


def _draw_verdict(axes, row, speedup):
    """In a column of its own, right of the bars."""
    faster = speedup >= 1 or speedup == 0
    text = f"{speedup:.2f}x faster" if faster else f"{1 / speedup:.2f}x slower"
    axes.text(1.02, row, text, transform=axes.get_yaxis_transform(), color=ORANGE if faster else GREY, fontsize=9,
              fontweight="bold", va="center")


def _draw_legend(figure, theme):
    bottom = 0.2 / figure.get_figheight()
    for x, colour, text in ((0.8, ORANGE, "Kernel"), (0.88, GREY, "Torch (ref)")):
        figure.text(x, bottom, "■", color=colour, fontsize=9, va="center", ha="right")
        figure.text(x + 0.006, bottom, text, color=theme["text"], fontsize=8, va="center")


# ---- the race as SVG ----


def _race(rows, title, subtitle, theme):
    height = ROW * len(rows) + TOP + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'style="background:{theme["background"]};font-family:DejaVu Sans Mono,monospace">',
        f'<text x="10" y="25" font-size="14" font-weight="bold" fill="{theme["text"]}">{_escape(title)}</text>',
    ]
    if subtitle:
        parts.append(f'<text x="{WIDTH - 10}" y="25" font-size="10" fill="{GREY}" text-anchor="end">{_escape(subtitle)}</text>')
    for index, (name, mean, reference) in enumerate(rows):
        parts += _lane(TOP + ROW * index + ROW // 2, name, reference / mean, theme)
    for x, colour, text in ((650, ORANGE, "Kernel"), (730, GREY, "Torch (ref)")):
        parts.append(f'<circle cx="{x}" cy="{height - 20}" r="6" fill="{colour}" stroke="white"/>')
        parts.append(f'<text x="{x + 12}" y="{height - 16}" font-size="9" fill="{theme["text"]}">{text}</text>')
    return "\n".join([*parts, "</svg>"])


def _lane(y, name, speedup, theme):
    half = TRACK_HEIGHT // 2
    lines = [
        f'<rect x="{TRACK_X}" y="{y - half}" width="{TRACK_WIDTH}" height="{TRACK_HEIGHT}" rx="4" '
        f'fill="{theme["track"]}" stroke="{theme["edge"]}"/>',
        f'<text x="{TRACK_X - 10}" y="{y + 4}" font-size="10" fill="{theme["text"]}" text-anchor="end">{_escape(name)}</text>',
        f'<text x="{TRACK_X + TRACK_WIDTH + 10}" y="{y + 4}" font-size="10" font-weight="bold" fill="{theme["text"]}">'
        f"{speedup:.2f}x</text>",
    ]
    begin, end = TRACK_X + RADIUS, TRACK_X + TRACK_WIDTH - RADIUS
    for offset, colour, period in ((-6, ORANGE, _kernel_period(speedup)), (6, GREY, PERIOD_S)):
        lines += [
            f'<circle cx="{begin}" cy="{y + offset}" r="{RADIUS}" fill="{colour}" stroke="white" stroke-width="1.5">',
            f'  <animate attributeName="cx" values="{begin};{end};{begin}" dur="{period}s" repeatCount="indefinite" '
            'calcMode="spline" keySplines="0.5 0 0.5 1;0.5 0 0.5 1"/>',
            "</circle>",
        ]
    return lines


def _kernel_period(speedup):
    """Seconds; a reference that took no measurable time leaves the kernel's ball where it is."""
    return PERIOD_S / speedup if speedup > 0 else 1e6


def _escape(text):
    from html import escape

    return escape(text, quote=False)


# ---- the race as GIF ----


def _save_gif(rows, path, title, subtitle, theme):
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        _say(PILLOW)
        return False
    fonts = {size: ImageFont.load_default(size) for size in (9, 10, 14)}
    frames = []
    for frame in range(int(PERIOD_S * FRAMES_PER_SECOND)):
        image = Image.new("RGB", (WIDTH, ROW * len(rows) + TOP + BOTTOM), theme["background"])
        _draw_frame(ImageDraw.Draw(image), fonts, rows, title, subtitle, theme, frame / FRAMES_PER_SECOND)
        frames.append(image.quantize(64))
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=1000 // FRAMES_PER_SECOND, loop=0)
    return True


def _draw_frame(draw, fonts, rows, title, subtitle, theme, seconds):
    draw.text((10, 25), title, fill=theme["text"], font=fonts[14], anchor="ls")
    draw.text((WIDTH - 10, 25), subtitle, fill=GREY, font=fonts[10], anchor="rs")
    for index, (name, mean, reference) in enumerate(rows):
        y, speedup = TOP + ROW * index + ROW // 2, reference / mean
        track = (TRACK_X, y - TRACK_HEIGHT // 2, TRACK_X + TRACK_WIDTH, y + TRACK_HEIGHT // 2)
        draw.rounded_rectangle(track, radius=4, fill=theme["track"], outline=theme["edge"])
        draw.text((TRACK_X - 10, y + 4), name, fill=theme["text"], font=fonts[10], anchor="rs")
        draw.text((TRACK_X + TRACK_WIDTH + 10, y + 4), f"{speedup:.2f}x", fill=theme["text"], font=fonts[10], anchor="ls")
        for offset, colour, period in ((-6, ORANGE, _kernel_period(speedup)), (6, GREY, PERIOD_S)):
            _draw_ball(draw, TRACK_X + RADIUS + _way(seconds / period) * (TRACK_WIDTH - 2 * RADIUS), y + offset, RADIUS, colour)
    height = TOP + ROW * len(rows) + BOTTOM
    for x, colour, text in ((650, ORANGE, "Kernel"), (730, GREY, "Torch (ref)")):
        _draw_ball(draw, x, height - 20, 6, colour)
        draw.text((x + 12, height - 16), text, fill=theme["text"], font=fonts[9], anchor="ls")


def _draw_ball(draw, x, y, radius, colour):
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour, outline="white")


def _way(periods):
    """How far to the right after so many periods, 0 to 1: slow at the ends, as the SVG's splines."""
    share = periods % 1
    share = 2 * share if share < 0.5 else 2 * (1 - share)
    return share * share * (3 - 2 * share)
