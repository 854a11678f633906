"""Maps of a project's pictures, made anew beside the window: a project's file holds the verdicts only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isca_gui.jobs.names import JobName
from isca_gui.projects import project_io

if TYPE_CHECKING:
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.records import SessionState
    from isca_gui.session.session import Session


def reload_vote_maps(session: Session, jobs: JobRunner, work: SessionState) -> None:
    """Recognise the tested pictures of work that was opened; each gets its map when it is there."""

    def take(reports: list[Any]) -> None:
        for report in reports:
            if isinstance(report, tuple):
                known = {test.number: test for test in session.tested}
                old = known.get(report[0])
                if old is not None and old.recognition is None:
                    session.replace_tested(replace(old, recognition=report[1]))

    if work.tested:
        title = "Recognising the project's pictures"
        jobs.start(JobName.VOTE_MAPS, title, lambda: project_io.recognised(work), reports=take)
