"""A label that elides its text, and a progress bar of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isca_gui.widgets.quiet_widgets import SteadyBar, SteadyLabel

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


def test_a_steady_label_elides_its_text_and_keeps_its_size_hint(qtbot: QtBot) -> None:
    label = SteadyLabel(letters=10)
    qtbot.addWidget(label)
    label.resize(60, 20)
    label.show()
    hint = label.sizeHint()
    label.setText("a text that is much longer than there is room for")
    assert label.text().startswith("a text")
    assert label.toolTip() == label.text()
    assert label.sizeHint() == hint
    label.setText("short")
    assert label.toolTip() == ""


def test_an_indeterminate_bar_moves_only_while_it_is_visible(qtbot: QtBot) -> None:
    bar = SteadyBar()
    qtbot.addWidget(bar)
    bar.show()
    bar.show_share(None)
    assert bar.indeterminate
    assert bar._timer.isActive()
    before = bar.grab().toImage()
    qtbot.waitUntil(lambda: bar.grab().toImage() != before)
    bar.hide()
    assert not bar._timer.isActive()
    bar.show()
    bar.show_share(0.5)
    assert (bar.value(), bar._timer.isActive()) == (500, False)
