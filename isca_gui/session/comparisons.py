"""The state of the compare page: the original, its copies with their answers, and the limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage, QUndoCommand

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from PySide6.QtGui import QUndoStack

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.profile import Profile

    Picture = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Original:
    """The picture that copies are compared with: grey (height, width) or RGB, in [0, 1]."""

    name: str
    picture: Picture
    path: str | None = None
    thumbnail: QImage = field(default_factory=QImage)
    # What the file says of itself, such as its format.
    file_says: str = ""

    @property
    def words(self) -> str:
        """Size and colour in words."""
        height, width = self.picture.shape[:2]
        colour = "grey" if self.picture.ndim == 2 else "colour"
        return f"{width} × {height}, {colour}"


@dataclass(frozen=True, eq=False)
class ComparedCopy:
    """A copy, and what was found out about it: a result, an error, or nothing yet.

    `picture` is kept only where there is no file to read it from again.
    """

    number: int
    name: str
    path: str | None = None
    picture: Picture | None = None
    thumbnail: QImage = field(default_factory=QImage)
    result: CopyResult | None = None
    error: str = ""

    @property
    def waiting(self) -> bool:
        """Whether it has not been compared yet."""
        return self.result is None and not self.error


class Comparisons(QObject):
    """All that the compare page shows. Setters are the only way to change it."""

    original_changed = Signal()
    copies_changed = Signal()
    selected_changed = Signal()
    profile_changed = Signal()
    # The sentence about a guess, or nothing.
    guessed = Signal(str)

    def __init__(self, undo: QUndoStack, parent: QObject) -> None:
        super().__init__(parent)
        self._undo = undo
        self._original: Original | None = None
        self._copies: tuple[ComparedCopy, ...] = ()
        self._selected = 0
        self._last = 0
        self._profile: Profile | None = None
        self.guess = ""

    # --- reading ----------------------------------------------------------------------------------

    @property
    def original(self) -> Original | None:
        """The original."""
        return self._original

    @property
    def copies(self) -> tuple[ComparedCopy, ...]:
        """All copies, in the order in which they came."""
        return self._copies

    @property
    def selected(self) -> ComparedCopy | None:
        """The copy whose answer is shown."""
        return self.copy_of(self._selected)

    @property
    def profile(self) -> Profile | None:
        """The limits, if any are set."""
        return self._profile

    def copy_of(self, number: int) -> ComparedCopy | None:
        """Return the copy of a number, if it is still there."""
        return next((copy for copy in self._copies if copy.number == number), None)

    def broken(self, copy: ComparedCopy) -> list[str] | None:
        """Return why a copy breaks the limits; None where there are none or no answer yet."""
        if self._profile is None or copy.result is None or copy.result.comparison is None:
            return None
        return self._profile.broken(copy.result.comparison)

    # --- changing ---------------------------------------------------------------------------------

    def next_number(self) -> int:
        """Return a number that no copy has."""
        self._last += 1
        return self._last

    def set_original(self, original: Original | None) -> None:
        """Compare with another picture: all answers are forgotten."""
        self._original = original
        self._copies = tuple(replace(copy, result=None, error="") for copy in self._copies)
        self.set_guess("")
        self.original_changed.emit()
        self.copies_changed.emit()
        self.selected_changed.emit()

    def add_copies(self, copies: Sequence[ComparedCopy]) -> None:
        """Take copies; the first is selected unless somebody looks at another one."""
        if not copies:
            return
        self._last = max(self._last, *(copy.number for copy in copies))
        self._copies = (*self._copies, *copies)
        self.copies_changed.emit()
        if self.selected is None or len(copies) == 1:
            self.select(copies[0].number)

    def put(self, copy: ComparedCopy) -> None:
        """Put a copy with its answer in its place."""
        self._copies = tuple(copy if old.number == copy.number else old for old in self._copies)
        self.copies_changed.emit()
        if copy.number == self._selected:
            self.selected_changed.emit()

    def select(self, number: int) -> None:
        """Show the answer for another copy."""
        if number != self._selected:
            self._selected = number
            self.selected_changed.emit()

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove copies, as an edit that can be undone."""
        left = tuple(copy for copy in self._copies if copy.number not in numbers)
        count = len(self._copies) - len(left)
        if count:
            what = "removal of a copy" if count == 1 else f"removal of {count} copies"
            self._undo.push(_Replacement(what, self._put_copies, self._copies, left))

    def set_profile(self, profile: Profile | None) -> None:
        """Change the limits, as an edit that can be undone."""
        if profile is not None and profile.empty:
            profile = None
        if profile != self._profile:
            change = _Replacement("change of limits", self.restore_profile, self._profile, profile)
            self._undo.push(change)

    def restore_profile(self, profile: Profile | None) -> None:
        """Put back limits, such as those of a project that was opened."""
        self._profile = profile
        self.profile_changed.emit()

    def set_guess(self, sentence: str) -> None:
        """Note why one of two pictures was taken for the original."""
        self.guess = sentence
        self.guessed.emit(sentence)

    def clear(self) -> None:
        """Forget everything: another project begins."""
        self._copies = ()
        self._selected = 0
        self._profile = None
        self.set_original(None)
        self.profile_changed.emit()

    def _put_copies(self, copies: tuple[ComparedCopy, ...]) -> None:
        """Put back a list of copies; answers that came meanwhile are kept."""
        now = {copy.number: copy for copy in self._copies}
        self._copies = tuple(now.get(copy.number, copy) for copy in copies)
        self.copies_changed.emit()
        if self.selected is None:
            self._selected = self._copies[-1].number if self._copies else 0
            self.selected_changed.emit()


class _Replacement(QUndoCommand):
    """Replaces a value by another, and back."""

    def __init__(
        self, text: str, apply: Callable[..., None], before: object, after: object
    ) -> None:
        super().__init__(text)
        self._apply = apply
        self._before = before
        self._after = after

    def redo(self) -> None:
        """Apply the edit."""
        self._apply(self._after)

    def undo(self) -> None:
        """Take the edit back."""
        self._apply(self._before)
