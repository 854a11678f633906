"""What files say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageCms

from isca_gui.core.comparison import file_evidence
from tests import copies

if TYPE_CHECKING:
    from pathlib import Path

PIXELS = copies.part("coffee", 40, 48)


def evidence(path: Path, form: str, **options: Any) -> dict[str, Any]:
    path.write_bytes(copies.file_of(PIXELS, form, **options))
    found = file_evidence.read(path)
    assert found is not None
    return found


@pytest.mark.parametrize("quality", [5, 30, 75, 95])
@pytest.mark.parametrize(("subsampling", "name"), [(0, "4:4:4"), (1, "4:2:2"), (2, "4:2:0")])
def test_jpeg(tmp_path: Path, quality: int, subsampling: int, name: str) -> None:
    found = evidence(tmp_path / "a.jpg", "JPEG", quality=quality, subsampling=subsampling)
    assert (found["format"], found["mode"], found["profile"]) == ("JPEG", "RGB", False)
    assert (found["quality"], found["subsampling"]) == (quality, name)
    with Image.open(tmp_path / "a.jpg") as picture:
        assert found["quantisation_table"] == list(picture.quantization[0])


@pytest.mark.parametrize("form", ["PNG", "WEBP", "TIFF", "BMP"])
def test_other_formats_have_no_table(tmp_path: Path, form: str) -> None:
    assert evidence(tmp_path / "a.img", form) == {"format": form, "mode": "RGB", "profile": False}


def test_a_profile_is_told(tmp_path: Path) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert evidence(tmp_path / "a.png", "PNG", icc_profile=profile)["profile"]


def test_what_is_no_picture_says_nothing(tmp_path: Path) -> None:
    for name, data in (("a.png", b""), ("b.jpg", b"text"), ("c.jpg", b"\xff\xd8\xff\xe0")):
        (tmp_path / name).write_bytes(data)
        assert file_evidence.read(tmp_path / name) is None
    assert file_evidence.read(tmp_path / "missing.png") is None
