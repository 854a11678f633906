"""The form of the training settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.widgets.settings_form import SettingsForm
from tests.gui.panels.conftest import click

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio


def test_the_form_alone(qtbot: QtBot, studio: Studio) -> None:
    form = SettingsForm(studio.session)
    qtbot.addWidget(form)
    form.show()
    assert not form.editors["rho"].isVisible()
    click(qtbot, form.advanced.button)
    assert form.editors["rho"].isVisible()
