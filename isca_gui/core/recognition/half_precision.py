"""Make a kernel model smaller: keep its training pictures in half precision if that is safe."""

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
    """Return the smaller model, or the same one if nothing is gained or a verdict would change.

    Half precision is a sixteenth of a grey level of 8 bits, or finer. Both models recognise every
    training picture by all others; the smaller one compares descriptors of its own pictures.
    """
    part = model.kernel
    known = model.known
    if part is None or known is None or part.pictures.dtype == np.float16:
        return model
    half = replace(model, kernel=replace(part, pictures=part.pictures.astype(np.float16)))
    found = yield from describe_all(half, part.pictures, "making the model smaller")
    half = replace(half, known=replace(known, source=found))
    before = Recogniser(model)
    after = Recogniser(half)
    for index in range(len(known.labels)):
        yield Progress(index, len(known.labels), "checking the smaller model")
        old = before.leave_one_out(index).verdict
        new = after.leave_one_out(index).verdict
        if old.label != new.label:
            return model
    return half
