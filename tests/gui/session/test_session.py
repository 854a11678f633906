"""The session: one signal for each change, stale stages marked, edits that can be undone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.settings import TrainingSettings
from isca_gui.session.records import Reference

# Under its own name pytest would take it for a class of tests.
from isca_gui.session.records import TestedPicture as Seen
from isca_gui.session.session import MOST_MESSAGES, Session
from tests.gui.conftest import SETTINGS, SPEC

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from tests.gui.conftest import Studio


def test_every_setter_emits_a_signal(qtbot: QtBot, small: Dataset, model: Model) -> None:
    session = Session()
    with qtbot.waitSignal(session.reference_changed):
        session.set_reference(Reference("a", small.reference))
    with qtbot.waitSignal(session.spec_changed):
        session.set_spec(SPEC)
    with qtbot.waitSignal(session.dataset_changed):
        session.set_dataset(small)
    with qtbot.waitSignal(session.settings_changed):
        session.set_settings(SETTINGS)
    with qtbot.waitSignal(session.runs_changed):
        number = session.begin_run(SETTINGS)
    assert session.live is not None
    with qtbot.waitSignal(session.step_added) as told:
        session.add_steps(model.steps[:2])
    assert told.args == [number, list(model.steps[:2])]
    with qtbot.waitSignals([session.runs_changed, session.run_selected]):
        session.end_run(model)
    assert session.live is None
    assert session.run is not None
    assert session.run.model is model
    tested = Seen(session.next_tested_number(), "t", small.reference, None, number)
    with qtbot.waitSignals([session.tested_changed, session.tested_selected]):
        session.add_tested(tested)
    assert session.test is tested
    with qtbot.waitSignal(session.message_added) as said:
        session.say("info", "hello")
    assert said.args[0].text == "hello"


def test_a_dataset_is_stale_when_reference_or_spec_change_and_fresh_when_they_come_back(
    with_dataset: Studio,
) -> None:
    session = with_dataset.session
    assert not session.dataset_stale
    session.set_spec(replace(SPEC, seed=1))
    assert session.dataset_stale
    session.undo.undo()
    assert not session.dataset_stale
    session.set_reference(Reference("other", np.zeros((64, 64), np.float32)))
    assert session.dataset_stale


def test_runs_are_stale_with_their_dataset(with_run: Studio, small: Dataset) -> None:
    session = with_run.session
    assert session.run is not None
    assert not session.run.stale
    session.set_spec(replace(SPEC, seed=1))
    assert session.run.stale
    session.undo.undo()
    assert not session.run.stale
    session.set_dataset(small)
    assert session.run.stale, "another dataset, as far as is known"
    session.set_dataset(small, small.digest())
    assert not session.run.stale, "the same training data"


def test_the_data_of_a_run_are_there_whatever_has_been_set_since(
    with_run: Studio, small: Dataset
) -> None:
    session = with_run.session
    assert session.run is not None
    assert session.holds(session.run)
    session.set_spec(replace(SPEC, seed=9))
    assert session.run.stale
    assert session.holds(session.run)
    session.set_dataset(replace(small, pictures=small.pictures + np.float32(0.01)))
    assert not session.holds(session.run)
    session.set_work(replace(session.work, dataset=None, digest=""))
    assert session.run is not None
    assert not session.holds(session.run)


def test_other_settings_make_the_training_stale_but_no_run(with_run: Studio) -> None:
    session = with_run.session
    session.set_settings(replace(SETTINGS, components=3))
    assert session.training_stale
    assert session.run is not None
    assert not session.run.stale


def test_a_model_from_a_file_is_fresh_if_it_knows_the_dataset(
    with_dataset: Studio, model: Model
) -> None:
    session = with_dataset.session
    session.add_model("file.isca", model)
    assert session.run is not None
    assert not session.run.stale
    session.add_model("other.isca", replace(model, dataset="0" * 64))
    assert session.run.stale


def test_removing_runs_and_tests_selects_another(with_run: Studio, model: Model) -> None:
    session = with_run.session
    first = session.run
    session.begin_run(SETTINGS)
    session.end_run(model)
    assert session.run is not None
    assert first is not None
    assert session.run.number == first.number + 1
    session.remove_run(session.run.number)
    assert session.run is not None
    assert session.run.number == first.number
    session.remove_run(first.number)
    assert session.run is None
    for number in (1, 2):
        session.add_tested(Seen(number, "t", model.grid.join(model.basis[:, :, 0]), None, 0))
    session.remove_tested(2)
    assert session.test is not None
    assert session.test.number == 1
    session.remove_tested(1)
    assert session.test is None


def test_a_training_without_a_model_leaves_no_run(with_dataset: Studio) -> None:
    session = with_dataset.session
    session.begin_run(SETTINGS)
    session.end_run(None)
    assert session.live is None
    assert session.runs == ()


def test_edits_can_be_undone_and_redone() -> None:
    session = Session()
    session.set_settings(TrainingSettings(components=6))
    session.set_spec(DatasetSpec(seed=4))
    assert session.undo.count() == 2
    session.undo.undo()
    session.undo.undo()
    assert session.settings == TrainingSettings()
    assert session.spec == DatasetSpec()
    session.undo.redo()
    assert session.settings.components == 6
    session.set_settings(session.settings)
    assert session.undo.count() == 2, "what changes nothing is no edit"


def test_edits_of_one_field_in_a_row_are_undone_together() -> None:
    session = Session()
    for components in (5, 6, 7):
        session.set_settings(replace(session.settings, components=components))
    session.set_settings(replace(session.settings, block=16))
    assert session.undo.count() == 2
    session.undo.undo()
    assert session.settings.components == 7
    session.undo.undo()
    assert session.settings == TrainingSettings()


def test_going_back_by_hand_leaves_nothing_to_undo() -> None:
    session = Session()
    session.set_settings(TrainingSettings(components=5))
    session.set_settings(TrainingSettings())
    assert not session.undo.canUndo()


def test_only_the_newest_messages_are_kept() -> None:
    session = Session()
    for number in range(MOST_MESSAGES + 5):
        session.say("info", str(number))
    assert len(session.messages) == MOST_MESSAGES
    assert session.messages[-1].text == str(MOST_MESSAGES + 4)
