"""Whether a run was trained on the data shown now, in words for headings, tables and tool tips."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isca_gui.session.records import Run
    from isca_gui.session.session import Session

OTHER, SETTINGS, REFERENCE = "other data", "dataset settings changed", "reference changed"
_SENTENCES = {
    "": "",
    OTHER: "It was trained on other data than those shown now.",
    SETTINGS: "The settings of the dataset have changed since.",
    REFERENCE: "The reference picture has changed since.",
}


def change(session: Session, run: Run) -> str:
    """Name what has changed since a run was trained; nothing if it is up to date."""
    if not run.stale:
        return ""
    if session.dataset is None or not session.holds(run):
        return OTHER
    made = session.dataset.spec
    return SETTINGS if made is not None and made != session.spec else REFERENCE


def sentence(session: Session, run: Run) -> str:
    """Say what has changed since a run was trained; nothing if it is up to date."""
    return _SENTENCES[change(session, run)]
