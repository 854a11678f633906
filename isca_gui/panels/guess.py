"""A mystery picture: the person guesses, then truth and the program's verdict are told and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from isca_gui.core.distortion.distortions import TABLE
from isca_gui.core.recognition.verdict import short_form
from isca_gui.panels.preview import chip
from isca_gui.widgets import theme
from isca_gui.widgets.step_frame import describe

if TYPE_CHECKING:
    from isca_gui.core.recognition.verdict import Verdict
    from isca_gui.jobs.actions import Actions
    from isca_gui.session.records import TestedPicture
    from isca_gui.session.session import Session

ASK = "What was done to this picture? Look at it in the vote map, then choose, or press Reveal."


class GuessBar(QWidget):
    """Asks what was done to the selected mystery picture and keeps the score."""

    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self._actions = session, actions
        self._guesses: dict[
            tuple[int, str], str
        ] = {}  # number and truth of a picture: the kind guessed
        self.buttons = {line.name: QToolButton(self) for line in TABLE}
        for line in TABLE:
            made = self.buttons[line.name]
            made.setText(f"{line.letter}  {line.title}")
            made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            made.setIcon(chip(line.name))
            made.setIconSize(QSize(12, 12))
            made.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            describe(made, f"Guess {line.title}", f"{line.title}: {line.sentence}")
            made.clicked.connect(lambda _=False, kind=line.name: self.guess(kind))
        self.question = QWidget(self)
        grid = QGridLayout(self.question)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(4)
        for place, made in enumerate(self.buttons.values()):
            grid.addWidget(made, place % 3, place // 3)
        self.answer = QLabel(self)
        self.answer.setWordWrap(True)
        self.answer.setAccessibleName("You and the program")
        self.answer.setToolTip("Your guess, and what the program found without knowing the truth.")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.question)
        layout.addWidget(self.answer)
        session.tested_selected.connect(self._refresh)
        session.tested_changed.connect(self._refresh)
        self._refresh()

    def guess(self, kind: str) -> None:
        """Take a guess about the selected picture and tell the truth."""
        test = self._session.test
        if test is not None and test.secret:
            self._guesses[_key(test)] = kind
            self._actions.reveal(test.number)

    def _refresh(self) -> None:
        test = self._session.test
        guessed = test is not None and not test.secret and _key(test) in self._guesses
        asked = test is not None and test.secret
        self.question.setVisible(asked)
        self.answer.setText(self._compared(test) if test is not None and guessed else "")
        self.answer.setVisible(guessed)
        self.setVisible(guessed or asked)

    def _compared(self, test: TestedPicture) -> str:
        mine = self._guesses[_key(test)]
        lines = [
            f"You said {_title(mine)}: {_mark(mine in _kinds(test))}.",
            f"The program says {_answer(test.verdict)}: {_mark(_right(test))}.",
        ]
        yours, its, of = self.score()
        if of > 1:
            lines.append(f"So far: you {yours} of {of}, the program {its} of {of}.")
        return " ".join(lines)

    def score(self) -> tuple[int, int, int]:
        """Give how often the person and the program were right, and of how many."""
        asked = [
            test for test in self._session.tested if _key(test) in self._guesses and not test.secret
        ]
        yours = sum(self._guesses[_key(test)] in _kinds(test) for test in asked)
        return yours, sum(map(_right, asked)), len(asked)


def _key(test: TestedPicture) -> tuple[int, str]:
    """Return what tells a picture from one of the same number in another project."""
    return test.number, test.truth.text if test.truth is not None else ""


def _kinds(test: TestedPicture) -> tuple[str, ...]:
    return test.truth.kinds if test.truth is not None else ()


def _right(test: TestedPicture) -> bool:
    """Whether the program found exactly what was done: of kinds it knows, none is unlike all of them."""
    found = test.verdict
    return found is not None and not found.unlike and set(found.parts) == set(_kinds(test))


def _answer(found: Verdict | None) -> str:
    if found is None:
        return "nothing yet"
    if found.unlike:
        return "no trained distortion fits"
    what, strength = short_form(found)
    return f"{_title(what)}, MSE about {strength}" if strength and found.severity else _title(what)


def _mark(right: bool) -> str:
    return "✓ right" if right else "✗ wrong"


def _title(label: str) -> str:
    return theme.class_style(label).title
