"""What would be lost, in words: only what differs from the project's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isca_gui.session.records import LiveRun, SessionState, Stamp


def what_is_lost(work: SessionState, live: LiveRun | None, now: Stamp, saved: Stamp | None) -> str:
    """Say what is not in the file whose content was `saved`, or in none."""
    parts = _changes(work, now, saved) if saved is not None else _everything(work)
    said = f"Not saved: {', '.join(parts)}." if parts else ""
    under_way = f" {live.name} is under way; saving stops it and keeps what it has." if live else ""
    return f"{said}{under_way} What is not saved is lost.".strip()


def _everything(work: SessionState) -> list[str]:
    pictures = len(work.dataset.entries) if work.dataset is not None else 0
    return _counts(pictures, len(work.runs), len(work.tested))


def _changes(work: SessionState, now: Stamp, saved: Stamp) -> list[str]:
    pictures = (
        len(work.dataset.entries)
        if work.dataset is not None and now.dataset != saved.dataset
        else 0
    )
    added = (set(now.runs) - set(saved.runs), set(now.tested) - set(saved.tested))
    gone = set(saved.runs) - set(now.runs) or set(saved.tested) - set(now.tested)
    parts = ["the reference"] if now.reference != saved.reference else []
    parts += _counts(pictures, *map(len, added))
    parts += ["settings"] if now.settings != saved.settings else []
    return parts or (["what was removed"] if gone else ["changes"])


def _counts(pictures: int, runs: int, tested: int) -> list[str]:
    counts = ((pictures, "training picture"), (runs, "run"), (tested, "test picture"))
    return [f"{count} {what}{'s' if count > 1 else ''}" for count, what in counts if count]
