"""The report in words: what the reproduction found, and why its numbers differ from the paper's."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from isca_gui.core.distortion.distortions import UNDECIDED_LABEL
from isca_gui.core.paper.plan import PRINTED
from isca_gui.core.paper.results import printed_score, score_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isca_gui.core.paper.plan import Vote
    from isca_gui.core.paper.results import Findings, MethodResult

# Leave-one-out accuracies that differ by less than this count as equal.
_CLOSE = 0.05


def summary(findings: Findings) -> list[str]:
    """Return the outcome in two paragraphs."""
    return [_outcome(findings), _learning(findings)]


def _outcome(findings: Findings) -> str:
    isca = _by_key(findings, "isca")
    best = max(findings.methods, key=lambda result: result.published.accuracy)
    comparison = "; no other method recognises more"
    if best is not isca:
        comparison = f"; the best method, {best.title}, {_percent(best.published.accuracy)}"
    top = max(result.extended.accuracy for result in findings.methods)
    winners = [result.title for result in findings.methods if result.extended.accuracy == top]
    printed = printed_score("isca")
    assert printed is not None
    score = score_of(isca.published_tests)
    return (
        f"As published, ISCA recognises {_percent(isca.published.accuracy)} of the distorted "
        f"training pictures in the leave-one-out test{comparison}. Of the {score.of_singles} test "
        f"pictures with one distortion, ISCA recognises {score.singles} (in the paper: "
        f"{printed.singles} of {printed.of_singles}). With the extended descriptor and the "
        "evidence rule, the leave-one-out accuracy of ISCA is "
        f"{_percent(isca.extended.accuracy)}; the highest, {_percent(top)}, is that of "
        f"{', '.join(winners)}."
    )


def _learning(findings: Findings) -> str:
    """Return a paragraph on what ISCA gains over a random subspace."""
    isca = _by_key(findings, "isca")
    random = _by_key(findings, "random")
    text = (
        "A random subspace, which has learned nothing, recognises "
        f"{_percent(random.published.accuracy)} in the paper’s leave-one-out test, and ISCA "
        f"{_percent(isca.published.accuracy)}. "
    )
    gain = isca.published.accuracy - random.published.accuracy
    if abs(gain) < _CLOSE:
        text += (
            "This test therefore says little about what was learned: any four numbers per block "
            "will do, because for every picture the training set contains another one with the "
            "same distortion at nearly the same level. "
        )
    elif gain > 0:
        text += "The difference is what learning contributes. "
    else:
        text += "In this test, learning made the result worse. "
    return text + (
        "What ISCA has learned shows in the reconstruction of the test pictures: their mean SSIM "
        f"is {_mean(isca.reconstruction):.3f}, against {_mean(random.reconstruction):.3f} for a "
        "random subspace."
    )


def differences(findings: Findings) -> list[tuple[str, str]]:
    """Return the reasons why numbers differ from the paper's, each as a title and a text."""
    found = [
        ("Another picture.", _picture(findings)),
        ("Contrast is stretched, not shifted.", _contrast(findings)),
        ("Every picture has one distortion only.", _pure_distortions()),
        ("JPEG tables beyond quality 1.", _jpeg_tables(findings)),
        ("Exact ties are undecided.", _ties(findings)),
        ("The basis is orthonormalised.", _orthonormal(findings)),
        ("The paper has no such baseline.", _baseline(findings)),
        ("Kernel ISCA as published does not converge.", _convergence(findings)),
    ]
    if findings.plan.quick:
        found.append(("This was a shortened run.", _quick_run()))
    return found


def _picture(findings: Findings) -> str:
    return (
        "The paper uses the picture Lena, which is not distributed with this program. This "
        f"report is on {html.escape(findings.name)}; how a block votes depends on its content."
    )


def _contrast(findings: Findings) -> str:
    printed = [_votes(PRINTED["isca"][image - 1]) for image in (1, 3)]
    isca = _by_key(findings, "isca")
    ours = [_votes(test.votes) for test in isca.published_tests if test.image in (1, 3)]
    text = (
        "Here, contrast is a gain about the picture’s mean, as the word says. In the paper’s "
        f"Table 1, ISCA’s votes for the contrast picture ({printed[0]}) are almost those for the "
        f"luminance picture ({printed[1]}). That is the effect of adding a constant, which ISCA "
        "cannot see because it removes the mean of each block."
    )
    if len(ours) == 2:
        text += f" Our votes are {ours[0]} and {ours[1]}."
    return text


def _pure_distortions() -> str:
    return (
        "Each level is reached by the strength of that distortion alone: a blurred picture is "
        "only blurred, an impulse picture differs from the original only at the pixels that were "
        "hit, and a JPEG picture is exactly what a decoder returns. Nothing is added to reach an "
        "MSE. The paper does not say how it reaches its levels; a remainder of another kind "
        "would be learned as part of the class, and would make the class easier or harder to "
        "recognise."
    )


def _jpeg_tables(findings: Findings) -> str:
    allowed = ""
    if any(missed.kind == "jpeg" for missed in findings.dataset.unreachable):
        allowed = " that this picture allows"
    return (
        "On a smooth picture, the coarsest quantisation table of common encoders causes too "
        "small an error for the higher levels. Here the standard luminance table is multiplied "
        f"by a real factor, with entries up to 8191, and every level{allowed} is reached by "
        "compression alone."
    )


def _ties(findings: Findings) -> str:
    isca = _by_key(findings, "isca")
    shares = [
        test.shares.get(UNDECIDED_LABEL, 0.0) for test in isca.published_tests if test.image == 3
    ]
    text = (
        "A luminance shift leaves the centred blocks unchanged, so for ISCA, PCA and the random "
        "subspace, the original and all luminance pictures are at the same distance, up to "
        "rounding. Such blocks count as undecided (?) instead of going to whichever class comes "
        "first, and a picture is undecided if they outnumber every class."
    )
    if shares:
        text += f" In test picture 3 they are {_percent(shares[0])} of ISCA’s blocks."
    return text + (
        " The paper’s values for such blocks depend on how its program orders equal distances."
    )


def _orthonormal(findings: Findings) -> str:
    curves = _by_key(findings, "isca").curves
    return (
        "After a finite number of epochs, U is not orthonormal. We project onto its nearest "
        "orthonormal basis, and reconstruct with that. At the last epoch the published criterion "
        f"is {curves['error'][-1]:.4f}; for the orthonormal basis it is "
        f"{curves['objective'][-1]:.4f}, which is what the reconstruction really loses."
    )


def _baseline(findings: Findings) -> str:
    isca = _by_key(findings, "isca")
    random = _by_key(findings, "random")
    ours = score_of(isca.published_tests)
    baseline = score_of(random.published_tests)
    return (
        "The paper compares ISCA with PCA and kernel PCA. The shaded rows show a random subspace "
        f"with the same descriptor and rule: single tests {baseline.singles} (ISCA "
        f"{ours.singles}), mixed tests {baseline.both_of_pair} (ISCA {ours.both_of_pair}), "
        f"leave-one-out {_percent(random.published.accuracy)} (ISCA "
        f"{_percent(isca.published.accuracy)}). Where a method is no better than that, it is the "
        "nearest neighbour that recognises the distortion, not the subspace."
    )


def _convergence(findings: Findings) -> str:
    distances = ", ".join(
        f"{result.title} {result.curves['objective'][-1]:.3f}"
        for result in findings.methods
        if result.key.startswith("kernel-isca")
    )
    return (
        "With ρ = η = 0.1, the published iteration keeps rotating its basis. Two correct "
        "programs that round differently therefore diverge after a few hundred steps and end with "
        "different bases, so the paper’s Table 1 shows one of many possible results of kernel "
        f"ISCA. Final SSIM distances, each in its own feature space: {distances}."
    )


def _quick_run() -> str:
    return (
        "It used every second pixel, six levels and fewer epochs. Its numbers show that everything "
        "works, not how well. To compare with the paper, run it without --quick."
    )


def _by_key(findings: Findings, key: str) -> MethodResult:
    return next(result for result in findings.methods if result.key == key)


def _votes(votes: Sequence[Vote]) -> str:
    return ", ".join(f"{vote.percent:.1f}%\u00a0{vote.letters}" for vote in votes)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _percent(share: float) -> str:
    return f"{share:.1%}"
