"""Messages: a list with details."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from isca_gui.viewers.messages import MessagesViewer
from tests.gui.panels.conftest import click, shown

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio


def test_messages_are_listed_with_details_that_can_be_copied(qtbot: QtBot, studio: Studio) -> None:
    studio.session.say("info", "before")
    viewer = shown(qtbot, studio, MessagesViewer)
    assert isinstance(viewer, MessagesViewer)
    studio.session.say("error", "It broke.", "line 1\nline 2")
    assert viewer.list.topLevelItemCount() == 2
    assert viewer.details.toPlainText() == "line 1\nline 2"
    click(qtbot, viewer.copy_button)
    assert "It broke." in QApplication.clipboard().text()
    assert "line 2" in QApplication.clipboard().text()
