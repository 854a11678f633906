"""The report of the reproduction: one HTML file without scripts that opens offline and prints well."""

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
h1, h2, th, td, figcaption, caption, .facts { font-family: system-ui, Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin-bottom: .3rem; }
h2 { font-size: 1.25rem; margin-top: 2.4rem; border-bottom: 1px solid #ccc; padding-bottom: .2rem; }
.facts { color: #555; margin-top: 0; }
p, li { max-width: 46rem; }
figure { margin: 1.4rem 0; } img { width: 100%; height: auto; display: block; }
figcaption, caption { font-size: .86rem; color: #444; text-align: left; margin: .5rem 0; max-width: 54rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .82rem; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; text-align: right; border-bottom: 1px solid #e2e2e2; white-space: nowrap; }
th { font-weight: 600; vertical-align: bottom; } th:first-child { text-align: left; }
tbody th { vertical-align: top; } thead th { border-bottom: 1.5px solid #333; }
tbody tr.first td, tbody tr.first th { border-top: 1.5px solid #999; }
tr.baseline td, tr.baseline th { background: #f6f1e4; }
.votes { font-size: .74rem; } .votes th, .votes td { padding: .2rem .3rem; line-height: 1.45; }
.v { display: block; } .v b { display: inline-block; min-width: 1.1em; text-align: center; border-radius: 2px;
  padding: 0 .15em; border: 1px solid #bbb; font-weight: 600; color: #777; background: #fff; }
.v.hit b { color: #000; border-color: #000; } .paper { color: #555; }
ul.key { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; max-width: none;
  font: .84rem system-ui, sans-serif; }
@media print {
  @page { size: A4; margin: 14mm; }
  body { max-width: none; margin: 0; padding: 0; font-size: 10pt; }
  h2 { break-after: avoid; } figure, tr, li { break-inside: avoid; } thead { display: table-header-group; }
  .wide { overflow: visible; } table { font-size: 7pt; } .votes { font-size: 5.6pt; }
  th, td { padding: .12rem .3rem; }
  .votes th, .votes td { padding: .1rem .12rem; }
  .v b, tr.baseline td, tr.baseline th { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
_ALT = {
    "fig1-training-set": "The original and six distorted pictures, and their SSIM against MSE",
    "fig2-bases": "The first column of U, V and J of all blocks as pictures",
    "fig3-confusion": "Confusion matrices of eight methods, as published",
    "fig3-confusion-extended": "Confusion matrices of eight methods, extended descriptor and evidence rule",
    "fig4-test-set": "The test pictures",
    "fig5-reconstructions": "Training pictures, their reconstructions and those of the test pictures",
    "fig6-convergence": "SSIM distance and residuals against the epoch",
}


def page(findings: Findings, drawn: Mapping[str, bytes], vectors: Iterable[str]) -> str:
    """Put the report together; `drawn` are the figures' bytes, `vectors` those that are SVG."""
    kinds = {name: "svg+xml" if name in set(vectors) else "png" for name in drawn}

    def figure(name: str, caption: str) -> str:
        if name not in drawn:
            return ""
        data = base64.b64encode(drawn[name]).decode()
        source = f"data:image/{kinds[name]};base64,{data}"
        return (
            f"<figure><img alt='{html.escape(_ALT[name])}' src='{source}'>"
            f"<figcaption>{caption}</figcaption></figure>"
        )

    sections = (
        _head(findings),
        _summary(findings),
        _data(findings) + figure("fig1-training-set", _FIG1),
        "<h2>Training</h2>" + figure("fig2-bases", _FIG2) + figure("fig6-convergence", _FIG6),
        "<h2>Leave-one-out</h2>" + figure("fig3-confusion", _FIG3) + figure("fig3-confusion-extended", _FIG3B)
        + _recalls(findings),
        "<h2>Test pictures</h2>" + figure("fig4-test-set", _fig4(findings)) + _table1(findings)
        + _answers(findings),
        "<h2>Reconstruction</h2>" + figure("fig5-reconstructions", _FIG5) + _reconstruction(findings),
        "<h2>Where our numbers differ from the paper’s, and why</h2>" + _reasons(findings),
        _times(findings),
    )  # fmt: skip
    title = html.escape(f"The paper reproduced: {findings.name}")
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><title>{title}</title><meta "
        "name='viewport' content='width=device-width'><meta name='generator' content='ISCA Studio "
        f"{isca_gui.__version__}'><style>{_STYLE}</style></head><body>{''.join(sections)}</body></html>\n"
    )


_FIG1 = (
    "<b>Figure 1.</b> Examples from the training set at about the same error, and, last, what SSIM says "
    "of all training pictures: at equal MSE, luminance and contrast keep the structure, blur, noise and "
    "JPEG do not."
)
_FIG2 = (
    "<b>Figure 2.</b> The first dimension of U, V and J of ISCA, all blocks in their places; middle grey is "
    "zero. U and V are close, J has gathered edges."
)
_FIG3 = (
    "<b>Figure 3.</b> As published: coordinates in the subspace only, nearest neighbour per block, "
    "majority of the blocks. Rows are the true classes, columns the verdicts, numbers count pictures; the "
    "last column, ?, is undecided. “Right” is over the distorted pictures: the original is alone in its "
    "class and cannot be found once it is left out. A picture is undecided if more blocks are "
    "undecided than vote for any class."
)
_FIG3B = (
    "<b>Figure 3, continued.</b> The same models with what this program does by itself: three more "
    "numbers per block (mean, length and 4-norm of what lies outside the subspace), and “original” only "
    "where nearly all blocks say so."
)
_FIG5 = (
    "<b>Figure 5.</b> Reconstruction by ISCA: training pictures (a) to (c) from four numbers a block in "
    "(d) to (f), below them the test pictures. SSIM compares each with the picture it was made from."
)
_FIG6 = (
    "<b>Convergence.</b> The published criterion is taken at U before it is orthonormal and looks better "
    "than what the orthonormal basis reaches. Kernel methods measure in their own feature spaces and "
    "cannot be compared with ISCA by these curves."
)


def _fig4(findings: Findings) -> str:
    missed = [test.letters for test in findings.tests if test.achieved_mse is None]
    left_out = f" This picture cannot reach that error with {', '.join(missed)}." if missed else ""
    return (
        "<b>Figure 4.</b> Pictures that were not trained on, with noise of their own, at MSE "
        f"{TEST_MSE:.0f}, numbered as in the paper. In a mixture the first distortion goes half the "
        f"way.{left_out}"
    )


def _head(findings: Findings) -> str:
    height, width = findings.dataset.reference.shape
    how = "a shortened run (every second pixel, fewer levels and epochs)" if findings.plan.quick else (
        "with the published settings"
    )  # fmt: skip
    return (
        "<h1>ISCA: the paper’s experiments reproduced</h1><p class='facts'>Ghojogh, Karray and Crowley, "
        "<i>Principal Component Analysis Using Structural Similarity Index for Images</i> (2019), Section "
        f"6, on {html.escape(findings.name)}, {width}×{height} pixels, {how}. ISCA Studio "
        f"{isca_gui.__version__}.</p>"
    )


def _summary(findings: Findings) -> str:
    rows = []
    for found in findings.methods:
        ours, own = score_of(found.published_tests), score_of(found.extended_tests)
        printed = printed_score(found.key)
        cells = [_percent(found.published.accuracy), _percent(found.published.block_accuracy)]
        cells += [*_counts(ours), *(_counts(printed) if printed else ("–", "–"))]
        cells += [
            _percent(found.extended.accuracy),
            *_counts(own),
            f"{found.curves['objective'][-1]:.4f}",
        ]
        rows.append(_row(found.title, cells, baseline=found.key == "random"))
    head = (
        "<thead><tr><th rowspan=2>method<th colspan=4>as published<th colspan=2>printed in the paper"
        "<th colspan=3>extended descriptor, evidence<th rowspan=2>SSIM<br>distance</tr><tr>"
        "<th>leave-<br>one-out<th>blocks<br>right<th>single<br>tests<th>mixed<br>tests<th>single<br>tests"
        "<th>mixed<br>tests<th>leave-<br>one-out<th>single<br>tests<th>mixed<br>tests</tr></thead>"
    )
    return (
        "<h2>In one table</h2>" + "".join(f"<p>{text}</p>" for text in explanations.abstract(findings))
        + f"<div class='wide'><table>{head}<tbody>{''.join(rows)}</tbody></table></div>"
        "<p class='facts'>Single tests: the largest vote is right. Mixed tests: both parts are the first "
        "two. SSIM distance: mean over blocks for the orthonormal basis, each method in its own space and "
        "PCA about its mean block; lower is better. The shaded row learned nothing.</p>"
    )  # fmt: skip


def _data(findings: Findings) -> str:
    made, spec = findings.dataset, findings.plan.dataset
    key = "".join(f"<li>{_chip(label)} {html.escape(_title(label))}</li>" for label in _keys())
    missed = "".join(
        f"<li>{html.escape(u.kind)} cannot reach MSE {u.target_mse:g}; {u.reach}</li>"
        for u in made.unreachable
    )
    return (
        f"<h2>Data</h2><p>{len(made.entries)} training pictures: the original, and {len(spec.kinds)} "
        f"distortions at {len(spec.levels)} levels from MSE {spec.levels[0]:g} to {spec.levels[-1]:g}. "
        f"Blocks of 8×8 pixels, four components each.</p><ul class='key'>{key}</ul>"
        + (f"<p>Left out:</p><ul>{missed}</ul>" if missed else "")
    )


def _recalls(findings: Findings) -> str:
    classes = findings.methods[0].published.classes[1:]
    head = "".join(f"<th>{_chip(label)}" for label in classes)
    rows = []
    for found in findings.methods:
        for how, matrix in (("published", found.published), ("extended", found.extended)):
            cells = [
                how,
                *(_percent(matrix.recall[label]) for label in classes),
                _percent(matrix.accuracy),
            ]
            name = found.title if how == "published" else None
            rows.append(_row(name, cells, rows=2, baseline=found.key == "random"))
    return (
        "<div class='wide'><table><caption><b>Recall</b> of every class in "
        f"leave-one-out.</caption><thead><tr><th>method<th>descriptor{head}<th>all</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _table1(findings: Findings) -> str:
    rows = []
    for found in findings.methods:
        title, printed = found.title, dict(enumerate(PRINTED.get(found.key, ()), start=1))
        if printed:
            rows.append(_votes_row(title, "paper", printed, found, rows=2))
        ours = {answer.image: answer.votes for answer in found.published_tests}
        rows.append(_votes_row(None if printed else title, "ours", ours, found))
    caption = (
        "<b>Table 1.</b> The two largest votes of every test picture in per cent of the blocks, as the "
        "paper prints them and as found here with the same descriptor and rule. Coloured letters are in "
        "the picture. ? is undecided: two classes equally near."
    )
    return _votes_table(caption, rows)


def _answers(findings: Findings) -> str:
    rows = [
        _votes_row(found.title, "ours", {a.image: a.votes for a in found.extended_tests}, found)
        for found in findings.methods
    ]
    caption = (
        "<b>Table 1, continued.</b> The same with the extended descriptor and the evidence rule: the two "
        "likeliest distortions, with the blocks that vote for them."
    )
    return _votes_table(caption, rows)


def _votes_table(caption: str, rows: Sequence[str]) -> str:
    numbers = "".join(f"<th>{image}" for image in range(1, len(TEST_LABELS) + 1))
    letters = "".join(f"<th>{letter(label).replace(' ', '')}" for label in TEST_LABELS)
    return (
        "<div class='wide'><table "
        f"class='votes'><caption>{caption}</caption><thead><tr><th>picture<th>{numbers}</tr><tr><th>distortion<th>{letters}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _votes_row(
    title: str | None,
    source: str,
    tops: Mapping[int, Sequence[Vote]],
    found: MethodResult,
    *,
    rows: int = 1,
) -> str:
    cells = [source]
    for image, label in enumerate(TEST_LABELS, start=1):
        cells.append("".join(_vote(vote, label) for vote in tops.get(image, ())) or "–")
    row = _row(title, cells, rows=rows, baseline=found.key == "random")
    return row.replace("<td>", "<td class='paper'>") if source == "paper" else row


def _vote(vote: Vote, label: str) -> str:
    hit = bool(set(vote.labels) & set(label.split("+")))
    shade = f" style='background:{colour(vote.labels[0])}'" if hit else ""
    return f"<span class='v{' hit' * hit}'>{vote.percent:.1f} <b{shade}>{vote.letters}</b></span>"


def _reconstruction(findings: Findings) -> str:
    linear = [found for found in findings.methods if found.reconstruction]
    images = [answer.image for answer in linear[0].published_tests] if linear else []
    head = "".join(f"<th>{image}" for image in images)
    rows = [
        _row(
            found.title,
            [*(f"{alike:.3f}" for alike in found.reconstruction),
             f"{sum(found.reconstruction) / len(found.reconstruction):.3f}"],
            baseline=found.key == "random",
        )
        for found in linear
    ]  # fmt: skip
    return (
        "<div class='wide'><table><caption>SSIM of the test pictures with their reconstructions; higher "
        "is better. Kernel methods have no way back to "
        f"pixels.</caption><thead><tr><th>method{head}<th>mean</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _reasons(findings: Findings) -> str:
    items = explanations.reasons(findings)
    return f"<ol>{''.join(f'<li><b>{title}</b> {text}</li>' for title, text in items)}</ol>"


def _times(findings: Findings) -> str:
    seconds = findings.seconds
    rows = [_row("training pictures", [f"{seconds['dataset']:.1f}", ""])]
    rows.append(_row("test pictures", [f"{seconds['tests']:.1f}", ""]))
    for found in findings.methods:
        cells = [f"{seconds[f'{stage} {found.key}']:.1f}" for stage in ("train", "recognise")]
        rows.append(_row(found.title, cells, baseline=found.key == "random"))
    return (
        "<h2>Times</h2><table><thead><tr><th>stage<th>made or trained, s<th>recognised, s</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table><p>Figures as PNG and SVG lie in <code>figures</code>, all "
        "tables as CSV in <code>tables</code>, everything in one document in <code>results.json</code>.</p>"
    )


def _row(title: str | None, cells: Sequence[str], *, rows: int = 1, baseline: bool = False) -> str:
    """Give a row; a title may stand for several `rows`, of which the others have None."""
    first = title is not None and rows > 1
    marks = " ".join(name for name, on in (("first", first), ("baseline", baseline)) if on)
    head = "" if title is None else f"<th rowspan={rows}>{html.escape(title)}"
    return f"<tr class='{marks}'>{head}{''.join(f'<td>{cell}' for cell in cells)}</tr>"


def _counts(score: Score) -> tuple[str, str]:
    return f"{score.singles} of {score.of_singles}", f"{score.both_of_pair} of {score.of_pairs}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u202f%"


def _keys() -> tuple[str, ...]:
    return ORIGINAL, *(row.name for row in TABLE), UNDECIDED_LABEL


def _title(label: str) -> str:
    return DISTORTIONS[label].title if label in DISTORTIONS else label.capitalize()


def _chip(label: str) -> str:
    shade = "#fff" if label == UNDECIDED_LABEL else colour(label)
    return f"<span class='v hit' style='display:inline'><b style='background:{shade}'>{letter(label)}</b></span>"
