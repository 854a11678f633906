"""The report of a comparison: one HTML file without scripts that opens offline and prints well."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

import isca_gui
from isca_gui.core.comparison import drawing
from isca_gui.core.comparison.kinds import KINDS, in_words
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.storage import files

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import Comparison

_WIDEST = 400
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; word-break: break-all; }
.answer { font-size: 1.15rem; border-left: .35rem solid var(--kind); padding: .4rem .9rem;
  background: #f6f6f4; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: 1rem; }
figure { margin: 0; break-inside: avoid; } figure img { width: 100%; background: #808080; }
figcaption { font-size: .85rem; color: #555; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .95rem; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid #ddd;
  vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
footer { margin-top: 3rem; font-size: .8rem; color: #666; }
section { break-inside: avoid-page; }
@media (prefers-color-scheme: dark) { @media screen {
  body { color: #e8e8e8; background: #1c1c1e; } .answer { background: #2a2a2c; }
  th, td { border-color: #444; } figcaption, footer { color: #aaa; } } }
"""


def save(path: str | os.PathLike[str], reference: str, results: Sequence[CopyResult]) -> None:
    """Write the report of all copies of a reference, atomically."""
    try:
        files.write_text(path, page(reference, results))
    except OSError as error:
        raise ImageError(f"Cannot write report '{path}': {error.strerror or error}.") from error


def page(reference: str, results: Sequence[CopyResult]) -> str:
    """Return the report as one HTML document: answers first, then pictures, proof and numbers."""
    title = f"Copies of {_text(_short(reference))}"
    many = _summary(results) if len(results) > 1 else ""
    sections = "\n".join(_section(result) for result in results)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{_STYLE}</style></head>
<body>
<h1>{title}</h1>
{many}
{sections}
<footer>ISCA Studio {isca_gui.__version__}. MSE, PSNR and SSIM are measured on the luma,
on the 0 to 255 scale (MSE: lower is better; SSIM: 1 = identical). The probability is calibrated
on scenes that were not used to train the classifier.</footer>
</body></html>
"""


def _summary(results: Sequence[CopyResult]) -> str:
    rows = "\n".join(
        f"<tr><td>{_text(_short(result.name))}</td><td>{_text(_said(result))}</td></tr>"
        for result in results
    )
    return f"<table><tr><th>copy</th><th>answer</th></tr>\n{rows}</table>"


def _said(result: CopyResult) -> str:
    if result.comparison is None:
        return result.error or ""
    return result.comparison.sentence


def _section(result: CopyResult) -> str:
    name = f"<h2>{_text(_short(result.name))}</h2>"
    found = result.comparison
    if found is None:
        return f"<section>{name}<p>{_text(result.error or '')}</p></section>"
    colour = "#{:02x}{:02x}{:02x}".format(*drawing.colour_of(found.label))
    return f"""<section>{name}
<p class="answer" style="--kind: {colour}">{_text(found.sentence)}</p>
{_pictures(result)}
{_numbers(found)}
{_probabilities(found)}
</section>"""


def _pictures(result: CopyResult) -> str:
    found = result.comparison
    if found is None or result.copy is None or result.reference is None:
        return ""
    shown = [
        ("copy", drawing.to_pixels(result.copy)),
        ("where and how strongly", drawing.map_over(result.copy, found)),
        ("original", drawing.to_pixels(result.reference)),
    ]
    if found.made_again is not None:
        made = found.made_again / np.float32(255)
        shown.append(("repeated on the original", drawing.to_pixels(made)))
    figures = "".join(_figure(title, pixels) for title, pixels in shown)
    return f'<div class="pictures">{figures}</div>'


def _figure(title: str, pixels: NDArray[np.uint8]) -> str:
    picture = f'<img alt="{title}" src="{_data(pixels)}">'
    return f"<figure>{picture}<figcaption>{title}</figcaption></figure>"


def _numbers(found: Comparison) -> str:
    rows = [("MSE", f"{found.mse:.4g}"), ("SSIM", f"{found.ssim:.4f}")]
    if found.psnr is not None:
        rows.insert(1, ("PSNR", f"{found.psnr:.2f} dB"))
    if found.explained is not None:
        rows.append(("explained by repeating it", f"{found.explained:.1%}"))
    rows.append(("damaged", f"{found.damaged_share:.0%} of the blocks"))
    rows += [
        (KINDS[part].title, in_words(part, found.parameters.get(part, {}))) for part in found.parts
    ]
    for answer in found.regions:
        rows.append((f"region {answer.where}", f"{answer.region.share:.0%} of the picture"))
    body = "".join(
        f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in rows
    )
    return f"<table>{body}</table>"


def _probabilities(found: Comparison) -> str:
    likely = sorted(found.probabilities.items(), key=lambda pair: -pair[1])[:4]
    body = "".join(
        f'<tr><td>{_text(_title(kind))}</td><td class="number">{share:.3f}</td></tr>'
        for kind, share in likely
        if share >= 0.0005
    )
    if not body:
        return ""
    return f"<table><tr><th>kind</th><th>probability</th></tr>{body}</table>"


def _title(kind: str) -> str:
    return KINDS[kind].title if kind in KINDS else "None of these"


def _data(pixels: NDArray[np.uint8]) -> str:
    """Return a picture inside a link, small enough for a page."""
    picture = Image.fromarray(pixels)
    picture.thumbnail((_WIDEST, _WIDEST), Image.Resampling.LANCZOS)
    stream = io.BytesIO()
    picture.save(stream, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"


def _short(name: str) -> str:
    """Return a file's name without its folder, which is nobody's business in a report."""
    short = name if name.startswith("sample:") else name.replace("\\", "/").rsplit("/", 1)[-1]
    return short.encode("utf-8", "backslashreplace").decode()


def _text(words: str) -> str:
    return html.escape(words)
