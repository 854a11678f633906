"""The report of the reproduction: one HTML file that needs no scripts and no network."""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING

import isca_gui
from isca_gui.core.distortion.distortions import DISTORTIONS, ORIGINAL, TABLE, UNDECIDED_LABEL
from isca_gui.core.paper import explanations
from isca_gui.core.paper.figures import colour
from isca_gui.core.paper.plan import PRINTED, TEST_LABELS, TEST_MSE, Vote, letter
from isca_gui.core.paper.results import Score, printed_score, score_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isca_gui.core.paper.results import Findings, MethodResult

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 Georgia, 'Times New Roman', serif; color: #1a1a1a; background: #fff;
  max-width: 66rem; margin: 2rem auto; padding: 0 1.2rem; }
h1, h2, th, td, figcaption, caption, .facts {
  font-family: system-ui, Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: .3rem; }
h2 { font-size: 1.25rem; margin-top: 2.4rem; border-bottom: 1px solid #ccc; padding-bottom: .2rem; }
.facts { color: #555; margin-top: 0; }
p, li { max-width: 46rem; }
figure { margin: 1.4rem 0; }
img { width: 100%; height: auto; display: block; }
figcaption, caption { font-size: .86rem; color: #444; text-align: left; margin: .5rem 0;
  max-width: 54rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .82rem; margin: 1rem 0;
  font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid #e2e2e2;
  white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; }
th:first-child { text-align: left; }
tbody th { vertical-align: top; }
thead th { border-bottom: 1.5px solid #333; }
tbody tr.first td, tbody tr.first th { border-top: 1.5px solid #999; }
tr.baseline td, tr.baseline th { background: #f6f1e4; }
.votes { font-size: .74rem; }
.votes th, .votes td { padding: .2rem .3rem; line-height: 1.45; }
.v { display: block; }
.v b { display: inline-block; min-width: 1.1em; text-align: center; border-radius: 2px;
  padding: 0 .15em; border: 1px solid #bbb; font-weight: 600; color: #777; background: #fff; }
.v.hit b { color: #000; border-color: #000; }
.paper { color: #555; }
ul.key { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem;
  max-width: none; font: .84rem system-ui, sans-serif; }
@media print {
  @page { size: A4; margin: 14mm; }
  body { max-width: none; margin: 0; padding: 0; font-size: 10pt; }
  h2 { break-after: avoid; }
  figure, tr, li { break-inside: avoid; }
  thead { display: table-header-group; }
  .wide { overflow: visible; }
  table { font-size: 7pt; }
  .votes { font-size: 5.6pt; }
  th, td { padding: .12rem .3rem; }
  .votes th, .votes td { padding: .1rem .12rem; }
  .v b, tr.baseline td, tr.baseline th { print-color-adjust: exact;
    -webkit-print-color-adjust: exact; }
}
"""
# The description of each figure for readers who cannot see it.
_ALT = {
    "fig1-training-set": "The original and six distorted pictures, and their SSIM against MSE",
    "fig2-bases": "The first column of U, V and J of all blocks as pictures",
    "fig3-confusion": "Confusion matrices of eight methods, as published",
    "fig3-confusion-extended": "Confusion matrices with the extended descriptor and evidence rule",
    "fig4-test-set": "The test pictures",
    "fig5-reconstructions": "Training and test pictures and their reconstructions",
    "fig6-convergence": "SSIM distance and residuals against the epoch",
}
_CAPTIONS = {
    "fig1-training-set": (
        "<b>Figure 1.</b> Examples from the training set with about the same error. The last "
        "panel shows the SSIM of all training pictures: at equal MSE, luminance and contrast "
        "preserve the structure, while blur, noise and JPEG do not."
    ),
    "fig2-bases": (
        "<b>Figure 2.</b> The first dimension of U, V and J of ISCA, with all blocks in their "
        "places; middle grey is zero. U and V are close to each other; J has collected edges."
    ),
    "fig3-confusion": (
        "<b>Figure 3.</b> As published: only the coordinates in the subspace are compared, each "
        "block votes for its nearest neighbour, and the majority decides. Rows are the actual "
        "classes, columns the verdicts, and the numbers count pictures; the last column, ?, is "
        "undecided. The percentage of correct verdicts is that of the distorted pictures, "
        "because the original is the only picture of its class and cannot be recognised when it "
        "is left out. A picture is undecided if more blocks are undecided than vote for any "
        "class."
    ),
    "fig3-confusion-extended": (
        "<b>Figure 3, continued.</b> The same models with the descriptor and rule of this program: "
        "three more numbers per block (its mean, and the length and 4-norm of the part outside the "
        "subspace), and the verdict “original” only if nearly all blocks vote for it."
    ),
    "fig5-reconstructions": (
        "<b>Figure 5.</b> Reconstruction by ISCA from four numbers per block: training pictures "
        "(a) to (c) with their reconstructions (d) to (f), and below them the reconstructed test "
        "pictures. The SSIM compares each with the picture it was made from."
    ),
    "fig6-convergence": (
        "<b>Convergence.</b> The published criterion is evaluated at U before it is orthonormal, "
        "and looks better than what the orthonormal basis achieves. Kernel methods measure in "
        "their own feature spaces, so their curves cannot be compared with those of ISCA."
    ),
}


def page(findings: Findings, drawn: Mapping[str, bytes], vectors: Iterable[str]) -> str:
    """Return the report.

    Parameters
    ----------
    findings
        What the reproduction found.
    drawn
        The bytes of each figure by its name.
    vectors
        The names of the figures that are SVG; the others are PNG.
    """
    vectors = set(vectors)
    captions = {**_CAPTIONS, "fig4-test-set": _test_caption(findings)}

    def figure(name: str) -> str:
        if name not in drawn:
            return ""
        kind = "svg+xml" if name in vectors else "png"
        data = base64.b64encode(drawn[name]).decode()
        return (
            f"<figure><img alt='{html.escape(_ALT[name])}' src='data:image/{kind};base64,{data}'>"
            f"<figcaption>{captions[name]}</figcaption></figure>"
        )

    sections = (
        _head(findings),
        _summary(findings),
        _data(findings),
        figure("fig1-training-set"),
        "<h2>Training</h2>",
        figure("fig2-bases"),
        figure("fig6-convergence"),
        "<h2>Leave-one-out</h2>",
        figure("fig3-confusion"),
        figure("fig3-confusion-extended"),
        _recalls(findings),
        "<h2>Test pictures</h2>",
        figure("fig4-test-set"),
        _published_votes(findings),
        _extended_votes(findings),
        "<h2>Reconstruction</h2>",
        figure("fig5-reconstructions"),
        _reconstruction(findings),
        "<h2>Where our numbers differ from the paper’s, and why</h2>",
        _differences(findings),
        _times(findings),
    )
    title = html.escape(f"The paper reproduced: {findings.name}")
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        "<meta name='viewport' content='width=device-width'>"
        f"<meta name='generator' content='ISCA Studio {isca_gui.__version__}'>"
        f"<style>{_STYLE}</style></head><body>{''.join(sections)}</body></html>\n"
    )


def _test_caption(findings: Findings) -> str:
    missed = [test.letters for test in findings.tests if test.achieved_mse is None]
    left_out = ""
    if missed:
        left_out = f" This picture cannot reach that error with {', '.join(missed)}."
    return (
        "<b>Figure 4.</b> Pictures that are not in the training set, with noise of their own, at "
        f"MSE {TEST_MSE:.0f}, numbered as in the paper. In a mixture, the first distortion causes "
        f"half of the error.{left_out}"
    )


def _head(findings: Findings) -> str:
    height, width = findings.dataset.reference.shape
    how = "with the published settings"
    if findings.plan.quick:
        how = "in a shortened run (every second pixel, fewer levels and epochs)"
    return (
        "<h1>ISCA: the paper’s experiments reproduced</h1><p class='facts'>Ghojogh, Karray and "
        "Crowley, <i>Principal Component Analysis Using Structural Similarity Index for Images</i> "
        f"(2019), Section 6, on {html.escape(findings.name)}, {width}×{height} pixels, {how}. "
        f"ISCA Studio {isca_gui.__version__}.</p>"
    )


def _summary(findings: Findings) -> str:
    rows = ""
    for result in findings.methods:
        printed = printed_score(result.key)
        cells = (
            _percent(result.published.accuracy),
            _percent(result.published.block_accuracy),
            *_counts(score_of(result.published_tests)),
            *(_counts(printed) if printed else ("–", "–")),
            _percent(result.extended.accuracy),
            *_counts(score_of(result.extended_tests)),
            f"{result.curves['objective'][-1]:.4f}",
        )
        rows += _row(result.title, cells, baseline=_is_baseline(result))
    head = (
        "<tr><th rowspan=2>method<th colspan=4>as published<th colspan=2>printed in the paper"
        "<th colspan=3>extended descriptor, evidence<th rowspan=2>SSIM<br>distance</tr>"
        "<tr><th>leave-<br>one-out<th>blocks<br>correct<th>single<br>tests<th>mixed<br>tests"
        "<th>single<br>tests<th>mixed<br>tests"
        "<th>leave-<br>one-out<th>single<br>tests<th>mixed<br>tests</tr>"
    )
    paragraphs = "".join(f"<p>{text}</p>" for text in explanations.summary(findings))
    return (
        f"<h2>Summary</h2>{paragraphs}{_table(head, rows)}<p class='facts'>Single tests: the "
        "distortion has the largest vote. Mixed tests: both distortions have the two largest "
        "votes. SSIM distance: the mean over all blocks for the orthonormal basis, for each "
        "method in its own space and for PCA about its mean block; lower is better. The shaded "
        "row has learned nothing.</p>"
    )


def _data(findings: Findings) -> str:
    dataset = findings.dataset
    spec = findings.plan.dataset
    labels = (ORIGINAL, *(row.name for row in TABLE), UNDECIDED_LABEL)
    key = "".join(f"<li>{_chip(label)} {html.escape(_title(label))}</li>" for label in labels)
    left_out = ""
    if dataset.unreachable:
        missed = "".join(
            f"<li>{html.escape(each.kind)} cannot reach MSE {each.target_mse:g}; {each.reach}</li>"
            for each in dataset.unreachable
        )
        left_out = f"<p>Left out:</p><ul>{missed}</ul>"
    return (
        f"<h2>Data</h2><p>{len(dataset.entries)} training pictures: the original, and "
        f"{len(spec.kinds)} distortions at {len(spec.levels)} levels from MSE {spec.levels[0]:g} "
        f"to {spec.levels[-1]:g}. Blocks of 8×8 pixels, four components each.</p><ul "
        f"class='key'>{key}</ul>{left_out}"
    )


def _recalls(findings: Findings) -> str:
    classes = findings.methods[0].published.classes[1:]
    rows = ""
    for result in findings.methods:
        for how, matrix in (("published", result.published), ("extended", result.extended)):
            recalls = (_percent(matrix.recall[label]) for label in classes)
            title = result.title if how == "published" else None
            cells = (how, *recalls, _percent(matrix.accuracy))
            rows += _row(title, cells, rows=2, baseline=_is_baseline(result))
    headings = "".join(f"<th>{_chip(label)}" for label in classes)
    head = f"<tr><th>method<th>descriptor{headings}<th>all</tr>"
    return _table(head, rows, caption="<b>Recall</b> of each class in the leave-one-out test.")


def _published_votes(findings: Findings) -> str:
    rows = ""
    for result in findings.methods:
        title: str | None = result.title
        printed = dict(enumerate(PRINTED.get(result.key, ()), start=1))
        if printed:
            rows += _votes_row(title, "paper", printed, result, rows=2)
            title = None
        ours = {trial.image: trial.votes for trial in result.published_tests}
        rows += _votes_row(title, "ours", ours, result)
    caption = (
        "<b>Table 1.</b> The two largest votes for each test picture, as percentages of the "
        "blocks: as printed in the paper, and as found here with the same descriptor and rule. "
        "Coloured letters are distortions of the picture. ? is undecided: two classes are "
        "equally near."
    )
    return _votes_table(caption, rows)


def _extended_votes(findings: Findings) -> str:
    rows = ""
    for result in findings.methods:
        votes = {trial.image: trial.votes for trial in result.extended_tests}
        rows += _votes_row(result.title, "ours", votes, result)
    caption = (
        "<b>Table 1, continued.</b> The same with the extended descriptor and the evidence rule: "
        "the two most likely distortions, with the percentages of the blocks that vote for them."
    )
    return _votes_table(caption, rows)


def _votes_table(caption: str, rows: str) -> str:
    numbers = "".join(f"<th>{image}" for image in range(1, len(TEST_LABELS) + 1))
    letters = "".join(f"<th>{letter(label).replace(' ', '')}" for label in TEST_LABELS)
    head = f"<tr><th>picture<th>{numbers}</tr><tr><th>distortion<th>{letters}</tr>"
    return _table(head, rows, caption=caption, css="votes")


def _votes_row(
    title: str | None,
    source: str,
    tops: Mapping[int, Sequence[Vote]],
    result: MethodResult,
    *,
    rows: int = 1,
) -> str:
    """Return a row with the largest votes for each test picture; `source` is "paper" or "ours"."""
    cells = [source]
    for image, label in enumerate(TEST_LABELS, start=1):
        votes = "".join(_vote(vote, label) for vote in tops.get(image, ()))
        cells.append(votes or "–")
    row = _row(title, cells, rows=rows, baseline=_is_baseline(result))
    if source == "paper":
        row = row.replace("<td>", "<td class='paper'>")
    return row


def _vote(vote: Vote, label: str) -> str:
    if set(vote.labels) & set(label.split("+")):
        shade = f" style='background:{colour(vote.labels[0])}'"
        css = "v hit"
    else:
        shade = ""
        css = "v"
    return f"<span class='{css}'>{vote.percent:.1f} <b{shade}>{vote.letters}</b></span>"


def _reconstruction(findings: Findings) -> str:
    linear = [result for result in findings.methods if result.reconstruction]
    images = [trial.image for trial in linear[0].published_tests] if linear else []
    rows = ""
    for result in linear:
        values = result.reconstruction
        mean = sum(values) / len(values)
        cells = [f"{value:.3f}" for value in (*values, mean)]
        rows += _row(result.title, cells, baseline=_is_baseline(result))
    headings = "".join(f"<th>{image}" for image in images)
    caption = (
        "SSIM of the test pictures with their reconstructions; higher is better. Kernel methods "
        "cannot reconstruct a picture."
    )
    return _table(f"<tr><th>method{headings}<th>mean</tr>", rows, caption=caption)


def _differences(findings: Findings) -> str:
    items = explanations.differences(findings)
    return f"<ol>{''.join(f'<li><b>{title}</b> {text}</li>' for title, text in items)}</ol>"


def _times(findings: Findings) -> str:
    seconds = findings.seconds
    rows = _row("training pictures", [f"{seconds['dataset']:.1f}", ""])
    rows += _row("test pictures", [f"{seconds['tests']:.1f}", ""])
    for result in findings.methods:
        cells = [f"{seconds[f'{stage} {result.key}']:.1f}" for stage in ("train", "recognise")]
        rows += _row(result.title, cells, baseline=_is_baseline(result))
    head = "<tr><th>stage<th>made or trained, s<th>recognised, s</tr>"
    return (
        f"<h2>Times</h2>{_table(head, rows)}<p>The figures are in the folder <code>figures</code> "
        "as PNG and SVG, all tables in <code>tables</code> as CSV, and everything together in "
        "<code>results.json</code>.</p>"
    )


# --- parts -------------------------------------------------------------------------------------


def _table(head: str, rows: str, *, caption: str = "", css: str = "") -> str:
    if caption:
        caption = f"<caption>{caption}</caption>"
    return (
        f"<div class='wide'><table class='{css}'>{caption}<thead>{head}</thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(title: str | None, cells: Sequence[str], *, rows: int = 1, baseline: bool = False) -> str:
    """Return a row of a table; a title can span several `rows`, of which the others have None."""
    classes = []
    if title is not None and rows > 1:
        classes.append("first")
    if baseline:
        classes.append("baseline")
    head = "" if title is None else f"<th rowspan={rows}>{html.escape(title)}"
    return f"<tr class='{' '.join(classes)}'>{head}{''.join(f'<td>{cell}' for cell in cells)}</tr>"


def _is_baseline(result: MethodResult) -> bool:
    return result.key == "random"


def _counts(score: Score) -> tuple[str, str]:
    return f"{score.singles} of {score.of_singles}", f"{score.both_of_pair} of {score.of_pairs}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _title(label: str) -> str:
    return DISTORTIONS[label].title if label in DISTORTIONS else label.capitalize()


def _chip(label: str) -> str:
    shade = "#fff" if label == UNDECIDED_LABEL else colour(label)
    return (
        "<span class='v hit' style='display:inline'>"
        f"<b style='background:{shade}'>{letter(label)}</b></span>"
    )
