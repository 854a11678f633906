"""What a project file says of a test picture becomes a record, and the same text again."""

from __future__ import annotations

import pytest

from isca_gui.core.projects.project import StoredTest
from isca_gui.projects import project_io
from isca_gui.session.records import Truth


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("blur at MSE 45", Truth(("blur",), 45.0)),
        ("hidden:blur+jpeg at MSE 312.5", Truth(("blur", "jpeg"), 312.5, hidden=True)),
        ("my own label at MSE 0.012", Truth(("my own label",), 0.012)),
        ("blur", Truth(("blur",))),
        ("blur at MSE 45.000", Truth(("blur at MSE 45.000",))),
        ("blur at MSE unknown", Truth(("blur at MSE unknown",))),
    ],
)
def test_the_truth_of_an_earlier_version_comes_back(text: str, wanted: Truth) -> None:
    found = project_io._truth(StoredTest(1, "Mystery 1", truth=text))
    assert found == wanted
    assert project_io._truth_text(found) == text


def test_a_picture_from_a_file_has_no_truth() -> None:
    assert project_io._truth(StoredTest(1, "blur 100 left out of it.png")) is None


@pytest.mark.parametrize(
    ("name", "run"), [("blur 100 left out of ISCA 1", "ISCA 1"), ("blur 100", "")]
)
def test_a_training_picture_knows_which_run_left_it_out(name: str, run: str) -> None:
    found = project_io._truth(StoredTest(1, name, truth="blur at MSE 100", left_out=3))
    assert found == Truth(("blur",), 100.0, left_out=3, left_out_of=run)
