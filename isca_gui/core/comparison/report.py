"""The report of a comparison: one HTML file without scripts that opens offline and prints well."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

import isca_gui
from isca_gui.core.alignment import words
from isca_gui.core.comparison import drawing, evidence, printing, proof_svg, summary
from isca_gui.core.comparison.kinds import KINDS
from isca_gui.core.comparison.printing import Figure
from isca_gui.core.distortion.distortions import UNLIKE
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.storage import files

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import Comparison
    from isca_gui.core.comparison.evidence import Evidence
    from isca_gui.core.comparison.profile import Profile

_WIDEST = 400
# Side in pixels of the part of a picture that is shown enlarged.
_DETAIL_SIDE = 96

# The look of a page, and of the sections on copies, which another page may contain as well.
PAGE_STYLE = """
:root { --ink: #1a1d21; --paper: #ffffff; --card: #f5f6f8; --line: #d9dde3; --faint: #59616c;
  --good: #12703c; --bad: #b3261e; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin-bottom: .3rem; overflow-wrap: anywhere; }
.lead { font-size: 1.1rem; margin-top: 0; color: var(--faint); }
table { border-collapse: collapse; margin: 1rem 0; font-size: .95rem; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.summary { width: 100%; }
.summary td:first-child { overflow-wrap: anywhere; min-width: 8rem; }
.swatch { display: inline-block; width: .75em; height: .75em; border-radius: .15em;
  background: var(--kind); margin-right: .45em; }
.pass { color: var(--good); } .fail { color: var(--bad); }
figcaption { font-size: .85rem; color: var(--faint); }
footer { margin-top: 3rem; padding-top: .6rem; border-top: 1px solid var(--line);
  font-size: .8rem; color: var(--faint); }
@media (prefers-color-scheme: dark) { @media screen { :root { --ink: #e8e8ea; --paper: #1b1d21;
  --card: #26292f; --line: #434852; --faint: #a6adb8; --good: #6fcf97; --bad: #ff8a80; } } }
@media print { body { margin: 0; max-width: none; font-size: 11pt; }
  thead { display: table-header-group; } tr { break-inside: avoid; } }
@page { margin: 15mm; }
"""
SECTION_STYLE = """
.copy { margin-top: 2.2rem; break-inside: auto; }
.copy h2, .copy h3 { font-size: 1.1rem; margin-bottom: .5rem; overflow-wrap: anywhere;
  break-after: avoid; }
.copy .answer { font-size: 1.2rem; border-left: .4rem solid var(--kind); padding: .5rem .9rem;
  background: var(--card, #f5f6f8); border-radius: .2rem; margin: .5rem 0; break-inside: avoid; }
.copy .verdict { font-weight: 600; margin: .4rem 0; }
.copy .pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr));
  gap: 1rem; margin: 1rem 0; }
.copy figure { margin: 0; width: auto; max-width: 22rem; break-inside: avoid; }
.copy figure img { display: block; width: 100%; background: #808080; border-radius: .2rem; }
.copy figure .detail { image-rendering: pixelated; margin-top: .4rem; }
.copy .numbers { display: flex; flex-wrap: wrap; align-items: flex-start; gap: 0 3rem; }
.copy .proof { margin: 1rem 0; max-width: 26rem; }
.copy .proof svg { max-width: 100%; height: auto; }
.copy td.number { text-align: right; font-variant-numeric: tabular-nums; }
"""

# What a reader has to know about the numbers of a section.
NOTES = (
    "MSE, PSNR and SSIM are those of the luma on the scale 0 to 255 (MSE: lower is better; SSIM: "
    "1 = identical). The probability is calibrated on scenes that were not used to train the "
    "classifier. Below each picture, a part in which the change shows is enlarged."
)


@dataclass(frozen=True, eq=False)
class Part:
    """What a report holds of one copy: its row, its section, and the same for a printed page.

    Parameters
    ----------
    result
        The answer without pictures.
    broken
        Why it breaks the limits; None where there are no limits.
    section
        Its section as HTML.
    printed
        The same in the plain HTML that is printed as PDF.
    """

    result: CopyResult
    broken: list[str] | None
    section: str
    printed: str


def save(
    path: str | os.PathLike[str],
    reference: str,
    results: Sequence[CopyResult],
    profile: Profile | None = None,
) -> None:
    """Write the report of all copies of a reference, atomically.

    Parameters
    ----------
    path
        The file to write.
    reference
        The name of the original.
    results
        The answers, with their pictures.
    profile
        Limits that the copies must keep.
    """
    save_parts(path, reference, [part_of(result, profile) for result in results], profile)


def save_parts(
    path: str | os.PathLike[str],
    reference: str,
    parts: Sequence[Part],
    profile: Profile | None = None,
) -> None:
    """Write the report whose parts are made already, atomically.

    Parameters
    ----------
    path, reference, profile
        As in `save`.
    parts
        What `part_of` gives for each copy.
    """
    try:
        files.write_text(path, page_of(reference, parts, profile))
    except OSError as error:
        raise ImageError(f"Cannot write report '{path}': {error.strerror or error}.") from error


def page(reference: str, results: Sequence[CopyResult], profile: Profile | None = None) -> str:
    """Return the report as one HTML document: answers first, then pictures, proof and numbers."""
    return page_of(reference, [part_of(result, profile) for result in results], profile)


def page_of(reference: str, parts: Sequence[Part], profile: Profile | None = None) -> str:
    """Return the report of parts that are made already."""
    title = f"Copies of {_text(_short(reference))}"
    many = _summary(parts, profile) if len(parts) > 1 else ""
    lead = f'<p class="lead">{_text(lead_of(parts))}</p>' if len(parts) > 1 else ""
    sections = "\n".join(part.section for part in parts)
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><style>{PAGE_STYLE}{SECTION_STYLE}</style></head>
<body>
<h1>{title}</h1>
{lead}
{many}
{sections}
<footer>{_settings(profile)}ISCA Studio {isca_gui.__version__}. {NOTES}</footer>
</body></html>
"""


def lead_of(parts: Sequence[Part]) -> str:
    """Return the first line of a report: what was done to how many copies, and how many pass."""
    said = summary.in_one_line(part.result.comparison for part in parts)
    judged = [part.broken for part in parts if part.broken is not None]
    if judged:
        kept = sum(not broken for broken in judged)
        said += f". {kept} of {len(judged)} within the limits"
    return f"{said}."


def _settings(profile: Profile | None) -> str:
    if profile is None or profile.empty:
        return ""
    return f"Limits: {_text('; '.join(profile.lines))}. "


def part_of(result: CopyResult, profile: Profile | None = None) -> Part:
    """Return what a report holds of a copy; its pictures are drawn and let go of."""
    found = result.comparison
    broken = None
    if found is not None and profile is not None:
        broken = profile.broken(found)
    light = result
    if found is not None:
        light = replace(result, comparison=replace(found, make_again=None))
    figures = _figures(result)
    proofs = _proofs(result)
    return Part(
        replace(light, reference=None, copy=None),
        broken,
        _section(result, "h2", broken, figures, proofs),
        printing.section(result, broken, figures, proofs),
    )


def _summary(parts: Sequence[Part], profile: Profile | None) -> str:
    limits = "<th>limits</th>" if profile is not None else ""
    rows = "\n".join(_summary_row(part, profile is not None) for part in parts)
    return (
        '<table class="summary"><thead><tr><th>copy</th><th>answer</th>'
        '<th class="number">MSE</th><th class="number">PSNR</th><th class="number">SSIM</th>'
        f"{limits}</tr></thead>\n<tbody>{rows}</tbody></table>"
    )


def _summary_row(part: Part, limited: bool) -> str:
    found = part.result.comparison
    name = _text(_short(part.result.name))
    numbers = ["", "", ""]
    swatch = ""
    if found is not None:
        numbers = [f"{found.mse:.4g}", _decibels(found), f"{found.ssim:.3f}"]
        swatch = f'<span class="swatch" style="--kind: {_colour(found)}"></span>'
    cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
    verdict = f"<td>{_verdict(part.broken)}</td>" if limited else ""
    return f"<tr><td>{name}</td><td>{swatch}{_text(_said(part.result))}</td>{cells}{verdict}</tr>"


def _verdict(broken: Sequence[str] | None) -> str:
    if broken is None:
        return ""
    if not broken:
        return '<span class="pass">✓ within the limits</span>'
    return f'<span class="fail">✗ {_text("; ".join(broken))}</span>'


def _colour(found: Comparison) -> str:
    label = UNLIKE if found.unlike else found.label
    return "#{:02x}{:02x}{:02x}".format(*drawing.colour_of(label))


def _decibels(found: Comparison) -> str:
    return f"{found.psnr:.1f} dB" if found.psnr is not None else "∞"


def _said(result: CopyResult) -> str:
    if result.comparison is None:
        return result.error or ""
    return result.comparison.sentence


def section(result: CopyResult, heading: str = "h2") -> str:
    """Return the answer for one copy as HTML; the page it is put into needs `SECTION_STYLE`."""
    return _section(result, heading, None, _figures(result), _proofs(result))


def _section(
    result: CopyResult,
    heading: str,
    broken: Sequence[str] | None,
    figures: Sequence[Figure],
    proofs: Sequence[Evidence],
) -> str:
    name = f"<{heading}>{_text(_short(result.name))}</{heading}>"
    found = result.comparison
    if found is None:
        return f'<section class="copy">{name}<p>{_text(result.error or "")}</p></section>'
    verdict = f'<p class="verdict">{_verdict(broken)}</p>' if broken is not None else ""
    pictures = "".join(map(_figure, figures))
    return f"""<section class="copy">{name}
<p class="answer" style="--kind: {_colour(found)}">{_text(found.sentence)}</p>
{verdict}<div class="pictures">{pictures}</div>
<div class="numbers">{_numbers(result, found)}{_probabilities(found)}{_proof(proofs)}</div>
</section>"""


def _proofs(result: CopyResult) -> Sequence[Evidence]:
    if result.comparison is None or result.reference is None or result.copy is None:
        return ()
    return evidence.find_evidence(result.reference, result.copy, result.comparison)


def _proof(proofs: Sequence[Evidence]) -> str:
    return "".join(
        f'<figure class="proof">{proof_svg.svg(each)}'
        f"<figcaption>{_text(f'{each.title}. {each.sentence}')}</figcaption></figure>"
        for each in proofs
    )


def _figures(result: CopyResult) -> list[Figure]:
    """Return the pictures of a copy: both pictures, the answer made again, and the map."""
    found = result.comparison
    if found is None or result.copy is None or result.reference is None:
        return []
    reference = drawing.laid_reference(result.reference, found)
    shown = {
        "copy": drawing.to_pixels(result.copy),
        drawing.title_of_reference(found): drawing.to_pixels(reference),
    }
    if found.damaged_share > 0:
        if found.made_again is not None:
            made = found.made_again / np.float32(255)
            shown["made again on the original"] = drawing.to_pixels(made)
        shown["where and how strongly"] = drawing.map_over(result.copy, found)
    part = drawing.telling_part(reference, result.copy, _DETAIL_SIDE)
    return [Figure(title, _data(pixels), _data(pixels[part])) for title, pixels in shown.items()]


def _figure(figure: Figure) -> str:
    whole = f'<img alt="{figure.title}" src="{figure.whole}">'
    part = ""
    if figure.detail:
        part = f'<img class="detail" alt="{figure.title}, a part enlarged" src="{figure.detail}">'
    return f"<figure>{whole}{part}<figcaption>{figure.title}</figcaption></figure>"


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
    picture.save(stream, "PNG")
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"


def _short(name: str) -> str:
    """Return a file's name without its folder, which is nobody's business in a report."""
    short = name if name.startswith("sample:") else name.replace("\\", "/").rsplit("/", 1)[-1]
    return short.encode("utf-8", "backslashreplace").decode()


def _text(words: str) -> str:
    return html.escape(words)


def printed_of(reference: str, parts: Sequence[Part], profile: Profile | None = None) -> str:
    """Return the report in the plain HTML that is printed."""
    rows = [["copy", "answer", "MSE", "SSIM", *(["limits"] if profile is not None else [])]]
    for part in parts:
        found = part.result.comparison
        numbers = ["", ""] if found is None else [f"{found.mse:.4g}", f"{found.ssim:.3f}"]
        limits = []
        if profile is not None:
            limits = ["; ".join(part.broken) or "within" if part.broken is not None else ""]
        rows.append([_short(part.result.name), _said(part.result), *numbers, *limits])
    return printing.document(
        f"Copies of {_short(reference)}",
        lead_of(parts) if len(parts) > 1 else "",
        printing.table(rows) if len(parts) > 1 else "",
        (printing.PAGE_BREAK if len(parts) > 1 else "")
        + printing.PAGE_BREAK.join(part.printed for part in parts),
        f"{_settings(profile)}ISCA Studio {isca_gui.__version__}. {_text(NOTES)}",
    )
