"""Limits: what passes, what fails and why, and the file they are kept in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isca_gui.core.comparison import profile
from isca_gui.core.comparison.compare import compare
from isca_gui.core.comparison.profile import Profile, ProfileError, Range
from tests import copies

if TYPE_CHECKING:
    from pathlib import Path

    from isca_gui.core.comparison.compare import Comparison

TEXT = """
schema = 1
forbid = ["unrecognised", "median"]

[limits]
mse = { most = 50 }
"jpeg.quality" = { least = 75, most = 95 }
blur.sigma = { most = 0.8 }
"""


@pytest.fixture(scope="module")
def blurred() -> Comparison:
    pixels = copies.part("camera", 200, 200)
    return compare(copies.unit(pixels), copies.unit(copies.blurred(pixels, 2)))


@pytest.fixture(scope="module")
def strange() -> Comparison:
    pixels = copies.part("camera", 200, 200)
    return compare(copies.unit(pixels), copies.unit(copies.warped(pixels)))


def test_a_profile_is_read_as_it_was_written() -> None:
    found = profile.from_text(TEXT)
    assert found.forbid == ("unrecognised", "median")
    assert found.limits["blur.sigma"] == Range(most=0.8)
    assert found.limits["jpeg.quality"] == Range(75, 95)
    assert profile.from_text(profile.to_text(found)) == found
    assert profile.from_text(profile.to_text(Profile())) == Profile()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("schema = 1\nforbid = [", "no TOML"),
        ("forbid = []", "schema"),
        ("schema = 2", "schema"),
        ("schema = 1\nlimit = 3", "'limit' is unknown"),
        ("schema = 1\nforbid = ['nonsense']", "'nonsense' cannot be forbidden"),
        ("schema = 1\nforbid = 'blur'", "list of names"),
        ("schema = 1\nlimits = 3", "must be a table"),
        ("schema = 1\nlimits.blur.sigm = {most = 1}", "'blur.sigm' cannot be limited"),
        ("schema = 1\nlimits.mse = 3", "'mse' must be such as"),
        ("schema = 1\nlimits.mse = {max = 3}", "'mse' must be such as"),
        ("schema = 1\nlimits.mse = {most = true}", "must have numbers"),
        ("schema = 1\nlimits.mse = {most = nan}", "must have numbers"),
        ("schema = 1\nlimits.mse = {least = 3, most = 2}", "no value of 'mse'"),
    ],
)
def test_what_is_wrong_with_a_profile_is_said(text: str, why: str) -> None:
    with pytest.raises(ProfileError, match=why):
        profile.from_text(text)


def test_the_file_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"Cannot read profile '.*none\.toml'"):
        profile.load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ProfileError, match="no text"):
        profile.load(tmp_path / "bad.toml")
    profile.save(tmp_path / "good.toml", profile.from_text(TEXT))
    assert profile.load(tmp_path / "good.toml") == profile.from_text(TEXT)


def test_a_parameter_is_limited(blurred: Comparison) -> None:
    assert blurred.parts == ("blur",)
    (why,) = Profile(limits={"blur.sigma": Range(most=0.8)}).broken(blurred)
    assert why.startswith("Blur: σ 2")
    assert why.endswith("allowed is at most 0.8")
    assert Profile(limits={"blur.sigma": Range(0.5, 3)}).broken(blurred) == []
    # There is no JPEG here whose quality could be too low.
    assert Profile(limits={"jpeg.quality": Range(least=75)}).broken(blurred) == []


@pytest.mark.parametrize("name", ["blur", "filter"])
def test_a_kind_or_its_family_is_forbidden(blurred: Comparison, name: str) -> None:
    assert len(Profile((name,)).broken(blurred)) == 1
    assert Profile(("median", "noise", "unrecognised")).broken(blurred) == []


def test_what_is_not_recognised_is_forbidden(strange: Comparison) -> None:
    assert strange.unlike
    assert Profile(("unrecognised",)).broken(strange) == ["a change is not recognised"]
    assert Profile(("blur",)).broken(strange) == []


def test_figures_are_limited_on_both_sides(blurred: Comparison) -> None:
    for name in profile.FIGURES:
        value = getattr(blurred, name)
        assert Profile(limits={name: Range(value, value)}).broken(blurred) == []
        assert len(Profile(limits={name: Range(most=value - 0.01)}).broken(blurred)) == 1
        assert len(Profile(limits={name: Range(least=value + 0.01)}).broken(blurred)) == 1


def test_identical_pictures_keep_every_limit_of_the_psnr() -> None:
    pixels = copies.unit(copies.part("camera", 64, 64))
    same = compare(pixels, pixels)
    assert same.psnr is None
    assert Profile(limits={"psnr": Range(least=99)}).broken(same) == []


def test_rules_are_added_and_removed() -> None:
    made = Profile().forbidding("blur").limiting("mse", Range(most=3)).forbidding("blur")
    assert made == Profile(("blur",), {"mse": Range(most=3)})
    assert made.lines == ["No Blur", "MSE at most 3"]
    assert made.without("blur").without("mse").empty
    with pytest.raises(ProfileError):
        made.forbidding("nonsense")
    with pytest.raises(ProfileError):
        made.limiting("nonsense", Range(most=1))
