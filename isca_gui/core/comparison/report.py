"""The report of a comparison: one HTML file without scripts that opens offline and prints well."""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import isca_gui
from isca_gui.core.alignment import words
from isca_gui.core.comparison import drawing
from isca_gui.core.comparison.kinds import KINDS
from isca_gui.core.distortion.distortions import UNLIKE
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.storage import files

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import Comparison

_WIDEST = 400
# Side in pixels of the part of a picture that is shown enlarged.
_DETAIL_SIDE = 96

# The look of a page, and of the sections on copies, which another page may contain as well.
PAGE_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .95rem; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid #ddd;
  vertical-align: top; }
figcaption { font-size: .85rem; color: #555; }
footer { margin-top: 3rem; font-size: .8rem; color: #666; }
@media (prefers-color-scheme: dark) { @media screen {
  body { color: #e8e8e8; background: #1c1c1e; } th, td { border-color: #444; }
  figcaption, footer { color: #aaa; } } }
"""
SECTION_STYLE = """
.copy h2, .copy h3 { font-size: 1.1rem; margin-top: 2.5rem; word-break: break-all; }
.copy .answer { font-size: 1.15rem; border-left: .35rem solid var(--kind); padding: .4rem .9rem;
  background: #f6f6f4; }
.copy .pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr));
  gap: 1rem; }
.copy figure { margin: 0; width: auto; max-width: 20rem; break-inside: avoid; }
.copy figure img { display: block; width: 100%; background: #808080; }
.copy figure .detail { image-rendering: pixelated; margin-top: .4rem; }
.copy .numbers { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0 3rem; }
.copy td.number { text-align: right; font-variant-numeric: tabular-nums; }
@media (prefers-color-scheme: dark) { @media screen { .copy .answer { background: #2a2a2c; } } }
"""


# What a reader has to know about the numbers of a section.
NOTES = (
    "MSE, PSNR and SSIM are those of the luma on the scale 0 to 255 (MSE: lower is better; SSIM: "
    "1 = identical). The probability is calibrated on scenes that were not used to train the "
    "classifier. Below each picture, a part in which the change shows is enlarged."
)


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
    sections = "\n".join(section(result) for result in results)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{PAGE_STYLE}{SECTION_STYLE}</style></head>
<body>
<h1>{title}</h1>
{many}
{sections}
<footer>ISCA Studio {isca_gui.__version__}. {NOTES}</footer>
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


def section(result: CopyResult, heading: str = "h2") -> str:
    """Return the answer for one copy as HTML; the page it is put into needs `SECTION_STYLE`."""
    name = f"<{heading}>{_text(_short(result.name))}</{heading}>"
    found = result.comparison
    if found is None:
        return f'<section class="copy">{name}<p>{_text(result.error or "")}</p></section>'
    colour = "#{:02x}{:02x}{:02x}".format(*drawing.colour_of(found.label))
    return f"""<section class="copy">{name}
<p class="answer" style="--kind: {colour}">{_text(found.sentence)}</p>
{_pictures(result)}
<div class="numbers">{_numbers(result, found)}{_probabilities(found)}</div>
</section>"""


def _pictures(result: CopyResult) -> str:
    found = result.comparison
    if found is None or result.copy is None or result.reference is None:
        return ""
    reference = drawing.laid_reference(result.reference, found)
    shown = {
        drawing.title_of_reference(found): drawing.to_pixels(reference),
        "copy": drawing.to_pixels(result.copy),
    }
    if found.damaged_share > 0:
        if found.made_again is not None:
            made = found.made_again / np.float32(255)
            shown["made again on the reference"] = drawing.to_pixels(made)
        shown["where and how strongly"] = drawing.map_over(result.copy, found)
    part = drawing.telling_part(reference, result.copy, _DETAIL_SIDE)
    figures = "".join(_figure(title, pixels, pixels[part]) for title, pixels in shown.items())
    return f'<div class="pictures">{figures}</div>'


def _figure(title: str, pixels: NDArray[np.uint8], detail: NDArray[np.uint8]) -> str:
    whole = f'<img alt="{title}" src="{_data(pixels)}">'
    part = f'<img class="detail" alt="{title}, a part enlarged" src="{_data(detail)}">'
    return f"<figure>{whole}{part}<figcaption>{title}</figcaption></figure>"


def _numbers(result: CopyResult, found: Comparison) -> str:
    rows = [("MSE", f"{found.mse:.4g}"), ("SSIM", f"{found.ssim:.4f}")]
    if found.psnr is not None:
        rows.insert(1, ("PSNR", f"{found.psnr:.2f} dB"))
    if found.explained is not None:
        rows.append(("explained by making it again", f"{found.explained:.1%}"))
    rows.append(("damaged", f"{found.damaged_share:.0%} of the blocks"))
    if found.geometry is not None and found.geometry.is_related:
        rows.append(("geometry", words.in_words(found.geometry) or "the same size and place"))
    for answer in found.regions:
        kind = drawing.title_of(UNLIKE if answer.judgement.unlike else answer.judgement.label)
        rows.append((answer.where, f"{kind}, {answer.region.share:.0%} of the picture"))
    if result.file_says is not None:
        rows.append(("the file says", _file_in_words(result.file_says)))
    if result.second_opinion is not None:
        rows.append(("ISCA trained on the reference", result.second_opinion.sentence))
    body = "".join(
        f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in rows
    )
    return f"<table>{body}</table>"


def _file_in_words(says: Mapping[str, Any]) -> str:
    words = [str(says["format"])]
    if says.get("quality") is not None:
        words.append(f"quality {says['quality']}")
    if says.get("subsampling"):
        words.append(says["subsampling"])
    return ", ".join(words)


def _probabilities(found: Comparison) -> str:
    likely = sorted(found.probabilities.items(), key=lambda pair: -pair[1])[:4]
    body = "".join(
        f'<tr><td>{_text(_title(kind))}</td><td class="number">{_probability(share)}</td></tr>'
        for kind, share in likely
        if share >= 0.005
    )
    if not body:
        return ""
    return f"<table><tr><th>kind</th><th>probability</th></tr>{body}</table>"


def _probability(share: float) -> str:
    """Return a probability with two digits; never 1.00, since no answer is certain."""
    return "above 0.99" if share >= 0.995 else f"{share:.2f}"


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
