"""Step 2: which distorted copies are made, their preview, and files of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QLocale, Qt
from PySide6.QtWidgets import QFileDialog

from isca_gui.core.distortion import dataset_folder
from isca_gui.core.distortion.dataset import Dataset
from isca_gui.core.distortion.dataset_spec import PAPER_LEVELS, DatasetSpec
from isca_gui.core.progress import run as finish
from isca_gui.panels import recognise
from isca_gui.panels.dataset import DatasetPanel
from isca_gui.panels.recognise import RecognisePanel
from isca_gui.session.records import Reference
from isca_gui.viewers.pictures.pictures import PicturesViewer
from isca_gui.widgets import step_frame
from isca_gui.widgets.fields import MseBox
from tests.gui.conftest import SETTINGS, SPEC, opened
from tests.gui.panels.conftest import click, shown

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from isca_gui.panels.training import TrainingPanel
    from tests.gui.conftest import Studio


def test_generate_makes_the_dataset_and_lists_it(
    qtbot: QtBot, with_reference: Studio, dataset_panel: DatasetPanel
) -> None:
    click(qtbot, dataset_panel.generate_button)
    assert dataset_panel.state == step_frame.RUNNING
    assert not dataset_panel.generate_button.isEnabled()
    assert dataset_panel.stop_button.isVisible()
    with_reference.rest(qtbot)
    made = with_reference.session.dataset
    assert made is not None
    assert len(made.entries) == 7
    assert dataset_panel.state_label.text() == "✓ 7 pictures"
    assert dataset_panel.model.rowCount() == 7
    index = dataset_panel.model.index(1, 1)
    assert dataset_panel.model.data(index) == "100"
    assert float(dataset_panel.model.data(dataset_panel.model.index(1, 2))) == pytest.approx(
        100, abs=1
    )
    assert "grey levels" in dataset_panel.model.data(index, Qt.ItemDataRole.ToolTipRole)


def test_levels_out_of_reach_are_marked(
    qtbot: QtBot, with_reference: Studio, dataset_panel: DatasetPanel
) -> None:
    with_reference.session.set_spec(DatasetSpec(("blur",), (100.0, 60000.0)))
    click(qtbot, dataset_panel.generate_button)
    with_reference.rest(qtbot)
    assert dataset_panel.model.rowCount() == 3
    assert dataset_panel.model.data(dataset_panel.model.index(2, 2)) == "unreachable"
    assert "at most" in dataset_panel.model.data(
        dataset_panel.model.index(2, 0), Qt.ItemDataRole.ToolTipRole
    )
    assert "1 unreachable" in dataset_panel.contents_box.button.text()


def test_generating_can_be_stopped(qtbot: QtBot, studio: Studio) -> None:
    studio.actions.open_sample("camera")
    studio.rest(qtbot)
    panel = shown(qtbot, studio, DatasetPanel)
    assert isinstance(panel, DatasetPanel)
    click(qtbot, panel.generate_button)
    qtbot.waitUntil(lambda: panel.stop_button.isVisible())
    click(qtbot, panel.stop_button)
    assert panel.state == step_frame.EMPTY
    studio.rest(qtbot)
    assert studio.session.dataset is None


def test_fields_edit_the_spec_and_can_be_undone(
    with_reference: Studio, dataset_panel: DatasetPanel
) -> None:
    session = with_reference.session
    dataset_panel.kind_boxes["blur"].setChecked(False)
    assert session.spec.kinds == ("gaussian-noise", "jpeg")
    dataset_panel.seed_box.setText("5")
    dataset_panel.seed_box.editingFinished.emit()
    assert session.spec.seed == 5
    dataset_panel.to_box.setValue(1000)
    assert session.spec.levels == (100.0, 400.0, 700.0, 1000.0)
    session.undo.undo()
    session.undo.undo()
    session.undo.undo()
    assert session.spec == SPEC
    assert dataset_panel.kind_boxes["blur"].isChecked()
    assert dataset_panel.seed_box.value() == 0
    assert dataset_panel.to_box.value() == 400


def test_numbers_of_many_digits_stay_as_they_are(
    with_reference: Studio, dataset_panel: DatasetPanel, training_panel: TrainingPanel
) -> None:
    session = with_reference.session
    levels = (0.1234567891, 1234.56789, 60_000.000001)
    session.set_spec(replace(session.spec, levels=levels))
    dataset_panel.kind_boxes["jpeg"].click()
    assert session.spec.levels == levels, "only the kinds have changed"
    session.set_settings(
        replace(session.settings, method="kernel-isca", kernel="rbf", gamma=0.123456789012)
    )
    for name in ("gamma", "rho", "eta"):
        training_panel.form.editors[name].editingFinished.emit()  # somebody goes through the fields
    assert session.settings.gamma == 0.123456789012


def test_levels_as_a_list(with_reference: Studio, dataset_panel: DatasetPanel) -> None:
    session = with_reference.session
    dataset_panel.mode_box.setCurrentIndex(1)
    assert dataset_panel.list_edit.text() == "100, 400"
    dataset_panel.list_edit.setText("45, 90, 200.5")
    dataset_panel.list_edit.editingFinished.emit()
    assert session.spec.levels == (45.0, 90.0, 200.5)
    session.set_spec(DatasetSpec())
    assert dataset_panel.list_edit.text().startswith("45, 90, 135")
    dataset_panel.mode_box.setCurrentIndex(0)
    assert session.spec.levels == PAPER_LEVELS
    assert dataset_panel.step_box.value() == 45


@pytest.mark.parametrize("language", ["C", "de_DE", "en_US", "fr_CH"])
def test_point_and_comma_are_both_decimal_signs(qtbot: QtBot, language: str) -> None:
    before = QLocale()
    QLocale.setDefault(QLocale(language))
    try:
        box = MseBox("MSE", "How strong.", 45)
        qtbot.addWidget(box)
        for text, value in (
            ("22.5", 22.5),
            ("22,5", 22.5),
            (",5", 0.5),
            ("1000", 1000),
            ("65025", 65025),
        ):
            box.selectAll()
            qtbot.keyClicks(box, text)
            qtbot.keyClick(box, Qt.Key.Key_Return)
            assert box.value() == value
            assert float(box.text()) == value
    finally:
        QLocale.setDefault(before)


@pytest.mark.parametrize("text", ["22,5, 45", "22,5", "100, 45"])
def test_levels_that_do_not_rise_are_rejected(
    with_reference: Studio, dataset_panel: DatasetPanel, text: str
) -> None:
    dataset_panel.mode_box.setCurrentIndex(1)
    dataset_panel.list_edit.setText(text)
    dataset_panel.list_edit.editingFinished.emit()
    assert dataset_panel.list_edit.property("wrong")
    assert "22.5" in dataset_panel.generate_button.toolTip()
    assert with_reference.session.spec == SPEC


def test_tabbing_through_the_fields_changes_nothing(
    with_reference: Studio, dataset_panel: DatasetPanel
) -> None:
    session = with_reference.session
    for kinds in (("jpeg", "blur"), ("blur+jpeg", "contrast")):  # of a dataset made by a command
        spec = DatasetSpec(kinds, (200.0, 45.0))
        session.restore(spec, SETTINGS)
        for edit in (dataset_panel.list_edit, dataset_panel.seed_box):
            edit.editingFinished.emit()
        assert session.spec == spec
        assert not dataset_panel.problem_label.text()


def test_undo_restores_a_list_that_is_no_range(
    with_reference: Studio, dataset_panel: DatasetPanel
) -> None:
    session = with_reference.session
    dataset_panel.mode_box.setCurrentIndex(1)
    dataset_panel.list_edit.setText("10, 20, 37.5")
    dataset_panel.list_edit.editingFinished.emit()
    dataset_panel.mode_box.setCurrentIndex(0)
    assert session.spec.levels == (100.0, 400.0), "what the fields show"
    dataset_panel.mode_box.setCurrentIndex(1)
    session.undo.undo()
    assert session.spec.levels == (10.0, 20.0, 37.5)
    assert dataset_panel.list_edit.text() == "10, 20, 37.5"


@pytest.mark.parametrize("seed", [5_000_000_000, 2**63 - 1])
def test_large_seeds_are_shown_and_kept(
    with_dataset: Studio, dataset_panel: DatasetPanel, training_panel: TrainingPanel, seed: int
) -> None:
    session = with_dataset.session
    session.set_spec(replace(SPEC, seed=seed))  # of a dataset made by a command, or a project
    assert dataset_panel.seed_box.value() == seed
    dataset_panel.kind_boxes["blur"].setChecked(False)
    assert session.spec == replace(SPEC, seed=seed, kinds=("gaussian-noise", "jpeg"))
    session.set_settings(replace(SETTINGS, seed=seed))
    training_panel.form.editors["block"].setValue(4)
    assert session.settings == replace(SETTINGS, seed=seed, block=4)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "abc", "²", str(2**63), "9" * 30])
def test_an_invalid_seed_is_reported(
    with_dataset: Studio, dataset_panel: DatasetPanel, training_panel: TrainingPanel, text: str
) -> None:
    for edit in (dataset_panel.seed_box, training_panel.form.editors["seed"]):
        edit.setText(text)
        edit.editingFinished.emit()
        assert edit.property("wrong")
    assert "seed" in dataset_panel.problem_label.text()
    assert not dataset_panel.list_edit.property("wrong")
    assert "seed" in training_panel.form.problems
    assert (with_dataset.session.spec, with_dataset.session.settings) == (SPEC, SETTINGS)


@pytest.mark.parametrize("text", ["", "a, b", "45, 45", "-1", "1e9", "nan", "45,"])
def test_invalid_values_are_reported_at_the_field_and_nothing_is_generated(
    with_reference: Studio, dataset_panel: DatasetPanel, text: str
) -> None:
    dataset_panel.mode_box.setCurrentIndex(1)
    dataset_panel.list_edit.setText(text)
    dataset_panel.list_edit.editingFinished.emit()
    assert dataset_panel.problem_label.isVisible()
    assert dataset_panel.list_edit.property("wrong")
    assert not dataset_panel.generate_button.isEnabled()
    assert dataset_panel.generate_button.toolTip() == dataset_panel.problem_label.text()
    assert with_reference.session.spec == SPEC
    dataset_panel.list_edit.setText("50")
    dataset_panel.list_edit.editingFinished.emit()
    assert dataset_panel.generate_button.isEnabled()
    assert not dataset_panel.problem_label.isVisible()


def test_the_button_of_an_empty_viewer_generates_nothing_while_a_field_is_invalid(
    qtbot: QtBot, with_reference: Studio, dataset_panel: DatasetPanel
) -> None:
    page = opened(qtbot, with_reference, PicturesViewer)._empty
    dataset_panel.seed_box.setText("abc")
    dataset_panel.seed_box.editingFinished.emit()
    click(qtbot, page.button)
    assert not with_reference.jobs.running("dataset")
    assert with_reference.session.messages[-1].text == dataset_panel.problem_label.text()
    dataset_panel.seed_box.setText("0")
    dataset_panel.seed_box.editingFinished.emit()
    click(qtbot, page.button)
    with_reference.rest(qtbot)
    assert with_reference.session.dataset is not None


def test_at_least_one_kind_is_needed(dataset_panel: DatasetPanel) -> None:
    for box in dataset_panel.kind_boxes.values():
        box.setChecked(False)
    assert "at least one kind" in dataset_panel.problem_label.text()
    assert not dataset_panel.generate_button.isEnabled()


def test_the_preview_follows_the_slider_and_is_what_the_dataset_would_hold(
    qtbot: QtBot, with_reference: Studio, dataset_panel: DatasetPanel, small: object
) -> None:
    preview = dataset_panel.preview
    got: list[object] = []
    preview.kind_box.setCurrentIndex(preview.kind_box.findData("blur"))
    for value in (700, 650, 400):
        preview.slider.setValue(value)
    assert preview.mse_box.value() == 400
    with_reference.rest(qtbot)
    assert preview.text_label.text().startswith(("achieved MSE 399.9", "achieved MSE 400"))
    assert "SSIM" in preview.text_label.text()
    assert not preview.picture_label.pixmap().isNull()
    with_reference.actions.preview("blur", 400.0, got.append)
    with_reference.rest(qtbot)
    made = next(
        picture
        for picture, entry in zip(small.pictures, small.entries, strict=True)
        if (entry.label, entry.target_mse) == ("blur", 400.0)
    )
    assert (got[0].picture == made).all()


def test_the_preview_reports_an_unreachable_level(
    qtbot: QtBot, with_reference: Studio, dataset_panel: DatasetPanel
) -> None:
    dataset_panel.preview.kind_box.setCurrentIndex(3)
    dataset_panel.preview.mse_box.setValue(60000)
    with_reference.rest(qtbot)
    assert "at most" in dataset_panel.preview.text_label.text()
    assert not with_reference.errors


def test_a_dataset_is_saved_and_imported(
    qtbot: QtBot, with_dataset: Studio, tmp_path: Path
) -> None:
    session = with_dataset.session
    panel = shown(qtbot, with_dataset, DatasetPanel)
    assert panel.save_button.isEnabled()
    with_dataset.actions.save_dataset(tmp_path / "saved")
    with_dataset.rest(qtbot)
    before = session.dataset
    with_dataset.actions.import_folder(tmp_path / "saved")
    with_dataset.rest(qtbot)
    assert not with_dataset.errors
    assert session.dataset is not before
    assert session.dataset.digest() == before.digest()
    assert not session.dataset_stale
    assert panel.state == step_frame.DONE


def test_the_dataset_saved_is_that_of_the_moment_of_asking(
    qtbot: QtBot, with_run: Studio, small: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs end while a dialog is open."""
    session = with_run.session
    panel = shown(qtbot, with_run, DatasetPanel)
    other = Dataset(small.pictures[:3], small.entries[:3])

    def chosen(*_: object) -> str:
        session.set_dataset(other, other.digest())
        return str(tmp_path / "saved")

    monkeypatch.setattr(QFileDialog, "getExistingDirectory", chosen)
    click(qtbot, panel.save_button)
    with_run.rest(qtbot)
    assert finish(dataset_folder.load(tmp_path / "saved")).digest() == small.digest()

    answers = shown(qtbot, with_run, RecognisePanel)
    with_run.actions.recognise_made("blur", 300.0, 1)
    with_run.rest(qtbot)

    def named(*_: object) -> str:
        session.remove_tested(session.tested[0].number)
        return str(tmp_path / "answers.csv")

    monkeypatch.setattr(recognise, "ask_name", named)
    click(qtbot, answers.save_button)
    with_run.rest(qtbot)
    assert session.tested == ()
    assert len((tmp_path / "answers.csv").read_text("utf-8").splitlines()) == 2


def test_an_import_leaves_a_reference_that_was_opened_since(
    qtbot: QtBot, with_dataset: Studio, picture: object, tmp_path: Path
) -> None:
    session = with_dataset.session
    with_dataset.actions.save_dataset(tmp_path / "saved")
    with_dataset.rest(qtbot)
    session.set_spec(replace(SPEC, seed=5))
    with_dataset.actions.import_folder(tmp_path / "saved")
    session.set_reference(Reference("pasted", 1 - picture))
    with_dataset.rest(qtbot)
    assert session.reference.name == "pasted"
    assert session.spec.seed == 5
    assert session.dataset_stale, "it is of another picture"


def test_of_two_saves_none_is_dropped(qtbot: QtBot, with_run: Studio, tmp_path: Path) -> None:
    actions, run = with_run.actions, with_run.session.run
    for name in ("one", "two"):
        actions.save_dataset(tmp_path / name)
        actions.save_model(run, tmp_path / f"{name}.isca")
        actions.save_answers(tmp_path / f"{name}.csv")
    with_run.rest(qtbot)
    assert not with_run.errors
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"one", "two", "one.isca", "two.isca", "one.csv", "two.csv"}


def test_an_import_does_not_end_what_is_being_made(
    qtbot: QtBot, with_reference: Studio, tmp_path: Path
) -> None:
    with_reference.actions.generate()
    with_reference.actions.import_folder(tmp_path)
    assert "already" in with_reference.session.messages[-1].text
    with_reference.rest(qtbot)
    assert with_reference.session.dataset is not None


def test_stale_is_shown_in_word_and_mark(with_dataset: Studio, qtbot: QtBot) -> None:
    panel = shown(qtbot, with_dataset, DatasetPanel)
    with_dataset.session.set_reference(
        Reference("other", with_dataset.session.reference.picture[:, ::-1].copy())
    )
    assert panel.state_label.text() == "⟳ stale, 7 pictures"
