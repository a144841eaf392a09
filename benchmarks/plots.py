"""Plots of ``benchmarks/data``, as pictures that pages of ``docs/`` show.

A row is a program, its marks are the medians of the processes that measured it, and its bars reach
from the least to the largest of them; what was measured once has no bar. The scale is logarithmic.
Shapes differ as well as colours (M. Okabe and K. Ito, 2008), and a description says what is shown.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from benchmarks.suite.results import ROOT, load, seconds_text

PICTURES = ROOT / "docs" / "images" / "numbers"

LEFT, RIGHT, ROW, TOP, WIDTH = 350, 24, 19, 62, 890
LOOKS = {
    "Phintys": ("circle", "#0072b2"),
    "NumPy": ("square", "#777777"),
    "PyTensor": ("triangle", "#d55e00"),
    "JAX": ("rhombus", "#009e73"),
}
OTHER = "triangle", "#cc79a7"
OUTLINES = {"square": "-4-4h8v8h-8z", "triangle": "-5 4h10l-5-9z", "rhombus": "-5 0l5-5 5 5-5 5z"}


@dataclass(frozen=True)
class Plot:
    """A plot of one figure of a data file.

    Attributes
    ----------
    data
        Name of the data file.
    figure
        Name of the figure in it.
    title
        What is shown.
    columns
        Those that are shown, with the names that they have in the plot.
    """

    data: str
    figure: str
    title: str
    columns: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Where the picture is."""
        return PICTURES / f"{self.data}_{self.figure}.svg"


_ALL = {name: name for name in ("Phintys", "NumPy", "PyTensor", "JAX")}
_FOUR = {f"{name}, 4": name for name in _ALL}
PLOTS = (
    Plot("peers", "call", "Time of a call", _ALL),
    Plot("peers", "start", "From the start of Python to the first result", _ALL),
    Plot("peers", "peak_mib", "Most memory of the process, in MiB", _ALL),
    Plot("mode_jax", "call", "Time of a call", {"JAX": "JAX", "Phintys, mode jax": "Phintys"}),
    Plot("loops", "call", "Time of a call", _ALL),
    Plot("matrices", "call", "Time of a call", _ALL),
    Plot("einsum", "call", "Time of a call", _ALL),
    Plot("random_numbers", "call", "A million random numbers", _ALL),
    Plot("array_language", "call", "Time of a call", _ALL),
    Plot("images", "call", "Time of a call", _ALL | {"by slices": "Phintys, by slices"}),
    Plot("processes", "p99", "99th percentile of a call, in four processes at once", _FOUR),
    Plot("processes", "rate", "Calls in a second of four processes at once", _FOUR),
    Plot(
        "busy_machine",
        "mean",
        "Mean time of a call beside four busy processes",
        {"Phintys, 4": "Phintys", "Phintys alone, 4": "Phintys, one thread", "JAX, 4": "JAX"},
    ),
)


def draw(plots: Iterable[Plot] = PLOTS) -> list[Path]:
    """Write the pictures, and return their paths."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    paths = []
    for plot in plots:
        plot.path.write_text(picture(plot), encoding="utf-8")
        paths.append(plot.path)
    return paths


def picture(plot: Plot) -> str:
    """Return a plot as SVG."""
    measured_on, results = load(plot.data)
    programs = {
        program: {plot.columns[name]: row[name] for name in plot.columns if row.get(name)}
        for program, row in results[plot.figure].items()
    }
    programs = {program: row for program, row in programs.items() if row}
    values = [value for row in programs.values() for found in row.values() for value in found]
    shown = [
        name for name in plot.columns.values() if any(name in row for row in programs.values())
    ]
    unit = {"peak_mib": _memory, "rate": _rate}.get(plot.figure, _time)
    axis = _Axis(min(values), max(values))
    height = TOP + ROW * len(programs) + 44
    bottom = height - 38
    size = f'viewBox="0 0 {WIDTH} {height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {_STYLE}>',
        f"<title>{escape(plot.title)}</title>",
        f"<desc>{escape(_description(plot, programs, shown))}</desc>",
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fff"/>',
        f'<text x="14" y="24" font-size="15" font-weight="600">{escape(plot.title)}</text>',
        *_legend(shown),
    ]
    for value in axis.ticks():
        x = axis.place(value)
        parts.append(f'<path d="M{x:.1f} {TOP - 8}V{bottom}" stroke="#ddd"/>')
        text = escape(unit(value))
        parts.append(f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle">{text}</text>')
    for number, (program, row) in enumerate(programs.items()):
        y = TOP + ROW * number + ROW / 2
        label = escape(program.removeprefix("loop: ").removeprefix("matrix: "))
        parts.append(f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
        for name in reversed(shown):
            if name in row:
                parts += _mark(name, row[name], y, axis)
    note = escape(measured_on)
    parts.append(f'<text x="14" y="{height - 7}" font-size="9.5" fill="#666">{note}</text>')
    return "\n".join([*parts, "</svg>", ""])


_STYLE = 'font-family="system-ui, sans-serif" font-size="12" fill="#222"'


@dataclass(frozen=True)
class _Axis:
    least: float
    most: float

    def place(self, value: float) -> float:
        """Return where a value is, in the picture."""
        low, high = math.log(self.least) - 0.2, math.log(self.most) + 0.2
        share = (math.log(value) - low) / (high - low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        """Return round values: powers of ten, with more between them if these are few."""
        powers = range(math.floor(math.log10(self.least)), math.ceil(math.log10(self.most)) + 1)
        factors = (1,) if len(powers) > 4 else (1, 2, 5) if len(powers) < 4 else (1, 3)
        every = [factor * 10.0**power for power in powers for factor in factors]
        return [value for value in every if self.least <= value <= self.most]


def _mark(name: str, values: Sequence[float], y: float, axis: _Axis) -> Iterable[str]:
    if len(values) > 1:
        left, right = axis.place(min(values)), axis.place(max(values))
        colour = LOOKS.get(name, OTHER)[1]
        yield f'<path d="M{left:.1f} {y:.1f}H{right:.1f}" stroke="{colour}" stroke-width="2"/>'
    yield _shape(name, axis.place(statistics.median(values)), y)


def _shape(name: str, x: float, y: float) -> str:
    shape, colour = LOOKS.get(name, OTHER)
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y:.1f}m{OUTLINES[shape]}" fill="{colour}"/>'


def _legend(shown: Sequence[str]) -> Iterable[str]:
    x = LEFT
    for name in shown:
        yield _shape(name, x, 42)
        yield f'<text x="{x + 10}" y="46">{escape(name)}</text>'
        x += 34 + 8 * len(name)


def _memory(size: float) -> str:
    return f"{size:g} MiB"


def _time(seconds: float) -> str:
    return seconds_text(seconds).replace("us", "µs")


def _rate(calls: float) -> str:
    return f"{calls:,.0f} / s"


def _description(
    plot: Plot, programs: dict[str, dict[str, list[float]]], shown: Sequence[str]
) -> str:
    """Return in words how Phintys compares with each of the others."""
    parts = [f"{len(programs)} programs."]
    for name in shown[1:]:
        both = [row for row in programs.values() if name in row and shown[0] in row]
        if both:
            ratios = [min(row[shown[0]]) / min(row[name]) for row in both]
            mean = statistics.geometric_mean(ratios)
            parts.append(f"{shown[0]} / {name}: {mean:.2f} in the geometric mean.")
    return " ".join(parts)
