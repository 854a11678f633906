"""The report as plain HTML for a printer: tables instead of a style sheet's grids.

A program that prints rich text knows little of style sheets, so that the look is in attributes.
"""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isca_gui.core.comparison import drawing, parameters, proof_svg
from isca_gui.core.distortion.distortions import UNLIKE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import Comparison
    from isca_gui.core.comparison.evidence import Evidence

# The width of a page and of a picture on it, in pixels of the printed document.
PAGE_WIDTH = 680
_PICTURE_WIDTH = 160
# Begins another page.
PAGE_BREAK = '<p style="page-break-before: always"></p>'
# Shares of the width for the columns of the table of copies.
_WIDTHS = ("17%", "43%", "8%", "8%", "24%")
_GOOD = "#12703c"
_BAD = "#b3261e"
_FAINT = "#59616c"


@dataclass(frozen=True)
class Figure:
    """A picture of a report: its title, and the whole and a part of it as data links."""

    title: str
    whole: str
    detail: str = ""


def section(
    result: CopyResult,
    broken: Sequence[str] | None,
    figures: Sequence[Figure],
    proofs: Sequence[Evidence],
) -> str:
    """Return what is printed of one copy.

    Parameters
    ----------
    result
        The answer.
    broken
        Why it breaks the limits; None where there are none.
    figures
        The pictures to show.
    proofs
        What proves the answer.
    """
    name = result.name if result.name.startswith("sample:") else result.name.replace("\\", "/")
    short = name.rsplit("/", 1)[-1].encode("utf-8", "backslashreplace").decode()
    heading = f"<h2>{html.escape(short)}</h2>"
    found = result.comparison
    if found is None:
        return f"{heading}<p>{html.escape(result.error or '')}</p>"
    colour = "#{:02x}{:02x}{:02x}".format(
        *drawing.colour_of(UNLIKE if found.unlike else found.label)
    )
    answer = (
        f'<table width="100%" cellspacing="0" cellpadding="6"><tr><td width="6" '
        f'bgcolor="{colour}"></td><td bgcolor="#f5f6f8"><big>{html.escape(found.sentence)}</big>'
        "</td></tr></table>"
    )
    return f"{heading}{answer}{_verdict(broken)}{_pictures(figures)}{_numbers(found, proofs)}"


def document(title: str, lead: str, table: str, sections: str, footer: str) -> str:
    """Return the whole printed document; all but the title and the lead are HTML."""
    return (
        f"<h1>{html.escape(title)}</h1><p><big>{html.escape(lead)}</big></p>{table}{sections}"
        f'<hr><p><font color="{_FAINT}" size="2">{footer}</font></p>'
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts, its headings first."""
    head = "".join(
        f'<th align="left" width="{width}">{html.escape(cell)}</th>'
        for cell, width in zip(rows[0], _WIDTHS, strict=False)
    )
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows[1:]
    )
    return (
        f'<table width="100%" border="1" cellspacing="0" cellpadding="4" '
        f'style="border-color:#d9dde3"><tr>{head}</tr>{body}</table>'
    )


def _verdict(broken: Sequence[str] | None) -> str:
    if broken is None:
        return ""
    if not broken:
        return f'<p><font color="{_GOOD}"><b>✓ within the limits</b></font></p>'
    return f'<p><font color="{_BAD}"><b>✗ {html.escape("; ".join(broken))}</b></font></p>'


def _pictures(figures: Sequence[Figure]) -> str:
    if not figures:
        return ""
    cells = []
    for figure in figures:
        whole = f'<img src="{figure.whole}" width="{_PICTURE_WIDTH}"><br>'
        detail = ""
        if figure.detail:
            detail = f'<img src="{figure.detail}" width="{_PICTURE_WIDTH}"><br>'
        caption = f'<font color="{_FAINT}" size="2">{figure.title}</font>'
        cells.append(f"<td>{whole}{detail}{caption}</td>")
    return f'<table cellpadding="4"><tr>{"".join(cells)}</tr></table>'


def _numbers(found: Comparison, proofs: Sequence[Evidence]) -> str:
    rows = [["", ""]]
    for kind, name, value in parameters.all_parameters(found):
        rows.append([parameters.describe(kind, name).title, parameters.in_words(kind, name, value)])
    rows += [["MSE", f"{found.mse:.4g}"], ["SSIM", f"{found.ssim:.4f}"]]
    if found.psnr is not None:
        rows.insert(-1, ["PSNR", f"{found.psnr:.2f} dB"])
    if found.explained is not None:
        rows.append(["explained by making it again", f"{found.explained:.1%}"])
    rows.append(["damaged", f"{found.damaged_share:.0%} of the blocks"])
    body = "".join(
        f"<tr><td>{html.escape(name)}</td><td><b>{html.escape(value)}</b></td></tr>"
        for name, value in rows[1:]
    )
    numbers = f'<table cellpadding="3">{body}</table>'
    drawn = "".join(
        f'<td><b>{html.escape(each.title)}</b><br><img src="{_drawing(each)}"><br>'
        f'<font color="{_FAINT}" size="2">{html.escape(each.sentence)}</font></td>'
        for each in proofs
    )
    return f'<table cellpadding="6"><tr><td>{numbers}</td>{drawn}</tr></table>'


def _drawing(evidence: Evidence) -> str:
    """Return a drawing as a link that stands on its own."""
    alone = proof_svg.svg(evidence).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    data = alone.replace("currentColor", "#1a1d21").encode()
    return f"data:image/svg+xml;base64,{base64.b64encode(data).decode('ascii')}"
