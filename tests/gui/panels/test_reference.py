"""Step 1: opening the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.panels.reference import ReferencePanel
from isca_gui.session.preferences import Preferences
from isca_gui.widgets import step_frame
from tests.gui.panels.conftest import shown

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio


def test_a_sample_is_opened_from_the_menu(qtbot: QtBot, studio: Studio) -> None:
    panel = shown(qtbot, studio, ReferencePanel)
    assert isinstance(panel, ReferencePanel)
    action = next(a for a in panel.sample_button.menu().actions() if a.data() == "coins")
    action.trigger()
    assert panel.state == step_frame.RUNNING
    studio.rest(qtbot)
    assert studio.session.reference is not None
    assert studio.session.reference.picture.shape == (303, 384)
    assert panel.name_label.text() == "coins"
    assert panel.size_label.text() == "384 × 303 pixels, grey"
    assert not panel.thumb.pixmap().isNull()
    assert panel.state == step_frame.DONE


def test_a_bad_file_is_a_message_and_a_failed_step(
    qtbot: QtBot, studio: Studio, tmp_path: Path
) -> None:
    panel = shown(qtbot, studio, ReferencePanel)
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no picture")
    studio.actions.open_picture(bad)
    studio.rest(qtbot)
    assert isinstance(panel, ReferencePanel)
    assert panel.state == step_frame.FAILED
    assert "bad.png" in studio.errors[0]
    studio.actions.open_sample("coins")
    studio.rest(qtbot)
    assert panel.state == step_frame.DONE


def test_recent_files_are_offered(qtbot: QtBot, studio: Studio, tmp_path: Path) -> None:
    preferences = Preferences(tmp_path / "p.json")
    panel = ReferencePanel(studio.session, studio.jobs, studio.actions, preferences=preferences)
    qtbot.addWidget(panel)
    panel.recent_button.menu().aboutToShow.emit()
    assert not panel.recent_button.menu().actions()[0].isEnabled()
    preferences.add_recent("sample:moon")
    panel.recent_button.menu().aboutToShow.emit()
    panel.recent_button.menu().actions()[0].trigger()
    studio.rest(qtbot)
    assert studio.session.reference is not None
    assert studio.session.reference.name == "moon"
