"""In words: what the reproduction found, and why its numbers are not the paper's."""

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

_CLOSE = 0.05  # leave-one-out accuracies nearer than this are called alike


def abstract(findings: Findings) -> list[str]:
    """Say the outcome in a few sentences."""
    isca = _by_key(findings, "isca")
    best = max(findings.methods, key=lambda found: found.published.accuracy)
    most = f", {best.title} the most with {_percent(best.published.accuracy)}" if best is not isca else (
        ", no method more"
    )  # fmt: skip
    top = max(found.extended.accuracy for found in findings.methods)
    own = [found.title for found in findings.methods if found.extended.accuracy == top]
    printed = printed_score("isca")
    score = score_of(isca.published_tests)
    assert printed is not None
    return [
        f"As published, ISCA recognises {_percent(isca.published.accuracy)} of the distorted training "
        f"pictures when each is left out{most}. Of the {score.of_singles} test pictures with one distortion "
        f"ISCA names {score.singles} (in the paper {printed.singles} of {printed.of_singles}). With the "
        f"extended descriptor and the evidence rule ISCA comes to {_percent(isca.extended.accuracy)}; the "
        f"most, {_percent(top)}, is reached by {', '.join(own)}.",
        _baseline(findings),
    ]


def reasons(findings: Findings) -> list[tuple[str, str]]:
    """List the differences with their causes, each as a title and a text."""
    found = [
        ("Another picture.", "The paper uses the picture Lena, which is not distributed with this program. "
         f"Here it is {html.escape(findings.name)}; what blocks vote for depends on what is in them."),
        ("Contrast is stretched, not shifted.", _contrast(findings)),
        ("Every picture has one distortion only.", "Each level is met by the strength of that distortion: a "
         "blurred picture is only blurred, an impulse picture differs from the original only at the "
         "pixels that were hit, a JPEG picture is what a decoder gives. Nothing is added to arrive at an "
         "MSE. The paper does not say how it arrives at its levels; any remainder of another kind would "
         "be learned as a part of the class and would make it easier or harder to tell apart."),
        ("JPEG tables beyond quality 1.", _tables(findings)),
        ("Exact ties are undecided.", _ties(findings)),
        ("The basis is orthonormalised.", _orthonormal(findings)),
        ("The paper has no such baseline.", _no_baseline(findings)),
        ("Kernel ISCA as published does not settle.", _chaos(findings)),
    ]  # fmt: skip
    if findings.plan.quick:
        found.append(
            ("This was a shortened run.", "Every second pixel, six levels and fewer epochs: its numbers show "
             "that everything works, not how good it is. Run it without --quick to compare with the paper.")
        )  # fmt: skip
    return found


def _tables(findings: Findings) -> str:
    missed = any(each.kind == "jpeg" for each in findings.dataset.unreachable)
    return (
        "The coarsest table of common encoders gives too small an error for the higher levels on a smooth "
        "picture. Here the standard luminance table is multiplied by a real factor, with entries up to 8191, "
        f"and every level{' that this picture allows' if missed else ''} is reached by compression alone."
    )


def _baseline(findings: Findings) -> str:
    isca, random = _by_key(findings, "isca"), _by_key(findings, "random")
    gain = isca.published.accuracy - random.published.accuracy
    text = (
        f"A subspace drawn at random, which has learned nothing, recognises "
        f"{_percent(random.published.accuracy)} in the paper’s leave-one-out test and ISCA "
        f"{_percent(isca.published.accuracy)}. "
    )
    if abs(gain) < _CLOSE:
        text += (
            "So this test says little about what was learned: any four numbers per block will do, because "
            "the training set holds a neighbour of the same kind at nearly the same level for every "
            "picture. "
        )
    elif gain > 0:
        text += "What was learned is worth the difference. "
    else:
        text += "In this test learning did harm. "
    kept = [_mean(found.reconstruction) for found in (isca, random)]
    return text + (
        f"What ISCA does learn shows in the reconstruction: a mean SSIM of {kept[0]:.3f} on the test "
        f"pictures against {kept[1]:.3f} at random."
    )


def _no_baseline(findings: Findings) -> str:
    isca, random = _by_key(findings, "isca"), _by_key(findings, "random")
    scores = [score_of(found.published_tests) for found in (isca, random)]
    singles, pairs = ([getattr(s, name) for s in scores] for name in ("singles", "both_of_pair"))
    return (
        "It compares with PCA and kernel PCA. The shaded rows show a subspace drawn at random under the same "
        f"descriptor and rule: single tests {singles[1]} (ISCA {singles[0]}), mixed tests {pairs[1]} (ISCA "
        f"{pairs[0]}), leave-one-out {_percent(random.published.accuracy)} (ISCA "
        f"{_percent(isca.published.accuracy)}). Where a method is no better than that, the nearest neighbour "
        "recognises the distortion, not the subspace."
    )


def _contrast(findings: Findings) -> str:
    printed = [_named(PRINTED["isca"][image - 1]) for image in (1, 3)]
    isca = _by_key(findings, "isca")
    ours = [_named(answer.votes) for answer in isca.published_tests if answer.image in (1, 3)]
    text = (
        "Here contrast is a gain about the picture’s mean, as the word says. In the paper’s Table 1, ISCA "
        f"votes for the contrast picture ({printed[0]}) almost as for the luminance picture "
        f"({printed[1]}), which is what adding a constant gives: ISCA removes each block’s mean and cannot "
        "see it."
    )
    return f"{text} Ours are {ours[0]} and {ours[1]}." if len(ours) == 2 else text


def _ties(findings: Findings) -> str:
    text = (
        "A luminance shift leaves the centred blocks as they are, so ISCA, PCA and the random subspace "
        "find the original and all luminance pictures at the same distance, up to rounding. Such blocks "
        "are counted as undecided (?), never given to the class that comes first; a picture is undecided "
        "if they outnumber every class."
    )
    isca = _by_key(findings, "isca")
    shares = [a.shares.get(UNDECIDED_LABEL, 0.0) for a in isca.published_tests if a.image == 3]
    tail = " The paper’s values for such blocks depend on how its program orders equal distances."
    return (
        text
        + (f" In test picture 3 they are {_percent(shares[0])} of ISCA’s blocks." if shares else "")
        + tail
    )


def _orthonormal(findings: Findings) -> str:
    curves = _by_key(findings, "isca").curves
    return (
        "After a finite number of epochs U is not orthonormal. We project on, and reconstruct with, its "
        "nearest orthonormal basis. At the last epoch the published criterion reads "
        f"{curves['error'][-1]:.4f}, the orthonormal basis gives {curves['objective'][-1]:.4f}; the latter "
        "is what reconstruction really loses."
    )


def _chaos(findings: Findings) -> str:
    ends = ", ".join(
        f"{found.title} {found.curves['objective'][-1]:.3f}"
        for found in findings.methods
        if found.key.startswith("kernel-isca")
    )
    return (
        "With ρ = η = 0.1 the published iteration keeps turning its basis instead of converging, so two "
        "correct programs that round differently part after some hundred steps and end in different "
        "bases. Table 1 of kernel ISCA is one draw of many. SSIM distances at the end, each in its own "
        f"feature space: {ends}."
    )


def _by_key(findings: Findings, key: str) -> MethodResult:
    return next(found for found in findings.methods if found.key == key)


def _named(votes: Sequence[Vote]) -> str:
    return ", ".join(f"{vote.percent:.1f}\u202f%\u00a0{vote.letters}" for vote in votes)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}\u202f%"
