"""Panels shown by themselves, and their buttons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QPushButton, QWidget

from isca_gui.panels.dataset import DatasetPanel
from isca_gui.panels.recognise import RecognisePanel
from isca_gui.panels.reference import ReferencePanel
from isca_gui.panels.training import TrainingPanel

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from tests.gui.conftest import Studio

PANELS = (ReferencePanel, DatasetPanel, TrainingPanel, RecognisePanel)


def shown(qtbot: QtBot, studio: Studio, kind: type[QWidget]) -> QWidget:
    panel = kind(studio.session, studio.jobs, studio.actions)
    qtbot.addWidget(panel)
    panel.show()
    return panel


def click(qtbot: QtBot, button: QAbstractButton) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def primaries(panels: list[QWidget]) -> list[str]:
    buttons = [button for panel in panels for button in panel.findChildren(QPushButton)]
    return [button.text() for button in buttons if button.property("primary")]


@pytest.fixture
def dataset_panel(qtbot: QtBot, with_reference: Studio) -> DatasetPanel:
    panel = shown(qtbot, with_reference, DatasetPanel)
    assert isinstance(panel, DatasetPanel)
    return panel


@pytest.fixture
def training_panel(qtbot: QtBot, with_dataset: Studio) -> TrainingPanel:
    panel = shown(qtbot, with_dataset, TrainingPanel)
    assert isinstance(panel, TrainingPanel)
    return panel


@pytest.fixture
def recognise_panel(qtbot: QtBot, with_run: Studio) -> RecognisePanel:
    panel = shown(qtbot, with_run, RecognisePanel)
    assert isinstance(panel, RecognisePanel)
    return panel
