"""What a session is made of: small frozen records that every room may read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.distortion.dataset_spec import DatasetSpec
    from isca_gui.core.model.model import Model
    from isca_gui.core.recognition.evaluation import LeaveOneOut
    from isca_gui.core.recognition.recogniser import Recognition
    from isca_gui.core.recognition.verdict import Verdict
    from isca_gui.core.settings import TrainingSettings
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
    state: State | None = None  # the last state it reported, to resume from after a crash


@dataclass(frozen=True)
class Truth:
    """What is known of a test picture that was made here or is a training picture."""

    kinds: tuple[str, ...] = ()
    mse: float | None = None
    hidden: bool = False  # a mystery that nobody has guessed yet
    left_out: int | None = None  # the number of the training picture that it is
    left_out_of: str = ""  # the run that recognised it as if it had not been trained on it

    @property
    def label(self) -> str:
        """The label of its class: one kind, or a mixture."""
        return "+".join(self.kinds)

    @property
    def text(self) -> str:
        """What was done to it, such as "blur at MSE 45"; hidden or not."""
        return self.label if self.mse is None else f"{self.label} at MSE {self.mse:g}"


@dataclass(frozen=True, eq=False)
class TestedPicture:
    """A test picture and what was recognised in it, by the run of that number."""

    number: int
    name: str
    picture: NDArray[np.float32]
    recognition: Recognition | None
    run: int
    truth: Truth | None = None
    path: str | None = None
    stored: Verdict | None = None  # of a project file, until its vote map is made again

    @property
    def verdict(self) -> Verdict | None:
        """The answer, if there is one."""
        return self.recognition.verdict if self.recognition is not None else self.stored

    @property
    def secret(self) -> bool:
        """Whether this is a mystery picture that nobody has guessed yet."""
        return self.truth is not None and self.truth.hidden

    @property
    def left_out(self) -> int | None:
        """The number of the training picture that this is, if it is one."""
        return self.truth.left_out if self.truth is not None else None


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
    """A summary of what there is to be saved: equal where nothing has changed."""

    reference: int
    dataset: int
    settings: tuple[DatasetSpec, TrainingSettings]
    runs: tuple[tuple[object, ...], ...]
    tested: tuple[tuple[object, ...], ...]
    refused: tuple[RejectedPicture, ...]


@dataclass(frozen=True, eq=False)
class SessionState:
    """All that a session holds and a project keeps, at one moment."""

    spec: DatasetSpec
    settings: TrainingSettings
    reference: Reference | None = None
    dataset: Dataset | None = None
    digest: str = ""
    dataset_of: Reference | None = None  # the reference that the dataset was made of
    runs: tuple[Run, ...] = ()
    tested: tuple[TestedPicture, ...] = ()
    refused: tuple[RejectedPicture, ...] = ()
    run: int = 0  # the number of the selected run
    test: int = 0  # the number of the selected test picture

    @property
    def worth_keeping(self) -> bool:
        """Whether there is more than a picture and settings, which are found again anyway."""
        return self.dataset is not None or bool(self.runs or self.tested)
