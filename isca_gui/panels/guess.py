"""A guessing game: the user guesses what was done to a mystery picture, then sees the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from isca_gui.core.distortion.distortions import TABLE
from isca_gui.core.recognition.verdict import short_form
from isca_gui.widgets import theme
from isca_gui.widgets.fields import class_icon
from isca_gui.widgets.step_frame import describe

if TYPE_CHECKING:
    from isca_gui.core.recognition.verdict import Verdict
    from isca_gui.jobs.actions import Actions
    from isca_gui.session.records import TestedPicture
    from isca_gui.session.session import Session

ASK = (
    "What was done to this picture? Look at it in the vote map, then choose a kind or press Reveal."
)


class GuessBar(QWidget):
    """Asks for a guess about the selected mystery picture and keeps the score."""

    def __init__(self, session: Session, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._actions = actions
        # The kind guessed for each picture, see `_key`.
        self._guesses: dict[tuple[int, str], str] = {}
        self.buttons = {line.name: QToolButton(self) for line in TABLE}
        for line in TABLE:
            made = self.buttons[line.name]
            made.setText(f"{line.letter}  {line.title}")
            made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
            made.setIcon(class_icon(line.name))
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
        self.answer.setToolTip(
            "Your guess and the program's answer. The program did not know the truth either."
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.question)
        layout.addWidget(self.answer)
        session.tested_selected.connect(self._refresh)
        session.tested_changed.connect(self._refresh)
        self._refresh()

    def guess(self, kind: str) -> None:
        """Note a guess about the selected picture and reveal the truth."""
        test = self._session.test
        if test is not None and test.secret:
            self._guesses[_key(test)] = kind
            self._actions.reveal(test.number)

    def _refresh(self) -> None:
        test = self._session.test
        asked = test is not None and test.secret
        comparison = ""
        if test is not None and not test.secret and _key(test) in self._guesses:
            comparison = self._comparison(test)
        self.question.setVisible(asked)
        self.answer.setText(comparison)
        self.answer.setVisible(bool(comparison))
        self.setVisible(asked or bool(comparison))

    def _comparison(self, test: TestedPicture) -> str:
        guess = self._guesses[_key(test)]
        lines = [
            f"You said {_title(guess)}: {_mark(guess in _kinds(test))}.",
            f"{_program_said(test.verdict)}: {_mark(_is_right(test))}.",
        ]
        user, program, total = self.score()
        if total > 1:
            lines.append(f"Score so far: you {user} of {total}, the program {program} of {total}.")
        return " ".join(lines)

    def score(self) -> tuple[int, int, int]:
        """Return how often the user and the program were right, and the number of guesses."""
        guessed = [
            test for test in self._session.tested if _key(test) in self._guesses and not test.secret
        ]
        user = sum(self._guesses[_key(test)] in _kinds(test) for test in guessed)
        program = sum(map(_is_right, guessed))
        return user, program, len(guessed)


def _key(test: TestedPicture) -> tuple[int, str]:
    """Return what identifies a picture; numbers alone repeat in other projects."""
    return test.number, test.truth.text if test.truth is not None else ""


def _kinds(test: TestedPicture) -> tuple[str, ...]:
    """Return the kinds of distortion in a picture that was made here."""
    return test.truth.kinds if test.truth is not None else ()


def _is_right(test: TestedPicture) -> bool:
    """Whether the program found exactly the kinds that were applied."""
    found = test.verdict
    return found is not None and not found.unlike and set(found.parts) == set(_kinds(test))


def _program_said(found: Verdict | None) -> str:
    if found is None:
        return "The program has no answer yet"
    if found.unlike:
        return "The program did not recognise it"
    what, strength = short_form(found)
    if strength and found.severity:
        return f"The program said {_title(what)} at MSE ≈ {strength}"
    return f"The program said {_title(what)}"


def _mark(right: bool) -> str:
    return "✓ right" if right else "✗ wrong"


def _title(label: str) -> str:
    return theme.class_style(label).title
