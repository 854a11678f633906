"""The names of all jobs: the runner keeps at most one job of each at work."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class JobName(StrEnum):
    """What a job does; where several may run at once, each is named by `JobName.X.of(subject)`."""

    # The four steps.
    OPEN_PICTURE = "open"
    PREVIEW = "preview"
    DATASET = "dataset"
    TRAINING = "training"
    EVALUATION = "evaluation"
    RECOGNITION = "recognise"
    PREPARE_SOLVER = "prepare"
    # The compare page.
    COMPARE_ORIGINAL = "open original"
    COMPARE_LIST = "open copies"
    COMPARISON = "compare"
    COMPARE_DETAILS = "compare details"
    SAVE_REPORT = "save report"
    # Files.
    SAVE_DATASET = "save dataset"
    SAVE_MODEL = "save model"
    LOAD_MODEL = "load model"
    SAVE_ANSWERS = "save answers"
    EXPORT = "export"
    PREFERENCES = "preferences"
    REPRODUCTION = "reproduce"
    # Projects.
    PROJECT = "project"
    VOTE_MAPS = "vote maps"
    AUTOSAVE = "autosave"
    FIND_UNSAVED_WORK = "find unsaved work"
    REMOVE_UNSAVED_WORK = "remove unsaved work"
    PREPARE_AUTOSAVE = "prepare autosave"
    # What viewers draw.
    DRAWING = "drawing"
    THUMBNAILS = "thumbnails"

    def of(self, subject: object) -> JobId:
        """Return the job of this name that is about `subject`: a run's number, a file's path."""
        return JobId(self, str(subject))


@dataclass(frozen=True)
class JobId:
    """Which job: its name, and what it is about where several of that name may run at once."""

    name: JobName
    subject: str = ""


# Jobs whose results belong to the work that is shown, and not to another project.
JOBS_OF_THE_WORK = (
    JobName.OPEN_PICTURE,
    JobName.PREVIEW,
    JobName.DATASET,
    JobName.TRAINING,
    JobName.EVALUATION,
    JobName.RECOGNITION,
    JobName.LOAD_MODEL,
    JobName.VOTE_MAPS,
    JobName.COMPARE_ORIGINAL,
    JobName.COMPARE_LIST,
    JobName.COMPARISON,
    JobName.COMPARE_DETAILS,
)

# The jobs that people wait for, the most important first.
PRIORITY = (JobName.TRAINING, JobName.DATASET, JobName.RECOGNITION, JobName.COMPARISON)


def job_id(job: JobName | JobId) -> JobId:
    """Return the identity of a job that is given by its name alone, or by its identity."""
    return job if isinstance(job, JobId) else JobId(job)
