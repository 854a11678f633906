"""An alignment in words and as a JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isca_gui.core.alignment.align import SAME, UNRELATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isca_gui.core.alignment.align import Alignment

_SIDES = ("left", "top", "right", "bottom")
_LEAST = 0.01


def entry(alignment: Alignment) -> dict[str, Any]:
    """Return an alignment as an object of a JSON document."""
    related = alignment.relation != UNRELATED
    return {
        "relation": alignment.relation,
        "scale": _rounded(alignment.scale, 5) if related else None,
        "shift": _rounded(alignment.shift, 3) if related else None,
        "crop": dict(zip(_SIDES, _rounded(alignment.crop, 2), strict=True)) if related else None,
        "turn": alignment.placement.turn,
        "mirrored": alignment.placement.mirrored,
        "angle": round(alignment.placement.angle, 3),
        "filter": alignment.filter,
        "match": round(alignment.match, 3),
    }


def in_words(alignment: Alignment) -> str:
    """Return what was done to the geometry, such as "Scaled to 80% (bicubic)"; nothing if nothing.

    It has no full stop, so that it can go on.
    """
    if alignment.relation in (SAME, UNRELATED):
        return ""
    parts = [*_turned(alignment), *_scaled(alignment)]
    if "shifted" in alignment.relation.split("+"):
        parts.append(f"shifted by {_shift(alignment)}")
    else:
        parts += _cut(alignment)
    said = ", ".join(parts)
    return said[0].upper() + said[1:]


def _turned(alignment: Alignment) -> list[str]:
    placement = alignment.placement
    parts = []
    if placement.mirrored and placement.turn == 180:
        parts.append("mirrored top to bottom")
    elif placement.mirrored:
        parts.append("mirrored left to right")
    if placement.turn == 180 and not placement.mirrored:
        parts.append("turned by 180°")
    if placement.turn in (90, 270):
        way = "counterclockwise" if placement.turn == 90 else "clockwise"
        parts.append(f"turned by 90° {way}")
    if placement.angle:
        way = "counterclockwise" if placement.angle > 0 else "clockwise"
        parts.append(f"rotated by {abs(placement.angle):.3g}° {way}")
    return parts


def _scaled(alignment: Alignment) -> list[str]:
    if "scaled" not in alignment.relation.split("+"):
        return []
    across, down = (f"{100 * scale:.4g}%" for scale in alignment.scale)
    # A size in whole pixels is never quite the scale that was asked for.
    is_even = abs(alignment.scale[0] / alignment.scale[1] - 1) < 1 / min(alignment.shape)
    size = across if is_even else f"{across} across and {down} down"
    named = f" ({alignment.filter})" if alignment.filter else ""
    return [f"scaled to {size}{named}"]


def _shift(alignment: Alignment) -> str:
    across, down = alignment.shift
    words = []
    if abs(across) >= _LEAST:
        words.append(f"{_pixels(across)} to the {'right' if across > 0 else 'left'}")
    if abs(down) >= _LEAST:
        words.append(f"{_pixels(down)} {'down' if down > 0 else 'up'}")
    return " and ".join(words)


def _cut(alignment: Alignment) -> list[str]:
    parts = []
    for word, sign in (("cropped", 1), ("padded", -1)):
        if word not in alignment.relation.split("+"):
            continue
        sizes = {
            side: _pixels(value)
            for side, value in zip(_SIDES, alignment.crop, strict=True)
            if value * sign >= _LEAST
        }
        if len(sizes) == len(_SIDES) and len(set(sizes.values())) == 1:
            parts.append(f"{word} by {sizes['left']} at each side")
        elif sizes:
            sides = [f"{size} at the {side}" for side, size in sizes.items()]
            parts.append(f"{word} by {_listed(sides)}")
    return parts


def _listed(words: Sequence[str]) -> str:
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _pixels(value: float) -> str:
    rounded = f"{abs(value):.1f}".removesuffix(".0")
    return f"{rounded} px"


def _rounded(values: Sequence[float], digits: int) -> list[float]:
    return [round(float(value), digits) + 0.0 for value in values]
