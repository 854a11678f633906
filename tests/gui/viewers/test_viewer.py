"""What all viewers share: the next step where there is nothing to see, themes and names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from isca_gui.core.settings import TrainingSettings
from isca_gui.viewers.bases.bases import BasesViewer
from isca_gui.viewers.convergence.convergence import ConvergenceViewer
from isca_gui.viewers.reconstruction import ReconstructionViewer
from isca_gui.viewers.runs.runs import RunsViewer
from isca_gui.viewers.viewer import REFERENCE_CHANGED, stale_reason
from isca_gui.widgets import theme
from tests.gui.conftest import opened

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.viewers.viewer import Viewer
    from tests.gui.conftest import Studio


@pytest.mark.parametrize("kind", [BasesViewer, ReconstructionViewer, ConvergenceViewer, RunsViewer])
def test_without_a_run_there_is_the_next_step(
    qtbot: QtBot, studio: Studio, small: Dataset, kind: type[Viewer]
) -> None:
    viewer = opened(qtbot, studio, kind)
    assert viewer.empty
    assert "sample" in viewer._empty.button.text()
    studio.session.set_dataset(small)
    assert viewer._empty.button.text() == "Train"
    studio.session.set_settings(TrainingSettings(solver="direct", epochs=2))
    viewer._empty.button.click()
    qtbot.waitUntil(lambda: studio.session.run is not None)
    studio.rest(qtbot)
    assert not viewer.empty


def test_stale_runs_are_marked(qtbot: QtBot, with_run: Studio, small: Dataset) -> None:
    viewer = opened(qtbot, with_run, RunsViewer)
    assert isinstance(viewer, RunsViewer)
    assert viewer.model.table()[1][-1] == "current"
    with_run.session.set_spec(replace(with_run.session.spec, seed=9))
    assert viewer.model.table()[1][-1] == "stale"
    data = viewer.model.index(0, viewer.model.columnCount() - 1)
    assert data.data() == "settings changed"
    changed = "The dataset settings have changed since it was trained."
    assert data.data(Qt.ItemDataRole.ToolTipRole) == changed
    with_run.session.set_dataset(
        replace(small, pictures=small.pictures + np.float32(0.01)), "another"
    )
    assert data.data() == "other data"
    assert "Train again" in data.data(Qt.ItemDataRole.ToolTipRole)
    bases = opened(qtbot, with_run, BasesViewer)
    reconstruction = opened(qtbot, with_run, ReconstructionViewer)
    assert "other data" in bases.hints.text()
    assert "other data" in reconstruction.figures.text()
    with_run.session.set_dataset(small, small.digest())
    with_run.rest(qtbot)
    assert changed in bases.hints.text()
    assert changed in reconstruction.figures.text()


def test_the_reason_for_being_stale_is_the_current_one(qtbot: QtBot, with_run: Studio) -> None:
    session = with_run.session
    viewer = opened(qtbot, with_run, RunsViewer)
    assert session.reference is not None
    assert session.run is not None
    session.set_spec(replace(session.spec, levels=(7.0,)))
    session.set_reference(replace(session.reference, name="another"))
    redrawn = []
    viewer.model.layoutChanged.connect(lambda: redrawn.append(stale_reason(session, session.run)))
    session.undo.undo()
    assert redrawn[-1:] == [REFERENCE_CHANGED]


@pytest.mark.parametrize("kind", [BasesViewer, ReconstructionViewer, ConvergenceViewer, RunsViewer])
def test_viewers_follow_the_theme_and_name_their_widgets(
    qtbot: QtBot, with_run: Studio, kind: type[Viewer]
) -> None:
    viewer = opened(qtbot, with_run, kind)
    theme.apply(theme.DARK)
    qtbot.wait(10)
    unnamed = [
        widget
        for widget in viewer.findChildren(QWidget)
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus and not widget.accessibleName()
        and widget.isVisible() and not widget.objectName().startswith("qt_")
    ]  # fmt: skip
    assert not unnamed
    theme.apply(theme.LIGHT)
