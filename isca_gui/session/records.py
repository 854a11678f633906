"""What a session is made of: small frozen records that cross every border."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.core.recognition.evaluation import LeaveOneOut
    from isca_gui.core.recognition.recogniser import Recognition, Verdict
    from isca_gui.core.settings import DatasetSpec, TrainingSettings
    from isca_gui.core.solvers.steps import State, Step


@dataclass(frozen=True, eq=False)
class Reference:
    """The undistorted picture, and where it came from."""

    name: str
    picture: NDArray[np.float32]
    path: str | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """A training that has ended, with the settings it came from."""

    number: int
    name: str
    model: Model
    settings: TrainingSettings
    evaluation: LeaveOneOut | None = None
    stale: bool = False  # trained on another dataset than the one shown now


@dataclass(eq=False)
class LiveRun:
    """The training that is under way."""

    number: int
    name: str
    settings: TrainingSettings
    steps: list[Step] = field(default_factory=list)
    dataset: Dataset | None = None  # what it learns from
    state: State | None = None  # where it stood when last asked, to go on from after a crash


LEFT_OUT = " left out of "  # in the name of a training picture, before that of the run that was not to know it
HIDDEN = "hidden:"  # begins the truth of a mystery picture until it is asked for


@dataclass(frozen=True, eq=False)
class TestedPicture:
    """A test picture and what was recognised in it, by the run of that number."""

    number: int
    name: str
    picture: NDArray[np.float32]
    recognition: Recognition | None
    run: int
    truth: str = ""
    path: str | None = None
    stored: Verdict | None = None  # of a project's file, until the picture is recognised anew
    left_out: int | None = (
        None  # the run's training picture that this is, recognised as if it were not known
    )

    @property
    def verdict(self) -> Verdict | None:
        """The answer, if there is one."""
        return self.recognition.verdict if self.recognition is not None else self.stored

    @property
    def secret(self) -> bool:
        """Whether this is a mystery picture that nobody has guessed yet."""
        return self.truth.startswith(HIDDEN)

    @property
    def whole_truth(self) -> str:
        """The truth, also where it is still to be guessed."""
        return self.truth.removeprefix(HIDDEN)


@dataclass(frozen=True)
class RejectedPicture:
    """A test picture that could not be recognised, and why."""

    number: int
    name: str
    error: str
    path: str | None = None


@dataclass(frozen=True)
class Message:
    """A line for the person: level is "info", "warning" or "error"."""

    level: str
    text: str
    details: str
    when: datetime


@dataclass(frozen=True)
class Stamp:
    """What there is to be saved, in short: equal where nothing has changed."""

    reference: int
    dataset: int
    settings: tuple[DatasetSpec, TrainingSettings]
    runs: tuple[tuple[object, ...], ...]
    tested: tuple[tuple[object, ...], ...]
    refused: tuple[RejectedPicture, ...]


@dataclass(frozen=True, eq=False)
class SessionState:
    """All that a session holds and a project keeps, at one moment; `run` and `test` are those selected."""

    spec: DatasetSpec
    settings: TrainingSettings
    reference: Reference | None = None
    dataset: Dataset | None = None
    digest: str = ""
    dataset_of: Reference | None = None  # the reference that the dataset was made of
    runs: tuple[Run, ...] = ()
    tested: tuple[TestedPicture, ...] = ()
    refused: tuple[RejectedPicture, ...] = ()
    run: int = 0
    test: int = 0

    @property
    def worth_keeping(self) -> bool:
        """Whether there is more than a picture and settings, which are found again anyway."""
        return self.dataset is not None or bool(self.runs or self.tested)
