"""The settings: what is refused, which field is to blame, and what each method leaves unused."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from isca_gui.core.distortion.dataset_spec import DatasetSpec, parse_levels
from isca_gui.core.methods import METHODS
from isca_gui.core.settings import SettingsError, TrainingSettings


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("method", "magic"),
        ("solver", "magic"),
        ("kernel", "magic"),
        ("metric", "magic"),
        ("precision", "float16"),
        ("block", 1),
        ("components", 65),
        ("epochs", 0),
        ("rho", float("nan")),
        ("eta", -1.0),
        ("tolerance", 2.0),
        ("degree", 11),
        ("seed", -1),
    ],
)
def test_the_error_of_a_training_setting_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(SettingsError) as error:
        TrainingSettings(**{field: value})
    assert error.value.field == field


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kinds", ()),
        ("kinds", ("fog",)),
        ("kinds", ("blur+blur",)),
        ("kinds", ("blur", "blur")),
        ("levels", ()),
        ("levels", (0.0,)),
        ("levels", (50.0, 50.0)),
        ("seed", 2**63),
    ],
)
def test_the_error_of_a_dataset_names_the_field(field: str, value: Any) -> None:
    with pytest.raises(SettingsError) as error:
        DatasetSpec(**{field: value})
    assert error.value.field == field


@pytest.mark.parametrize("text", ["", "45:900", "1:0:1", "0:1:0", "1:1e9:0.001"])
def test_the_error_of_levels_as_text_names_them(text: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_levels(text)
    assert error.value.field == "levels"


@pytest.mark.parametrize("name", METHODS)
def test_a_method_leaves_only_real_settings_unused(name: str) -> None:
    method = METHODS[name]
    assert method.unused_fields <= {field.name for field in fields(TrainingSettings)}
    assert ("kernel" in method.unused_fields) != method.uses_kernel
    assert ("solver" in method.unused_fields) != method.iterative
