"""All four steps: what they show in every state, and which button comes next."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from isca_gui.panels.dataset import DatasetPanel
from isca_gui.viewers.messages import MessagesViewer
from isca_gui.widgets import step_frame
from isca_gui.window.status_bar import StatusBar
from tests.gui.conftest import SPEC
from tests.gui.panels.conftest import PANELS, click, primaries, shown

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio


@pytest.mark.parametrize("kind", [*PANELS, StatusBar, MessagesViewer])
@pytest.mark.parametrize("stage", ["studio", "with_reference", "with_dataset", "with_run"])
def test_every_focusable_widget_has_a_name_and_a_sentence(
    qtbot: QtBot, request: pytest.FixtureRequest, kind: type[QWidget], stage: str
) -> None:
    panel = shown(qtbot, request.getfixturevalue(stage), kind)
    for widget in panel.findChildren(QWidget):
        inside = widget.objectName().startswith("qt_") or type(widget).__name__ in (
            "QWidget",
            "QHeaderView",
        )
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus and not inside:
            assert widget.accessibleName(), widget
            assert widget.toolTip(), widget.accessibleName()


def test_exactly_one_button_is_primary_at_every_stage(
    qtbot: QtBot, with_run: Studio, tmp_path: Path
) -> None:
    session = with_run.session
    panels = [shown(qtbot, with_run, kind) for kind in PANELS]
    assert primaries(panels) == ["Open pictures…"]
    session.remove_run(session.runs[0].number)
    assert primaries(panels) == ["Train"]
    session.set_spec(replace(SPEC, seed=7))
    assert primaries(panels) == ["Generate"]


def test_an_empty_session_asks_for_a_picture(qtbot: QtBot, studio: Studio) -> None:
    panels = [shown(qtbot, studio, kind) for kind in PANELS]
    assert primaries(panels) == ["Open…"]
    assert [panel.state for panel in panels] == [step_frame.EMPTY] * 4


def test_disabled_buttons_say_why(qtbot: QtBot, studio: Studio) -> None:
    panels = [shown(qtbot, studio, kind) for kind in PANELS]
    disabled = [b for panel in panels for b in panel.findChildren(QPushButton) if not b.isEnabled()]
    assert {b.text() for b in disabled} >= {
        "Generate",
        "Save…",
        "Train",
        "Resume",
        "Open pictures…",
        "Make",
    }
    sentences = {b.toolTip() for b in disabled}
    assert "Open a reference picture first." in sentences
    assert "No dataset yet. Generate one first." in sentences
    assert "No model yet. Train one first." in sentences


def test_a_step_can_be_folded(qtbot: QtBot, studio: Studio) -> None:
    panel = shown(qtbot, studio, DatasetPanel)
    assert isinstance(panel, DatasetPanel)
    click(qtbot, panel.heading)
    assert not panel.content.isVisible()
    click(qtbot, panel.heading)
    assert panel.content.isVisible()
