"""Step 3: settings, presets, training, stopping and resuming."""

from __future__ import annotations

import time
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isca_gui.core.parallel import Workers
from isca_gui.core.progress import Cancelled, Progress
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers.steps import CONVERGED, STOPPED
from isca_gui.panels.training import TrainingPanel
from isca_gui.session.preferences import Preferences
from isca_gui.viewers.runs.runs import RunsViewer
from isca_gui.widgets import step_frame
from isca_gui.widgets.settings_form import FIELDS
from tests.gui.conftest import SETTINGS, SPEC, opened
from tests.gui.panels.conftest import click, shown

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from tests.gui.conftest import Studio


def test_the_form_has_a_field_for_every_setting() -> None:
    unseen = {"keep_every"}  # for whoever works with the basis on the way, in Python
    wanted = [each.name for each in fields(TrainingSettings) if each.name not in unseen]
    assert [field.name for field in FIELDS] == wanted


def test_fields_edit_the_settings(with_dataset: Studio, training_panel: TrainingPanel) -> None:
    session, form = with_dataset.session, training_panel.form
    form.editors["components"].setValue(6)
    assert session.settings.components == 6
    form.editors["method"].setCurrentIndex(form.editors["method"].findData("kernel-isca"))
    assert session.settings.method == "kernel-isca"
    form.editors["rho"].setText("0,5")
    form.editors["rho"].editingFinished.emit()
    assert session.settings.rho == 0.5
    form.editors["rho"].setText("")
    form.editors["rho"].editingFinished.emit()
    assert session.settings.rho is None
    session.undo.undo()
    assert session.settings.method == "isca", "what was put in and taken out again is no edit"


def test_an_edit_keeps_settings_without_a_field(
    with_dataset: Studio, training_panel: TrainingPanel
) -> None:
    session = with_dataset.session
    session.set_settings(
        replace(SETTINGS, keep_every=2)
    )  # as a project made from Python may have it
    training_panel.form.editors["components"].setValue(6)
    assert (session.settings.components, session.settings.keep_every) == (6, 2)


def test_invalid_values_stay_at_their_field_until_they_are_right(
    with_dataset: Studio, training_panel: TrainingPanel
) -> None:
    session, form = with_dataset.session, training_panel.form
    form.editors["components"].setValue(100)
    assert "1 to 64" in form.problems["components"]
    assert form.editors["components"].property("wrong")
    assert session.settings.components == 4
    assert not training_panel.train_button.isEnabled()
    assert "1 to 64" in training_panel.train_button.toolTip()
    form.editors["block"].setValue(16)
    assert form.problems == {}
    assert (session.settings.components, session.settings.block) == (100, 16)
    assert training_panel.train_button.isEnabled()
    form.editors["eta"].setText("abc")
    form.editors["eta"].editingFinished.emit()
    assert "not a number" in form.problems["eta"]
    form.editors["eta"].setText("0.2")
    form.editors["eta"].editingFinished.emit()
    assert session.settings.eta == 0.2


def test_the_button_of_an_empty_viewer_trains_nothing_while_a_field_is_invalid(
    qtbot: QtBot, with_dataset: Studio, training_panel: TrainingPanel
) -> None:
    page, form = opened(qtbot, with_dataset, RunsViewer)._empty, training_panel.form
    form.editors["eta"].setText("abc")
    form.editors["eta"].editingFinished.emit()
    click(qtbot, page.button)
    assert not with_dataset.jobs.running("training")
    assert with_dataset.session.live is None
    assert with_dataset.session.messages[-1].text == form.problems["eta"]
    form.editors["eta"].setText("0.2")
    form.editors["eta"].editingFinished.emit()
    click(qtbot, page.button)
    with_dataset.rest(qtbot)
    assert with_dataset.session.run is not None


def test_an_invalid_field_is_forgotten_with_its_settings(
    with_dataset: Studio, training_panel: TrainingPanel
) -> None:
    session, form = with_dataset.session, training_panel.form
    session.set_settings(TrainingSettings())

    def type_nonsense() -> None:
        form.editors["rho"].setText("abc")
        form.editors["rho"].editingFinished.emit()
        assert list(form.problems) == ["rho"]

    type_nonsense()
    form.editors["seed"].setText("7")
    form.editors[
        "seed"
    ].editingFinished.emit()  # another field is taken all the same, and not blamed
    assert session.settings.seed == 7
    assert list(form.problems) == ["rho"]
    for other in (
        TrainingSettings(method="pca"),
        TrainingSettings(rho=0.5),
    ):  # by a preset, undo or project
        session.set_settings(other)
        assert form.problems == {}
        assert training_panel.train_button.isEnabled()
        session.set_settings(TrainingSettings())
        type_nonsense()
    form.editors["method"].setCurrentIndex(form.editors["method"].findData("pca"))
    assert form.problems == {}, "nobody could mend it"
    assert session.settings.method == "pca"
    assert form.editors["rho"].text() == ""


def test_fields_without_effect_are_disabled_and_say_why(
    with_dataset: Studio, training_panel: TrainingPanel
) -> None:
    form, session = training_panel.form, with_dataset.session
    assert not form.editors["kernel"].isEnabled()
    assert form.editors["kernel"].toolTip() == "ISCA uses no kernel."
    assert form.editors["rho"].toolTip() == "The direct solver chooses its own step size."
    session.set_settings(TrainingSettings(method="kernel-isca", kernel="polynomial"))
    for name in ("kernel", "gamma", "coef0", "degree", "metric", "rho"):
        assert form.editors[name].isEnabled(), name
    session.set_settings(TrainingSettings(method="pca"))
    assert "one step" in form.editors["epochs"].toolTip()


def test_presets(with_dataset: Studio, qtbot: QtBot, tmp_path: Path) -> None:
    session = with_dataset.session
    preferences = Preferences(tmp_path / "p.json")
    panel = TrainingPanel(session, with_dataset.jobs, with_dataset.actions, preferences=preferences)
    qtbot.addWidget(panel)

    def choose(name: str) -> None:
        panel.preset_box.setCurrentText(name)
        panel.preset_box.activated.emit(panel.preset_box.currentIndex())

    choose("As published")
    assert session.settings == TrainingSettings()
    choose("Fast")
    assert session.settings == TrainingSettings(solver="direct")
    choose("Exact")
    assert session.settings == TrainingSettings(solver="direct", tolerance=1e-3)
    session.set_settings(TrainingSettings(method="random", components=2))
    assert panel.preset_box.currentText() == "Custom settings", "the paper has no such method"
    choose("As published")
    assert session.settings == TrainingSettings()
    session.set_settings(TrainingSettings(components=2, eta=0.3))
    assert panel.preset_box.currentText() == "Custom settings"
    panel.name_edit.setText("mine")
    panel.name_edit.returnPressed.emit()
    with_dataset.rest(qtbot)
    assert panel.preset_box.currentText() == "mine"
    choose("As published")
    choose("mine")
    assert session.settings == TrainingSettings(components=2, eta=0.3)
    panel.form.editors["components"].setValue(100)
    assert panel.form.problems
    panel.name_edit.setText("wrong")
    panel.name_edit.returnPressed.emit()
    assert "wrong" not in preferences.presets, "it would hold other values than those shown"
    choose("mine")
    assert panel.form.problems == {}
    assert panel.form.editors["components"].value() == 2
    assert Preferences(tmp_path / "p.json").presets == {"mine": session.settings}


def test_train_gives_a_run_with_live_steps(
    qtbot: QtBot, with_dataset: Studio, training_panel: TrainingPanel
) -> None:
    session = with_dataset.session
    told: list[tuple[int, list[object]]] = []
    session.step_added.connect(lambda number, steps: told.append((number, steps)))
    click(qtbot, training_panel.train_button)
    assert training_panel.state == step_frame.RUNNING
    assert session.live is not None
    qtbot.waitUntil(lambda: session.run is not None)
    assert session.run is not None
    assert sum(len(steps) for _, steps in told) == len(session.run.model.steps) == 5
    assert training_panel.state == step_frame.DONE
    assert "objective" in training_panel.summary_label.text()
    with_dataset.rest(qtbot)


def test_stop_and_keep_then_resume(
    qtbot: QtBot, with_dataset: Studio, training_panel: TrainingPanel
) -> None:
    session = with_dataset.session
    session.set_settings(TrainingSettings(epochs=1_000_000))
    click(qtbot, training_panel.train_button)
    qtbot.waitUntil(
        lambda: session.live is not None and len(session.live.steps) > 5, timeout=60_000
    )
    assert training_panel.stop_button.isVisible()
    click(qtbot, training_panel.stop_button)
    qtbot.waitUntil(lambda: session.run is not None)
    first = session.run
    assert first is not None
    assert first.model.end == "stopped"
    assert training_panel.resume_button.isEnabled()
    done = first.model.state.epoch
    session.set_settings(TrainingSettings(epochs=done + 5))
    click(qtbot, training_panel.resume_button)
    qtbot.waitUntil(lambda: len(session.runs) == 2)
    assert session.run is not None
    assert session.run.model.state.epoch == done + 5
    assert len(session.run.model.steps) == done + 5
    with_dataset.rest(qtbot)


@pytest.mark.parametrize("solver", ["admm", "direct"])
def test_a_training_that_is_stopped_in_its_first_epoch_leaves_no_run(
    qtbot: QtBot,
    with_dataset: Studio,
    training_panel: TrainingPanel,
    monkeypatch: pytest.MonkeyPatch,
    solver: str,
) -> None:
    session, calls, each = with_dataset.session, [], Workers.each

    def slow(workers: Workers, work: Any, count: int, size: int) -> Any:
        calls.append(work)
        while len(calls) > 2:  # the blocks are laid out: now it learns
            if (yield Progress(0, 1)):
                raise Cancelled("Stopped here.")
            time.sleep(0.002)
        return (yield from each(workers, work, count, size))

    monkeypatch.setattr(Workers, "each", slow)
    session.set_settings(TrainingSettings(solver=solver, epochs=3))
    click(qtbot, training_panel.train_button)
    qtbot.waitUntil(lambda: len(calls) > 2)
    click(qtbot, training_panel.stop_button)
    with_dataset.rest(qtbot)
    assert (session.live, session.runs) == (None, ())
    assert "there is no model to keep" in session.messages[-1].text
    assert with_dataset.errors == []


def test_resume_says_why_not(qtbot: QtBot, with_run: Studio) -> None:
    panel = shown(qtbot, with_run, TrainingPanel)
    session = with_run.session
    assert "ask for more epochs" in panel.resume_button.toolTip()
    session.set_settings(replace(SETTINGS, components=3))
    assert "other settings (components)" in panel.resume_button.toolTip()
    assert panel.state == step_frame.STALE
    session.set_settings(replace(SETTINGS, epochs=20))
    assert panel.resume_button.isEnabled()
    run = session.run
    session.replace_run(replace(run, model=replace(run.model, end=CONVERGED)))
    assert "ask for a lower tolerance" in panel.resume_button.toolTip()
    session.set_settings(replace(SETTINGS, epochs=20, tolerance=1e-9))
    assert panel.resume_button.isEnabled()
    session.replace_run(replace(run, model=replace(run.model, end=STOPPED)))
    session.set_settings(replace(SETTINGS, epochs=3))
    assert "ask for more epochs" in panel.resume_button.toolTip()


def test_a_run_goes_on_while_its_dataset_is_there_whatever_is_set_in_step_2(
    qtbot: QtBot, with_run: Studio, small: Dataset
) -> None:
    panel = shown(qtbot, with_run, TrainingPanel)
    session = with_run.session
    session.set_settings(replace(SETTINGS, epochs=7))
    session.set_spec(replace(SPEC, seed=9))
    assert panel.state == step_frame.STALE
    click(qtbot, panel.resume_button)
    with_run.rest(qtbot)
    assert session.run.model.state.epoch == 7
    session.set_dataset(replace(small, pictures=small.pictures + np.float32(0.01)), "another")
    assert "another dataset" in panel.resume_button.toolTip()


def test_a_failed_training_is_reported_and_the_next_one_works(
    qtbot: QtBot, with_dataset: Studio, training_panel: TrainingPanel
) -> None:
    session = with_dataset.session
    session.set_settings(TrainingSettings(eta=1000.0, epochs=5))
    click(qtbot, training_panel.train_button)
    with_dataset.rest(qtbot)
    assert with_dataset.errors
    assert training_panel.state == step_frame.FAILED
    assert session.live is None
    session.set_work(session.work)  # another project
    assert training_panel.state == step_frame.EMPTY
    session.set_settings(SETTINGS)
    click(qtbot, training_panel.train_button)
    qtbot.waitUntil(lambda: session.run is not None)
    assert training_panel.state == step_frame.DONE
    with_dataset.rest(qtbot)
