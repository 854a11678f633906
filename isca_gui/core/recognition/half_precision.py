"""Make a kernel model smaller: its training pictures in half precision, where no verdict changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isca_gui.core.model.descriptor import describe_all
from isca_gui.core.progress import Progress
from isca_gui.core.recognition.recogniser import Recogniser

if TYPE_CHECKING:
    from collections.abc import Generator

    from isca_gui.core.model.model import Model


def compacted(model: Model) -> Generator[Progress, None, Model]:
    """Give the smaller model, or the same one if there is nothing to gain or a verdict would change.

    Half precision is a sixteenth of a grey level of 8 bits, or less. Every training picture is recognised
    with all others by both models; what the smaller one compares comes from its own pictures.
    """
    part, known = model.kernel, model.known
    if part is None or known is None or part.pictures.dtype == np.float16:
        return model
    half = replace(model, kernel=replace(part, pictures=part.pictures.astype(np.float16)))
    found = yield from describe_all(half, part.pictures, "making the model smaller")
    half = replace(half, known=replace(known, source=found))
    before, after = Recogniser(model), Recogniser(half)
    for index in range(len(known.labels)):
        yield Progress(index, len(known.labels), "checking the smaller model")
        if before.leave_one_out(index).verdict.label != after.leave_one_out(index).verdict.label:
            return model
    return half
