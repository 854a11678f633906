"""The proof of an answer as an SVG drawing that stands inside an HTML page."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.comparison import evidence as proofs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isca_gui.core.comparison.evidence import Evidence

WIDTH = 360
HEIGHT = 220
# Room for the labels of the axes, in pixels.
_LEFT = 46
_BOTTOM = 34
_TOP = 8
_RIGHT = 8
_AXES = {
    proofs.CURVE: "grey value of the original",
    proofs.KERNEL: "pixels from the middle",
    proofs.HISTOGRAM: "change in grey levels",
}
_COLOURS = {"red": "#D55E00", "green": "#009E73", "blue": "#0072B2"}
_OTHERS = ("#0072B2", "#D55E00", "#009E73")
_CELL = 26


def svg(evidence: Evidence) -> str:
    """Return a drawing of what proves an answer; its lines have the colour of the text around."""
    if evidence.form == proofs.TABLE and evidence.table is not None:
        inside = _cells(evidence.table)
        width = height = 8 * _CELL
    else:
        inside = _lines(evidence)
        width, height = WIDTH, HEIGHT
    title = html.escape(evidence.title)
    return (
        f'<svg role="img" aria-label="{title}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">{inside}</svg>'
    )


def _cells(table: NDArray[np.float64]) -> str:
    largest = max(float(np.log1p(table).max()), 1e-6)
    parts = []
    for (row, column), step in np.ndenumerate(table):
        shade = 0.06 + 0.5 * float(np.log1p(step)) / largest
        x = column * _CELL
        y = row * _CELL
        text = f"{step:.0f}" if step else "·"
        parts.append(
            f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" fill="#0B62C4" '
            f'fill-opacity="{shade:.2f}"></rect>'
            f'<text x="{x + _CELL / 2}" y="{y + _CELL / 2 + 4}" text-anchor="middle" '
            f'fill="currentColor">{text}</text>'
        )
    return "".join(parts)


def _lines(evidence: Evidence) -> str:
    x = evidence.x
    values = np.concatenate([line[np.isfinite(line)] for line in evidence.lines.values()])
    low = min(float(values.min(initial=0)), 0.0)
    high = float(values.max(initial=0)) or 1.0
    if evidence.form == proofs.CURVE:
        low, high = 0.0, 255.0
    first, last = float(x.min()), float(x.max())

    def across(value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (value - first) / max(last - first, 1e-9)

    def down(value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * (value - low) / (high - low)

    parts = [_frame(evidence, (first, last), (low, high))]
    if evidence.form == proofs.CURVE:
        parts.append(
            f'<line x1="{across(0):.1f}" y1="{down(0):.1f}" x2="{across(255):.1f}" '
            f'y2="{down(255):.1f}" stroke="currentColor" stroke-opacity="0.5" '
            'stroke-dasharray="3 3"></line>'
        )
    for place, (name, line) in enumerate(evidence.lines.items()):
        points = " ".join(
            f"{across(float(a)):.1f},{down(float(b)):.1f}"
            for a, b in zip(x, line, strict=True)
            if np.isfinite(b)
        )
        colour = _COLOURS.get(name, _OTHERS[place % len(_OTHERS)])
        dashes = ' stroke-dasharray="6 4"' if place and name not in _COLOURS else ""
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashes}>'
            "</polyline>"
        )
    return "".join(parts)


def _frame(evidence: Evidence, wide: tuple[float, float], high: tuple[float, float]) -> str:
    """Return the axes with the values at their ends, and what runs along the lower one."""
    bottom = HEIGHT - _BOTTOM
    right = WIDTH - _RIGHT
    texts = [
        (_LEFT, bottom + 14, "start", f"{wide[0]:.3g}"),
        (right, bottom + 14, "end", f"{wide[1]:.3g}"),
        ((_LEFT + right) / 2, HEIGHT - 6, "middle", _AXES[evidence.form]),
        (_LEFT - 4, bottom, "end", f"{high[0]:.3g}"),
        (_LEFT - 4, _TOP + 10, "end", f"{high[1]:.3g}"),
    ]
    words = "".join(
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">'
        f"{html.escape(text)}</text>"
        for x, y, anchor, text in texts
    )
    return (
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.6"></path>{words}'
    )
