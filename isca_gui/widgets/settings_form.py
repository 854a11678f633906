"""A form made from the training settings: each field with unit, range and a sentence; errors at the field."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from isca_gui.core.methods import METHODS
from isca_gui.core.settings import (
    METRICS,
    PRECISIONS,
    SOLVERS,
    SettingsError,
    TrainingSettings,
    number_text,
)
from isca_gui.core.solvers.kernels import KERNELS
from isca_gui.widgets.seed_field import SPAN, seed_of
from isca_gui.widgets.step_frame import Disclosure, describe, set_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from isca_gui.session.session import Session


def _iterates(settings: TrainingSettings) -> str:
    if settings.iterative:
        return ""
    return f"{METHODS[settings.method].title} is solved in one step; it has no iteration."


def _admm(settings: TrainingSettings) -> str:
    return _iterates(settings) or (
        "" if settings.solver == "admm" else "The direct solver chooses its steps itself."
    )


def _kernel(settings: TrainingSettings) -> str:
    return "" if settings.uses_kernel else f"{METHODS[settings.method].title} uses no kernel."


def _kernel_of(*names: str) -> Callable[[TrainingSettings], str]:
    def why_not(settings: TrainingSettings) -> str:
        unused = (
            "" if settings.kernel in names else f"The {settings.kernel} kernel has no such number."
        )
        return _kernel(settings) or unused

    return why_not


def _metric(settings: TrainingSettings) -> str:
    if not (settings.uses_kernel and settings.iterative):
        return "Only kernel ISCA has a metric."
    return _admm(settings)


def _always(_: TrainingSettings) -> str:
    return ""


@dataclass(frozen=True)
class Field:
    """One row of the form; `why_not` says why it has no effect now, or nothing."""

    name: str
    title: str
    kind: str  # choice, whole, number, or digits: a whole number that no spin box can hold
    sentence: str
    unit: str = ""
    choices: dict[str, str] | None = None
    limits: tuple[float, float] = (0, 0)
    why_not: Callable[[TrainingSettings], str] = _always
    advanced: bool = False


_SOLVER_TITLES = {"admm": "ADMM, as published", "direct": "Direct: fast, exact"}
_METRIC_TITLES = {"published": "As published", "natural": "Natural: converges"}
FIELDS = (
    Field("method", "Method", "choice", "What is learned about each block.",
          choices={method.name: method.title for method in METHODS.values()}),
    Field("solver", "Solver", "choice", "How the same objective is minimised.",
          choices={name: _SOLVER_TITLES[name] for name in SOLVERS}, why_not=_iterates),
    Field("kernel", "Kernel", "choice", "How kernel methods compare two blocks.",
          choices={name: name for name in KERNELS}, why_not=_kernel),
    Field("components", "Components", "whole", "How many basis vectors each block gets: the p of the paper.",
          limits=(1, 4096)),
    Field("block", "Block side", "whole", "Side of the square blocks the picture is cut into.",
          unit="pixels", limits=(2, 64)),
    Field("epochs", "Epochs", "whole", "Most passes over all training pictures.",
          limits=(0, 1_000_000), why_not=_iterates),
    Field("rho", "Penalty ρ", "number", "How strongly ADMM ties U to the orthonormal V.",
          limits=(1e-6, 1e6), why_not=_admm, advanced=True),
    Field("eta", "Learning rate η", "number", "Length of ADMM's steps; lower it if a training fails.",
          limits=(1e-9, 1e3), why_not=_admm, advanced=True),
    Field("tolerance", "Tolerance", "number", "Converged when the residuals fall below; 0 runs all epochs.",
          limits=(0, 1), why_not=_iterates, advanced=True),
    Field("gamma", "Kernel's γ", "number", "Width of the kernel.",
          limits=(1e-9, 1e9), why_not=_kernel_of("rbf", "sigmoid", "polynomial"), advanced=True),
    Field("coef0", "Kernel's offset", "number", "Added inside the sigmoid and polynomial kernel.",
          limits=(-1e6, 1e6), why_not=_kernel_of("sigmoid", "polynomial"), advanced=True),
    Field("degree", "Kernel's degree", "whole", "Degree of the polynomial kernel.",
          limits=(1, 10), why_not=_kernel_of("polynomial"), advanced=True),
    Field("metric", "Metric", "choice", "How kernel ISCA measures its steps.",
          choices={name: _METRIC_TITLES[name] for name in METRICS}, why_not=_metric, advanced=True),
    Field("seed", "Seed", "digits",
          f"Start of the random numbers; the same seed gives the same model. {SPAN}", advanced=True),
    Field("precision", "Precision", "choice", "Single precision is faster, double is finer.",
          choices={name: name for name in PRECISIONS}, advanced=True),
)  # fmt: skip


class SettingsForm(QWidget):
    """Edits the session's training settings; what is invalid stays in the form and is said at its field."""

    validity_changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._filling = self._own = False  # whether a change of the settings comes from here
        self.problems: dict[str, str] = {}
        self.editors: dict[str, QComboBox | QSpinBox | QLineEdit] = {}
        self._names: dict[str, QLabel] = {}
        self._errors: dict[str, QLabel] = {}
        advanced = QWidget()
        grids = {False: _grid(None), True: _grid(advanced)}
        for field in FIELDS:
            self._add(field, grids[field.advanced])
        self.advanced = Disclosure("Advanced", advanced)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(grids[False])
        layout.addWidget(self.advanced)
        session.settings_changed.connect(self.refill)
        self.refill()

    def _add(self, field: Field, grid: QGridLayout) -> None:
        name, error = QLabel(field.title), QLabel()
        editor = _editor(field)
        name.setBuddy(editor)
        error.setProperty("level", "error")
        error.setWordWrap(True)
        error.setVisible(False)
        place = 2 * grid.rowCount()
        grid.addWidget(name, place, 0)
        grid.addWidget(editor, place, 1)
        grid.addWidget(error, place + 1, 1)
        self.editors[field.name], self._names[field.name], self._errors[field.name] = (
            editor,
            name,
            error,
        )
        if isinstance(editor, QComboBox):
            editor.currentIndexChanged.connect(lambda _, field=field: self._on_edited(field))
        elif isinstance(editor, QSpinBox):
            editor.valueChanged.connect(lambda _, field=field: self._on_edited(field))
        else:
            editor.editingFinished.connect(lambda field=field: self._on_edited(field))

    def _on_edited(self, field: Field) -> None:
        if self._filling:
            return
        values = self._values({field.name, *self.problems})
        if field.name not in values:
            return
        # What was wrong elsewhere may be right together with this.
        for tried in (values, {field.name: values[field.name]}):
            try:
                wanted = replace(self._session.settings, **tried)
            except SettingsError as error:
                # A field that was not tried was right until this edit, which is to blame then.
                wrong = error.field if error.field in tried else field.name
                self._set_problem(wrong, str(error))
                continue
            for name in tried:
                self._set_problem(name, "")
            self._own = True
            self._session.set_settings(wanted)
            self._own = False
            return

    def _values(self, names: Iterable[str]) -> dict[str, Any]:
        """Read fields; what makes no sense is said at its field and left out."""
        values = {}
        for name in names:
            try:
                values[name] = self._value(name)
            except SettingsError as error:
                self._set_problem(name, str(error))
        return values

    def _value(self, name: str) -> Any:
        editor = self.editors[name]
        if isinstance(editor, QComboBox):
            return editor.currentData()
        if isinstance(editor, QSpinBox):
            return None if name == "epochs" and editor.value() == 0 else editor.value()
        if name == "seed":
            return seed_of(editor.text())
        text = editor.text().strip().replace(",", ".")
        if not text and name in _OPTIONAL:
            return None
        try:
            return float(text)
        except ValueError:
            raise SettingsError(f"'{text}' is not a number", field=name) from None

    def _set_problem(self, name: str, text: str) -> None:
        if text:
            self.problems[name] = text
        else:
            self.problems.pop(name, None)
        self._errors[name].setText(text)
        self._errors[name].setVisible(bool(text))
        set_property(self.editors[name], "wrong", bool(text))
        self.validity_changed.emit()

    def refill(self) -> None:
        """Show the session's settings; what was wrong is forgotten, unless the change was made here."""
        settings = self._session.settings
        published = replace(settings, epochs=None, rho=None, tolerance=None, gamma=None).resolved()
        self._filling = True
        for field in FIELDS:
            why_not = field.why_not(settings)
            if field.name in self.problems and (
                why_not or not self._own
            ):  # it cannot be mended, or is old
                self._set_problem(field.name, "")
            if field.name not in self.problems:
                self._fill(field, getattr(settings, field.name), getattr(published, field.name))
            self._enable(field, why_not)
        self._filling = False

    def _fill(self, field: Field, value: Any, published: Any) -> None:
        editor = self.editors[field.name]
        if isinstance(editor, QComboBox):
            editor.setCurrentIndex(editor.findData(value))
        elif isinstance(editor, QSpinBox):
            if field.name == "epochs":
                editor.setSpecialValueText(f"as usual ({published})")
            editor.setValue(value or 0)
        else:
            editor.setPlaceholderText(
                f"as published ({published:g})" if field.name in _OPTIONAL else ""
            )
            digits = field.kind == "digits"
            editor.setText("" if value is None else str(value) if digits else number_text(value))

    def _enable(self, field: Field, why_not: str) -> None:
        editor = self.editors[field.name]
        editor.setEnabled(not why_not)
        editor.setToolTip(why_not or _sentence(field))
        self._names[field.name].setEnabled(not why_not)
        self._names[field.name].setToolTip(why_not or _sentence(field))


_OPTIONAL = {"epochs", "rho", "tolerance", "gamma"}


def _grid(widget: QWidget | None) -> QGridLayout:
    grid = QGridLayout(widget) if widget is not None else QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(3)
    grid.setColumnStretch(1, 1)
    return grid


def _sentence(field: Field) -> str:
    low, high = field.limits
    span = f" From {low:g} to {high:g}{' ' + field.unit if field.unit else ''}." if high else ""
    return f"{field.sentence}{span}"


def _editor(field: Field) -> QComboBox | QSpinBox | QLineEdit:
    if field.kind == "choice":
        box = QComboBox()
        for value, title in (field.choices or {}).items():
            box.addItem(title, value)
        describe(box, field.title, _sentence(field))
        return box
    if field.kind == "whole":
        spin = QSpinBox()
        spin.setRange(int(field.limits[0]), int(field.limits[1]))
        spin.setKeyboardTracking(False)
        spin.setSuffix(f" {field.unit}" if field.unit else "")
        describe(spin, field.title, _sentence(field))
        return spin
    edit = QLineEdit()
    describe(edit, field.title, _sentence(field))
    return edit
