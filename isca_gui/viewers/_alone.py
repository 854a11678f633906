"""Opens one viewer alone on a small real example.

For instance ``python -m isca_gui.viewers.bases.bases [--dark] [--empty]``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QApplication

from isca_gui.core.distortion import dataset
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import training
from isca_gui.core.pictures import image, samples
from isca_gui.core.progress import run
from isca_gui.core.settings import TrainingSettings
from isca_gui.jobs.actions import Actions
from isca_gui.jobs.runner import JobRunner
from isca_gui.session.records import Reference
from isca_gui.session.session import Session
from isca_gui.widgets import theme

if TYPE_CHECKING:
    from isca_gui.viewers.viewer import Viewer

SIDE = 256
LEVELS = (100.0, 300.0, 600.0, 900.0)
RUNS = (
    TrainingSettings(epochs=40),
    TrainingSettings(method="random"),
    TrainingSettings(method="kernel-pca", kernel="rbf"),
    TrainingSettings(solver="direct", epochs=30),
)


def fill_with_example(session: Session) -> None:
    """Put a part of a sample picture, its dataset and some trained runs into a session."""
    whole = image.read(samples.resolve("sample:camera"))
    reference = Reference("camera", whole[60 : 60 + SIDE, 130 : 130 + SIDE].copy())
    session.set_reference(reference)
    session.set_spec(DatasetSpec(levels=LEVELS))
    made = run(dataset.generate(reference.picture, session.spec))
    session.set_dataset(made, made.digest(), reference)
    for settings in RUNS:
        session.begin_run(settings)
        session.end_run(run(training.train(made, settings)))


def alone(viewer: type[Viewer]) -> int:
    """Show a viewer in a window of its own and return the exit code."""
    application = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(application, QApplication)
    application.setStyle("Fusion")
    theme.apply(theme.DARK if "--dark" in sys.argv else theme.SYSTEM)
    session = Session()
    jobs = JobRunner()
    actions = Actions(session, jobs)
    if "--empty" not in sys.argv:
        fill_with_example(session)
        session.select_run(session.runs[0].number)
        actions.recognise_made("jpeg", 450.0, 1)
        for trained in session.runs:
            actions.evaluate(trained.number)
    shown = viewer(session, jobs, actions)
    shown.setWindowTitle(viewer.TITLE)
    shown.resize(1000, 700)
    shown.show()
    code = application.exec()
    jobs.shutdown(5.0)
    return code
