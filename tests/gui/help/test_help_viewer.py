"""The help: every page is reached, every link leads somewhere, every control explains itself."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QColor, QWhatsThisClickedEvent
from PySide6.QtWidgets import QApplication, QWhatsThis, QWidget

from isca_gui import cli
from isca_gui.core.distortion.distortions import TABLE
from isca_gui.core.storage import resources as assets
from isca_gui.help import pages as help_pages
from isca_gui.help.help_viewer import HelpPage
from isca_gui.help.pages import CONTENTS, slug, split
from isca_gui.help.whats_this import LINK, explain, link_of
from isca_gui.session.records import Reference
from isca_gui.viewers.convergence import run_curve as tracks
from isca_gui.viewers.runs import comparison
from isca_gui.widgets import theme
from isca_gui.widgets.settings_form import FIELDS
from isca_gui.widgets.step_frame import StepPanel
from tests.gui.conftest import SETTINGS
from tests.places import ROOT

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from isca_gui.core.distortion.dataset import Dataset
    from isca_gui.core.model.model import Model
    from isca_gui.window.main_window import MainWindow

HELP = sorted((ROOT / "resources" / "help").glob("*.md"))
REFERENCE = sorted((ROOT / "resources" / "reference").glob("*.md"))
PAGES = help_pages.read([("Ctrl+G", "Make the distorted pictures.")])
NAMES = [page.name for page in PAGES]
ACTIONS = {"tour", "start"}
NUMBERS = [
    "MSE",
    "SSIM",
    "Share",
    "Runner-up",
    "Margin",
    "Severity",
    "Unusual",
    "Unlike",
    "Recall",
    "AUROC",
    "Block accuracy",
    "Undecided",
    "Confidence",
    "Error at U",
    "Objective",
    "Orthonormality",
    "Gradient",
    "Epoch",
]


@pytest.fixture
def page(qtbot: QtBot) -> HelpPage:
    theme.apply(theme.LIGHT)
    made = HelpPage([("Ctrl+G", "Make the distorted pictures.")])
    qtbot.addWidget(made)
    made.resize(900, 500)
    made.show()
    return made


@pytest.fixture
def full(qtbot: QtBot, window: MainWindow, small: Dataset, model: Model) -> MainWindow:
    """Return a window in which every viewer has something to show."""
    session = window.session
    session.set_reference(Reference("small", small.reference))
    session.set_dataset(small, small.digest())
    session.begin_run(SETTINGS)
    session.end_run(model)
    assert session.run is not None
    window.menu_actions.evaluate(session.run.number)
    window.menu_actions.recognise_made("jpeg", 300.0, 1)
    qtbot.waitUntil(lambda: not window.jobs.jobs())
    for name, *_ in window.viewers():
        window.show_viewer(name)
        qtbot.waitUntil(lambda: not window.jobs.jobs())
    return window


# --- the pages ------------------------------------------------------------------------------------


def test_every_file_is_a_page_of_the_contents() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in [*HELP, *REFERENCE])


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    found = PAGES.get(name)
    assert found is not None
    for link in found.links:
        if link.startswith("action:"):
            assert link.removeprefix("action:") in ACTIONS
        else:
            assert PAGES.resolves(link), f"{name}.md links to {link}"
            assert split(link)[0] != name or "#" in link, f"{name}.md links to itself"


@pytest.mark.parametrize("name", NAMES)
def test_a_page_begins_with_what_it_is_about(name: str) -> None:
    found = PAGES.get(name)
    assert found is not None
    assert found.text.startswith("# ")
    assert 20 < len(found.summary) < 320
    assert "http" not in found.text


@pytest.mark.parametrize("name", [path.stem for path in HELP])
def test_a_page_about_the_window_is_short(name: str) -> None:
    found = PAGES.get(name)
    assert found is not None
    assert len(found.plain.split()) < 720


@pytest.mark.parametrize("name", [name for name in NAMES if name != CONTENTS])
def test_the_contents_call_a_page_by_its_title(name: str) -> None:
    contents, found = PAGES.get(CONTENTS), PAGES.get(name)
    assert contents is not None
    assert found is not None
    folder = "../reference/" if name in {path.stem for path in REFERENCE} else ""
    assert f"- [{found.title}]({folder}{name}.md)" in contents.text


def test_links_between_the_two_folders_work_where_the_files_are_read_elsewhere() -> None:
    for path in [*HELP, *REFERENCE]:
        for link in re.findall(r"\]\(([^)#]+\.md)", path.read_text("utf-8")):
            assert (path.parent / link).is_file(), f"{path.name} links to {link}"


def test_a_comment_in_an_example_is_no_place_to_link_to() -> None:
    found = PAGES.get("python-api")
    assert found is not None
    assert "# Otherwise relocate_project" in found.text
    assert not [anchor for anchor in found.anchors if anchor.startswith("otherwise")]


def test_every_viewer_and_panel_has_its_page(window: MainWindow) -> None:
    for _, title, _ in window.viewers():
        assert slug(title) in PAGES
    for panel in window.findChildren(StepPanel):
        assert panel.NAME in PAGES


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("train", [field.title for field in FIELDS]),
        ("distortions", [row.title for row in TABLE]),
        ("convergence", [title for title, *_ in tracks.FIGURES.values()]),
        ("comparison", [title for title, _, better in comparison.COLUMNS if better]),
        ("numbers", NUMBERS),
    ],
)
def test_what_the_program_shows_is_explained(name: str, words: list[str]) -> None:
    found = PAGES.get(name)
    assert found is not None
    assert [word for word in words if slug(word) not in found.anchors] == []


def test_every_figure_says_whether_higher_or_lower_is_better() -> None:
    found = PAGES.get("numbers")
    assert found is not None
    rows = [line for line in found.text.splitlines() if line.startswith("| **")]
    assert len(rows) > 25
    for line in rows:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == 4, line
        assert all(cells), line


def test_every_command_is_named() -> None:
    found = PAGES.get("command-line")
    assert found is not None
    commands = {name for name in cli.COMMANDS if name != "demo"}
    assert len(commands) > 8
    assert [name for name in commands if f"`isca {name}" not in found.text] == []


def test_the_keys_are_those_of_the_menus(window: MainWindow) -> None:
    text = window.guide.page.pages.get("keys")
    assert text is not None
    keys = {action.shortcut().toString() for action in window.findChildren(QAction)} - {""}
    assert len(keys) > 20
    assert [key for key in keys if f"**{key}**" not in text.text] == []


def test_without_its_files_the_help_says_so(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assets, "find", lambda _: None)
    made = HelpPage()
    qtbot.addWidget(made)
    made.show()
    assert "missing" in made.toPlainText()


# --- the reader -----------------------------------------------------------------------------------


def test_it_opens_with_the_contents_and_goes_back_and_forward(qtbot: QtBot, page: HelpPage) -> None:
    assert page.link == CONTENTS
    assert not page.back_button.isEnabled()
    page.open("train.md#penalty-ρ")
    assert page.link == "train#penalty-ρ"
    assert page.browser.verticalScrollBar().value() > 0
    page.open("limits")
    assert page.browser.verticalScrollBar().value() == 0
    page.browser.verticalScrollBar().setValue(77)
    qtbot.mouseClick(page.back_button, Qt.MouseButton.LeftButton)
    assert page.link == "train#penalty-ρ"
    qtbot.keyClick(page.browser, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    qtbot.mouseClick(page.forward_button, Qt.MouseButton.LeftButton)
    assert page.link == "limits"
    assert page.browser.verticalScrollBar().value() == 77
    assert not page.forward_button.isEnabled()
    page.open("no such page")
    assert page.link == CONTENTS


def test_links_and_the_list_open_pages(qtbot: QtBot, page: HelpPage) -> None:
    page.open("files")
    page.browser.anchorClicked.emit("../reference/file-formats.md#project")
    assert page.link == "file-formats#project"
    page.browser.anchorClicked.emit("commands.md#distort-one-picture")
    assert page.link == "commands#distort-one-picture"
    page.open("about")
    page.browser.anchorClicked.emit("reference.md")
    assert page.link == "reference"
    assert page.list.currentItem().text(0) == "1 Reference"
    item = page._items["numbers"]
    page.list.setCurrentItem(item)
    assert page.toPlainText().startswith("What each number means")
    with qtbot.waitSignal(page.action_requested) as asked:
        page.browser.anchorClicked.emit("action:tour")
    assert asked.args == ["tour"]


def test_a_page_of_the_list_opens_again_after_another(qtbot: QtBot, page: HelpPage) -> None:
    def click(name: str) -> None:
        item = page._items[name]
        page.list.scrollToItem(item)
        place = page.list.visualItemRect(item).center()
        qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=place)

    page.open("index")
    for leave in (page.contents_button.click, lambda: page.line.setText("mse")):
        click("train")
        assert page.link == "train"
        leave()
        assert page.link != "train"
        click("train")
        assert page.link == "train"


def test_every_anchor_of_every_page_is_found_by_the_browser(page: HelpPage) -> None:
    for each in page.pages:
        page.open(each.name)
        named: set[str] = set()
        block = page.browser.document().begin()
        while block.isValid():
            for part in block:
                named.update(part.fragment().charFormat().anchorNames())
            block = block.next()
        assert each.anchors <= named, each.name


def test_the_search_finds_pages_by_parts_of_words(qtbot: QtBot, page: HelpPage) -> None:
    page.open("files")
    qtbot.keyClicks(page.line, "spars impulse")
    assert "What the method cannot see" in page.toPlainText()
    page.browser.anchorClicked.emit("limits")
    assert page.link == "limits"
    assert page.line.text() == ""
    page.back()
    assert page.line.text() == "spars impulse"
    page.back()
    assert page.link == "files", "typing letter by letter is one search"
    qtbot.keyClicks(page.line, "<b>&zzz")
    assert "No page contains “<b>&zzz”" in page.toPlainText()
    page.line.clear()
    assert page.link == "files"


def test_pages_with_the_words_in_their_title_come_first() -> None:
    assert PAGES.search("confusion")[0].page.name == "confusion"
    assert PAGES.search("AUROC")[0].page.name == "numbers"
    assert "AUROC" in PAGES.search("auroc")[0].excerpt
    assert PAGES.search("  ") == []


def test_colours_follow_the_theme_and_little_room_hides_the_list(
    qtbot: QtBot, page: HelpPage
) -> None:
    page.open("numbers#margin")

    def colours() -> set[str]:
        found = set()
        block = page.browser.document().begin()
        while block.isValid():
            for part in block:
                if part.fragment().charFormat().anchorHref():
                    found.add(part.fragment().charFormat().foreground().color().name())
            block = block.next()
        return found

    assert colours() == {QColor(theme.SHADES[theme.LIGHT].accent).name()}
    theme.apply(theme.DARK)
    try:
        assert colours() == {QColor(theme.SHADES[theme.DARK].accent).name()}
        assert page.link == "numbers#margin"
    finally:
        theme.apply(theme.LIGHT)
    assert page.list.isVisible()
    page.resize(400, 300)
    assert not page.list.isVisible()
    qtbot.mouseClick(page.contents_button, Qt.MouseButton.LeftButton)
    assert page.link == CONTENTS


@pytest.mark.alone
def test_pages_open_at_once(page: HelpPage) -> None:
    for each in page.pages:
        took = []
        for _ in range(3):
            page.open(CONTENTS)
            start = time.perf_counter()
            page.open(each.name)
            QApplication.processEvents()
            took.append(time.perf_counter() - start)
        assert min(took) < 0.05, each.name


# --- from the controls to the pages ---------------------------------------------------------------


def focusable(window: MainWindow) -> list[QWidget]:
    """Return all widgets that can have the focus, without the parts of others."""
    return [
        widget
        for widget in window.findChildren(QWidget)
        if widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        and widget.window() is window
        and not widget.objectName().startswith("qt_")
    ]


def test_every_control_explains_itself_and_leads_to_a_page(full: MainWindow) -> None:
    pages = full.guide.page.pages
    explain(full, pages)
    controls = focusable(full)
    assert len(controls) > 100
    for widget in controls:
        link = re.search(f"href='{LINK}([^']+)'", widget.whatsThis())
        assert link is not None, widget
        assert pages.resolves(link.group(1)), (widget, link.group(1))
        words = re.sub("<[^>]+>", " ", widget.whatsThis()).split()
        assert len(words) > 5, (widget, words)


def test_controls_lead_to_the_page_of_their_panel_or_viewer(full: MainWindow) -> None:
    pages = full.guide.page.pages
    wanted = {
        full.training_panel.form.editors["rho"]: "train#penalty-ρ",
        full.dataset_panel.generate_button: "distort#generate",
        full.recognise_panel.mystery_button: "recognise#mystery-picture",
        full.docks["convergence"].widget().boxes["error"]: "convergence#error-at-u",  # type: ignore[union-attr]
        full.docks["vote_map"].widget().verdict: "vote-map#verdict",  # type: ignore[union-attr]
        full.docks["pictures"].widget().modes["swipe"]: "pictures#swipe",  # type: ignore[union-attr]
        full.status.stop_button: "window#stop-the-job",
        full.guide.page.line: "help#search-the-help",
        full: "window",
    }
    assert {link_of(widget, pages): link for widget, link in wanted.items()} == {
        link: link for link in wanted.values()
    }


def test_most_controls_are_named_on_their_page(full: MainWindow) -> None:
    """Only as an exception may a control lead to the top of its page instead of its own line."""
    links = [link_of(widget, full.guide.page.pages) for widget in focusable(full)]
    assert sum("#" in link for link in links) > 0.5 * len(links)


def test_a_property_leads_elsewhere(window: MainWindow) -> None:
    window.status.zoom_label.setProperty("help", "numbers#grey-value")
    assert link_of(window.status.zoom_label, PAGES) == "numbers#grey-value"


def test_f1_opens_the_page_of_the_focused_control(qtbot: QtBot, window: MainWindow) -> None:
    window.activateWindow()
    field = window.training_panel.form.editors["components"]
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    window.guide.help_here()
    assert window.guide.page.link == "train#components"
    assert window.docks["help"].isVisible()
    qtbot.waitUntil(window.guide.page.browser.hasFocus)
    window.guide.help_here()
    assert window.guide.page.link == CONTENTS


def test_whats_this_explains_and_its_link_opens_the_page(qtbot: QtBot, window: MainWindow) -> None:
    button = window.training_panel.train_button
    window.guide.whats_this()
    assert QWhatsThis.inWhatsThisMode()
    QWhatsThis.leaveWhatsThisMode()
    assert "No dataset yet" in button.whatsThis(), "a control out of use says why"
    assert "Learn a subspace" in button.whatsThis(), "and what it is for"
    QApplication.sendEvent(button, QWhatsThisClickedEvent(f"{LINK}train#train"))
    assert window.guide.page.link == "train#train"
    assert window.docks["help"].isVisible()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # offscreen
def test_a_click_in_whats_this_shows_the_text(qtbot: QtBot, window: MainWindow) -> None:
    button = window.dataset_panel.generate_button
    before = set(QApplication.topLevelWidgets())
    window.guide.whats_this()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(8, 8))
    shown = [
        widget
        for widget in QApplication.topLevelWidgets()
        if widget not in before and widget.isVisible()
    ]
    assert [type(widget).__name__ for widget in shown] == ["QWidget"]
    assert not window.jobs.running("dataset"), "the button itself was not pressed"
    QWhatsThis.hideText()
    qtbot.waitUntil(lambda: not any(widget.isVisible() for widget in shown if _alive(widget)))


def _alive(widget: QWidget) -> bool:
    import shiboken6

    return shiboken6.isValid(widget)


def test_the_help_page_names_the_keys(qtbot: QtBot) -> None:
    page = HelpPage([("Ctrl+G", "Make the distorted pictures.")])
    qtbot.addWidget(page)
    page.open("keys")
    assert "Ctrl+G" in page.toPlainText()
