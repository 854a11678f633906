"""The form for the training settings: one row per field, with errors shown at the field."""

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
    KERNELS,
    METRICS,
    PRECISIONS,
    SOLVERS,
    SettingsError,
    TrainingSettings,
    number_text,
)
from isca_gui.widgets.fields import SEED_RANGE, parse_seed
from isca_gui.widgets.step_frame import Disclosure, describe, set_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from isca_gui.session.session import Session


# Each of these returns why a field has no effect with the current settings, or an empty text.


def _only_iterative(settings: TrainingSettings) -> str:
    if not settings.iterative:
        return f"{METHODS[settings.method].title} is solved in one step, without iterations."
    return ""


def _only_admm(settings: TrainingSettings) -> str:
    if settings.solver != "admm":
        return _only_iterative(settings) or "The direct solver chooses its own step size."
    return _only_iterative(settings)


def _only_with_kernel(settings: TrainingSettings) -> str:
    if not settings.uses_kernel:
        return f"{METHODS[settings.method].title} uses no kernel."
    return ""


def _only_kernels(*names: str) -> Callable[[TrainingSettings], str]:
    def why_not(settings: TrainingSettings) -> str:
        if settings.kernel not in names:
            return _only_with_kernel(settings) or f"The {settings.kernel} kernel does not use this."
        return _only_with_kernel(settings)

    return why_not


def _only_kernel_isca(settings: TrainingSettings) -> str:
    if not (settings.uses_kernel and settings.iterative):
        return "Only kernel ISCA uses a metric."
    return _only_admm(settings)


def _always(_: TrainingSettings) -> str:
    return ""


@dataclass(frozen=True)
class Field:
    """One row of the form; `why_not` returns why the field has no effect, or an empty text."""

    name: str
    title: str
    # "choice", "whole", "number", or "digits" for a whole number too large for a spin box.
    kind: str
    sentence: str
    unit: str = ""
    choices: dict[str, str] | None = None
    limits: tuple[float, float] = (0, 0)
    why_not: Callable[[TrainingSettings], str] = _always
    advanced: bool = False


_SOLVER_TITLES = {"admm": "ADMM (as published)", "direct": "Direct (fast and exact)"}
_METRIC_TITLES = {"published": "As published", "natural": "Natural (converges)"}
FIELDS = (
    Field(
        "method",
        "Method",
        "choice",
        "What the training learns about each block.",
        choices={method.name: method.title for method in METHODS.values()},
    ),
    Field(
        "solver",
        "Solver",
        "choice",
        "How the objective is minimised.",
        choices={name: _SOLVER_TITLES[name] for name in SOLVERS},
        why_not=_only_iterative,
    ),
    Field(
        "kernel",
        "Kernel",
        "choice",
        "How kernel methods compare two blocks.",
        choices={name: name for name in KERNELS},
        why_not=_only_with_kernel,
    ),
    Field(
        "components",
        "Components",
        "whole",
        "Number of basis vectors per block, called p in the paper.",
        limits=(1, 4096),
    ),
    Field(
        "block",
        "Block side",
        "whole",
        "Side of the square blocks that the picture is divided into.",
        unit="pixels",
        limits=(2, 64),
    ),
    Field(
        "epochs",
        "Epochs",
        "whole",
        "Maximum number of passes over all training pictures.",
        limits=(0, 1_000_000),
        why_not=_only_iterative,
    ),
    Field(
        "rho",
        "Penalty ρ",
        "number",
        "How strongly ADMM pulls U towards the orthonormal V.",
        limits=(1e-6, 1e6),
        why_not=_only_admm,
        advanced=True,
    ),
    Field(
        "eta",
        "Learning rate η",
        "number",
        "Step size of ADMM. Lower it if training fails.",
        limits=(1e-9, 1e3),
        why_not=_only_admm,
        advanced=True,
    ),
    Field(
        "tolerance",
        "Tolerance",
        "number",
        "Training ends when the residuals fall below this; 0 runs all epochs.",
        limits=(0, 1),
        why_not=_only_iterative,
        advanced=True,
    ),
    Field(
        "gamma",
        "Kernel γ",
        "number",
        "Width of the kernel.",
        limits=(1e-9, 1e9),
        why_not=_only_kernels("rbf", "sigmoid", "polynomial"),
        advanced=True,
    ),
    Field(
        "coef0",
        "Kernel offset",
        "number",
        "Constant term of the sigmoid and polynomial kernels.",
        limits=(-1e6, 1e6),
        why_not=_only_kernels("sigmoid", "polynomial"),
        advanced=True,
    ),
    Field(
        "degree",
        "Kernel degree",
        "whole",
        "Degree of the polynomial kernel.",
        limits=(1, 10),
        why_not=_only_kernels("polynomial"),
        advanced=True,
    ),
    Field(
        "metric",
        "Metric",
        "choice",
        "How kernel ISCA measures the length of its steps.",
        choices={name: _METRIC_TITLES[name] for name in METRICS},
        why_not=_only_kernel_isca,
        advanced=True,
    ),
    Field(
        "seed",
        "Seed",
        "digits",
        f"Seed of the random numbers. The same seed gives the same model. {SEED_RANGE}",
        advanced=True,
    ),
    Field(
        "precision",
        "Precision",
        "choice",
        "Single precision is faster, double is more accurate.",
        choices={name: name for name in PRECISIONS},
        advanced=True,
    ),
)


class SettingsForm(QWidget):
    """Edits the training settings of the session; invalid values stay, marked in red."""

    validity_changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._filling = False
        # Whether the settings are being changed by this form.
        self._own = False
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
        name = QLabel(field.title)
        error = QLabel()
        editor = _editor(field)
        name.setBuddy(editor)
        error.setProperty("level", "error")
        error.setWordWrap(True)
        error.setVisible(False)
        place = 2 * grid.rowCount()
        grid.addWidget(name, place, 0)
        grid.addWidget(editor, place, 1)
        grid.addWidget(error, place + 1, 1)
        self.editors[field.name] = editor
        self._names[field.name] = name
        self._errors[field.name] = error
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
        # A value rejected earlier may be valid together with the new one, so both are tried first.
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
        """Return the values of fields; those that cannot be read are marked and left out."""
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
            return parse_seed(editor.text())
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
        """Show the settings of the session; marks stay only if this form has made the change."""
        settings = self._session.settings
        published = replace(settings, epochs=None, rho=None, tolerance=None, gamma=None).resolved()
        self._filling = True
        for field in FIELDS:
            why_not = field.why_not(settings)
            # A disabled field cannot be corrected; a value from elsewhere replaces an invalid one.
            if field.name in self.problems and (why_not or not self._own):
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
                editor.setSpecialValueText(f"default ({published})")
            editor.setValue(value or 0)
        else:
            if field.name in _OPTIONAL:
                editor.setPlaceholderText(f"default ({published:g})")
            editor.setText(_text_of(field, value))

    def _enable(self, field: Field, why_not: str) -> None:
        editor = self.editors[field.name]
        editor.setEnabled(not why_not)
        editor.setToolTip(why_not or _sentence(field))
        self._names[field.name].setEnabled(not why_not)
        self._names[field.name].setToolTip(why_not or _sentence(field))


# Fields that may be left empty: they then have the default of the method.
_OPTIONAL = {"epochs", "rho", "tolerance", "gamma"}


def _text_of(field: Field, value: Any) -> str:
    if value is None:
        return ""
    if field.kind == "digits":
        return str(value)
    return number_text(value)


def _grid(widget: QWidget | None) -> QGridLayout:
    grid = QGridLayout(widget) if widget is not None else QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(3)
    grid.setColumnStretch(1, 1)
    return grid


def _sentence(field: Field) -> str:
    """Return the tooltip of a field, with its range if it has one."""
    low, high = field.limits
    if not high:
        return field.sentence
    unit = f" {field.unit}" if field.unit else ""
    return f"{field.sentence} Range: {low:g} to {high:g}{unit}."


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
