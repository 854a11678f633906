"""The limits that copies must keep: a list of rules, opened, saved and changed here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QFileDialog,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.comparison import parameters, profile
from isca_gui.core.comparison.compare import UNRELATED
from isca_gui.core.comparison.kinds import KINDS
from isca_gui.core.comparison.profile import Profile, ProfileError, Range
from isca_gui.widgets.dialogs import ask_name
from isca_gui.widgets.step_frame import button, describe, row

if TYPE_CHECKING:
    from isca_gui.session.session import Session

_FILTER = f"Limits (*{profile.SUFFIX})"
_AT_MOST = "at most"
_AT_LEAST = "at least"
_FORBIDDEN = "not at all"
_NAME = Qt.ItemDataRole.UserRole
_WORDS = (
    "A copy passes if it keeps all of these. The limits are part of the project; a file of them "
    "works with isca compare --profile."
)


class LimitsDialog(QDialog):
    """Lists the limits; each can be removed, others added, and all opened or saved."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._state = session.comparisons
        self.setObjectName("limits")
        self.setProperty("help", "compare#limits")
        self.setWindowTitle("Limits")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        words = QLabel(_WORDS, self)
        words.setWordWrap(True)
        self.list = QListWidget(self)
        describe(self.list, "Limits", "What a copy must keep to pass.")
        self.what = QComboBox(self)
        for name in _limited_names():
            self.what.addItem(profile.name_in_words(name), name)
        for name in (profile.UNRECOGNISED, UNRELATED, *KINDS):
            self.what.addItem(profile.name_in_words(name), name)
        describe(self.what, "Limited value", "What the new limit is about.")
        self.how = QComboBox(self)
        describe(self.how, "Kind of limit", "Whether the value must not be more, or not less.")
        self.value = QDoubleSpinBox(self)
        self.value.setDecimals(3)
        self.value.setRange(-1e6, 1e6)
        describe(self.value, "Limit", "The largest or smallest value that passes.")
        self.what.currentIndexChanged.connect(self._on_what_changed)
        self.add_button = button("&Add", "Add this limit.", self._on_add)
        self.remove_button = button("&Remove", "Remove the chosen limit.", self._on_remove)
        self.open_button = button("&Open…", "Read limits from a file.", self._on_open)
        self.save_button = button("&Save…", "Write these limits to a file.", self._on_save)
        self.close_button = button("Close", "Close; the limits are in force already.", self.accept)
        layout = QVBoxLayout(self)
        layout.addWidget(words)
        layout.addWidget(self.list, 1)
        layout.addLayout(row(self.what, self.how, self.value, self.add_button))
        layout.addLayout(
            row(self.remove_button, self.open_button, self.save_button, 1, self.close_button)
        )
        self.resize(560, 360)
        self._state.profile_changed.connect(self._refresh)
        self._on_what_changed()
        self._refresh()

    def _refresh(self) -> None:
        found = self._state.profile or Profile()
        self.list.clear()
        for name, line in zip((*found.forbid, *found.limits), found.lines, strict=True):
            item = QListWidgetItem(line)
            item.setData(_NAME, name)
            self.list.addItem(item)
        for each in (self.remove_button, self.save_button):
            each.setEnabled(not found.empty)

    def _on_what_changed(self) -> None:
        """Offer the ways in which the chosen value can be limited."""
        name = self.what.currentData()
        self.how.clear()
        limited = name in profile.FIGURES or "." in name
        if limited:
            kind, _, parameter = name.partition(".")
            worse = name not in ("psnr", "ssim")
            if parameter:
                worse = parameters.describe(kind, parameter).more_is_worse is not False
            ways = (_AT_MOST, _AT_LEAST) if worse else (_AT_LEAST, _AT_MOST)
            self.how.addItems(ways)
        else:
            self.how.addItem(_FORBIDDEN)
        self.value.setEnabled(limited)

    def _on_add(self) -> None:
        found = self._state.profile or Profile()
        name = self.what.currentData()
        way = self.how.currentText()
        if way == _FORBIDDEN:
            self._state.set_profile(found.forbidding(name))
            return
        before = found.limits.get(name, Range())
        value = self.value.value()
        allowed = Range(before.least, value) if way == _AT_MOST else Range(value, before.most)
        self._state.set_profile(found.limiting(name, allowed))

    def _on_remove(self) -> None:
        item = self.list.currentItem() or self.list.item(self.list.count() - 1)
        if item is not None and self._state.profile is not None:
            self._state.set_profile(self._state.profile.without(item.data(_NAME)))

    def _on_open(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Open limits", "", _FILTER)
        if not path:
            return
        try:
            self._state.set_profile(profile.load(path))
        except ProfileError as error:
            self._session.say("error", str(error))

    def _on_save(self) -> None:
        path = ask_name(self, "Save limits", "limits.toml", profile.SUFFIX, _FILTER)
        if not path or self._state.profile is None:
            return
        try:
            profile.save(path, self._state.profile)
        except ProfileError as error:
            self._session.say("error", str(error))
        else:
            self._session.say("info", f"The limits were saved as '{path}'.")


def _limited_names() -> list[str]:
    return [*profile.FIGURES, *(f"{kind}.{name}" for kind, name in parameters.PARAMETERS)]
