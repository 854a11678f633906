"""Work of the compare page: opening pictures, guessing the original, comparing, reports."""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageFilter
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QImage

from isca_gui.core.parallel import Workers
from isca_gui.core.pictures import image, samples
from isca_gui.core.pictures.decoding import check_size
from isca_gui.core.pictures.image import ImageError
from isca_gui.core.progress import Progress
from isca_gui.jobs.names import JobName
from isca_gui.session.comparisons import ComparedCopy, Original
from isca_gui.session.records import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from numpy.typing import NDArray

    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.guess import Guess
    from isca_gui.jobs.runner import JobRunner
    from isca_gui.session.session import Session

    Picture = NDArray[np.float32]

THUMBNAIL = 96
# So many pixels of compared pictures are kept with all that was worked out about them.
_KEPT_PIXELS = 12_000_000


@dataclass(frozen=True, eq=False)
class _Answer:
    """What came of one copy, and of which original."""

    original: Original
    copy: ComparedCopy
    result: CopyResult | None


@dataclass(frozen=True)
class Trial:
    """A copy that the program makes of the original, to try the page with."""

    title: str
    make: Callable[[Image.Image], Image.Image]


def _through_jpeg(picture: Image.Image, quality: int) -> Image.Image:
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=quality)
    return Image.open(stream).copy()


def _noisy(picture: Image.Image) -> Image.Image:
    pixels = np.asarray(picture, np.float32)
    noise = np.random.default_rng(1).normal(0, 8, pixels.shape)
    return Image.fromarray(np.clip(np.rint(pixels + noise), 0, 255).astype(np.uint8))


def _small_and_back(picture: Image.Image) -> Image.Image:
    half = (max(picture.width // 2, 1), max(picture.height // 2, 1))
    return picture.resize(half, Image.Resampling.BICUBIC).resize(
        picture.size, Image.Resampling.BICUBIC
    )


TRIALS = (
    Trial("JPEG, quality 40", partial(_through_jpeg, quality=40)),
    Trial("Darker by 20 grey levels", lambda picture: picture.point(lambda v: max(v - 20, 0))),
    Trial("Blur, σ 1.5 pixels", lambda picture: picture.filter(ImageFilter.GaussianBlur(1.5))),
    Trial("Gaussian noise, σ 8 grey levels", _noisy),
    Trial("Scaled to 50% and back", _small_and_back),
)


class Comparing(QObject):
    """Opens originals and copies and keeps every copy compared, without any widget."""

    # A path or sample name, for the list of recent files.
    opened = Signal(str)
    # What was worked out for a copy of this number can be shown.
    detailed = Signal(int)

    def __init__(self, session: Session, jobs: JobRunner, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._jobs = jobs
        self._state = session.comparisons
        # The results with their pictures, the latest last.
        self._kept: OrderedDict[int, CopyResult] = OrderedDict()
        self._state.original_changed.connect(self._on_original_changed)

    # --- opening ----------------------------------------------------------------------------------

    def open_original(self, path: str, then: Callable[[], None] | None = None) -> None:
        """Read a picture file, or `sample:NAME`, as the original."""

        def done(original: Original) -> None:
            self._state.set_original(original)
            self.opened.emit(path)
            if then is not None:
                then()

        self._jobs.run(
            JobName.COMPARE_ORIGINAL,
            f"Opening {_name_of(path)}",
            lambda: _read_original(path),
            done=done,
        )

    def use_original(self, name: str, picture: Picture, path: str | None = None) -> None:
        """Take a picture that is there already as the original."""
        self._state.set_original(Original(name, picture, path, thumbnail(picture)))

    def open_copies(self, paths: Iterable[str]) -> None:
        """Read picture files, and those in folders, as copies."""
        wanted = list(paths)

        def work() -> tuple[list[str], list[str]]:
            from isca_gui.core.recognition.batch import pictures_in

            found: list[str] = []
            faults = []
            for path in wanted:
                try:
                    found += pictures_in(path)
                except ImageError as error:
                    faults.append(str(error))
            return found, faults

        def done(result: tuple[list[str], list[str]]) -> None:
            found, faults = result
            for fault in faults:
                self._session.say("error", fault)
            self._state.add_copies(
                [ComparedCopy(self._state.next_number(), _name_of(path), path) for path in found]
            )
            self.compare()

        job = JobName.COMPARE_LIST.of("\n".join(wanted))
        self._jobs.run(job, "Looking for copies", work, done=done)

    def add_copy(self, name: str, picture: Picture) -> None:
        """Take a picture that is there already as a copy."""
        number = self._state.next_number()
        self._state.add_copies(
            [ComparedCopy(number, name, picture=picture, thumbnail=thumbnail(picture))]
        )
        self.compare()

    def use_image(self, name: str, pasted: QImage, *, as_original: bool) -> None:
        """Take an image of the clipboard as the original or as a copy."""
        try:
            check_size(pasted.width(), pasted.height(), min_side=8)
        except ImageError as error:
            self._session.say("error", f"The picture '{name}' cannot be used: {error}")
            return

        def done(picture: Picture) -> None:
            if as_original:
                self.use_original(name, picture)
            else:
                self.add_copy(name, picture)

        self._jobs.run(
            JobName.COMPARE_ORIGINAL if as_original else JobName.COMPARE_LIST.of(name),
            f"Opening {name}",
            lambda: colours(pasted),
            done=done,
        )

    def open_pair(self, first: str, second: str) -> None:
        """Open two pictures that came together: the likelier original is taken for it."""

        def done(guess: Guess) -> None:
            self._state.remove([copy.number for copy in self._state.copies])
            self.open_original(guess.original, then=lambda: self._finish_pair(guess))

        def work() -> Guess:
            from isca_gui.core.comparison.guess import guess_original

            return guess_original(first, second)

        self._jobs.run(JobName.COMPARE_ORIGINAL, "Looking at both pictures", work, done=done)

    def _finish_pair(self, guess: Guess) -> None:
        self.open_copies([guess.copy])
        self._state.set_guess(
            f"{_name_of(guess.original)} was taken for the original: {guess.reason}."
        )

    def add_trial(self, trial: Trial) -> None:
        """Make a copy of the original and compare it."""
        original = self._state.original
        if original is None:
            self._session.say("warning", "There is no original yet. Open one first.")
            return

        def work() -> Picture:
            return _as_picture(trial.make(_as_image(original.picture)))

        self._jobs.run(
            JobName.COMPARE_LIST.of(trial.title),
            f"Making a copy: {trial.title}",
            work,
            done=lambda picture: self.add_copy(f"{trial.title} (made here)", picture),
        )

    def swap(self) -> None:
        """Make the selected copy the original, and the original a copy."""
        copy = self._state.selected
        original = self._state.original
        if copy is None or original is None:
            return

        def work() -> Original:
            if copy.path is not None:
                return _read_original(copy.path)
            assert copy.picture is not None
            return Original(copy.name, copy.picture, None, thumbnail(copy.picture))

        def done(chosen: Original) -> None:
            self._state.remove([copy.number])
            self._state.set_original(chosen)
            back = ComparedCopy(
                self._state.next_number(),
                original.name,
                original.path,
                None if original.path else original.picture,
                original.thumbnail,
            )
            self._state.add_copies([back])
            self._state.select(back.number)
            self.compare()

        self._jobs.run(JobName.COMPARE_ORIGINAL, f"Opening {copy.name}", work, done=done)

    def to_steps(self) -> Reference | None:
        """Return the original as the grey reference of the four steps, if there is one."""
        from isca_gui.core.comparison.pair import luma

        original = self._state.original
        if original is None:
            return None
        return Reference(original.name, luma(original.picture), original.path)

    # --- comparing --------------------------------------------------------------------------------

    def compare(self) -> None:
        """Compare all copies that wait, unless that is under way already."""
        original = self._state.original
        waiting = [copy for copy in self._state.copies if copy.waiting]
        if original is None or not waiting or self._jobs.running(JobName.COMPARISON):
            return
        self._jobs.start(
            JobName.COMPARISON,
            "Comparing",
            lambda: _compare_all(original, waiting),
            reports=self._on_reports,
            # What came in while the job was ending is compared by another one.
            done=lambda _: self.compare(),
        )

    def compare_again(self, numbers: Sequence[int]) -> None:
        """Compare copies once more: their files may have changed."""
        for number in numbers:
            copy = self._state.copy_of(number)
            if copy is not None:
                self._kept.pop(number, None)
                self._state.put(replace(copy, result=None, error=""))
        self.compare()

    def result_of(self, number: int) -> CopyResult | None:
        """Return the result with its pictures; if it is no longer kept, it is made again.

        None is returned then, and `detailed` is emitted once it is there.
        """
        if number in self._kept:
            self._kept.move_to_end(number)
            return self._kept[number]
        copy = self._state.copy_of(number)
        original = self._state.original
        if copy is not None and copy.result is not None and original is not None:
            self._jobs.run(
                JobName.COMPARE_DETAILS,
                f"Comparing {copy.name}",
                lambda: _Answer(original, *_compare_one(original, copy)),
                done=self._on_detailed,
            )
        return None

    def _on_detailed(self, answer: _Answer) -> None:
        if answer.result is not None and answer.original is self._state.original:
            self._keep(answer)
            self.detailed.emit(answer.copy.number)
        elif answer.copy.error:
            self._session.say("error", answer.copy.error)

    def _on_reports(self, reports: list[Any]) -> None:
        for report in reports:
            if not isinstance(report, _Answer) or report.original is not self._state.original:
                continue
            if self._state.copy_of(report.copy.number) is None:
                continue
            if report.result is not None:
                self._keep(report)
            else:
                self._session.say("error", report.copy.error, report.copy.path or "")
            self._state.put(report.copy)

    def _keep(self, answer: _Answer) -> None:
        """Keep a result with its pictures, and let go of the oldest ones beyond the limit."""
        assert answer.result is not None
        self._kept[answer.copy.number] = answer.result
        self._kept.move_to_end(answer.copy.number)
        selected = self._state.selected
        spared = {answer.copy.number, selected.number if selected is not None else 0}
        for number in list(self._kept):
            total = sum(_pixels(each) for each in self._kept.values())
            if total <= _KEPT_PIXELS:
                break
            if number not in spared:
                del self._kept[number]

    def _on_original_changed(self) -> None:
        self._kept.clear()
        self._jobs.drop(JobName.COMPARISON, JobName.COMPARE_DETAILS)
        self.compare()

    # --- reports ----------------------------------------------------------------------------------

    def save_report(self, path: str, numbers: Sequence[int]) -> None:
        """Write the report on copies as HTML or PDF; what is not kept is compared again."""
        original = self._state.original
        copies = [copy for number in numbers if (copy := self._state.copy_of(number)) is not None]
        if original is None or not copies:
            self._session.say("warning", "There is nothing to report yet. Compare a copy first.")
            return
        kept = dict(self._kept)
        profile = self._state.profile

        def make() -> Generator[Progress, None, None]:
            from isca_gui.core.comparison import report
            from isca_gui.core.comparison.batch import CopyResult

            parts = []
            for done, copy in enumerate(copies):
                yield Progress(done, len(copies), copy.name)
                result = kept.get(copy.number)
                if result is None:
                    made, result = _compare_one(original, copy)
                    result = result or CopyResult(copy.name, error=made.error)
                parts.append(report.part_of(result, profile))
            if path.lower().endswith(".pdf"):
                from isca_gui.jobs.pdf import save_pdf

                text = report.printed_of(original.name, parts, profile)
                save_pdf(path, f"Copies of {original.name}", text)
            else:
                report.save_parts(path, original.name, parts, profile)

        saved = f"The report was saved as '{path}'."
        self._jobs.start(
            JobName.SAVE_REPORT.of(path),
            "Saving the report",
            make,
            done=lambda _: self._session.say("info", saved),
            writes=True,
        )


# --- the work, in the job's thread ----------------------------------------------------------------


def _compare_all(
    original: Original, copies: Sequence[ComparedCopy]
) -> Generator[Progress | _Answer, None, None]:
    """Compare copies on all cores; each is reported when it is done, in their order."""
    yield Progress(0, len(copies), copies[0].name)
    with Workers(None) as workers:
        results = workers.stream(partial(_compare_one, original), copies)
        for done, (copy, result) in enumerate(results, 1):
            yield _Answer(original, copy, result)
            yield Progress(done, len(copies), copy.name)


def _compare_one(original: Original, copy: ComparedCopy) -> tuple[ComparedCopy, CopyResult | None]:
    """Return a copy with its answer or the reason why there is none, and the whole result."""
    from isca_gui.core.comparison import file_evidence
    from isca_gui.core.comparison.batch import CopyResult
    from isca_gui.core.comparison.compare import compare
    from isca_gui.core.comparison.pair import ComparisonError

    try:
        picture = copy.picture
        says = None
        if picture is None:
            path = samples.resolve(copy.path or "")
            picture = image.read_colour(path)
            says = file_evidence.read(path)
        small = thumbnail(picture) if copy.thumbnail.isNull() else copy.thumbnail
        found = compare(original.picture, picture)
    except ComparisonError as error:
        why = f"Cannot compare '{copy.name}': {error}"
    except (ImageError, MemoryError) as error:
        why = str(error) or f"There is not enough memory to compare '{copy.name}'."
    else:
        result = CopyResult(
            copy.path or copy.name, found, file_says=says, reference=original.picture, copy=picture
        )
        # What makes the answer again holds on to both pictures.
        light = replace(
            result, comparison=replace(found, make_again=None), reference=None, copy=None
        )
        return replace(copy, thumbnail=small, result=light, error=""), result
    return replace(copy, result=None, error=why), None


def _read_original(path: str) -> Original:
    from isca_gui.core.comparison import file_evidence

    place = samples.resolve(path)
    picture = image.read_colour(place)
    says = file_evidence.read(place) or {}
    return Original(_name_of(path), picture, path, thumbnail(picture), str(says.get("format", "")))


def _name_of(path: str) -> str:
    if path.startswith(samples.PREFIX):
        return path.removeprefix(samples.PREFIX)
    return Path(os.fspath(path)).name


def _pixels(result: CopyResult) -> int:
    return result.copy.shape[0] * result.copy.shape[1] if result.copy is not None else 0


def _as_image(picture: Picture) -> Image.Image:
    return Image.fromarray(np.clip(np.rint(picture * 255), 0, 255).astype(np.uint8))


def _as_picture(made: Image.Image) -> Picture:
    return np.asarray(made, np.float32) / np.float32(255)


def thumbnail(picture: Picture) -> QImage:
    """Return a small image of a picture; it may be called in any thread."""
    # Taking every n-th pixel first leaves Qt's smooth scaling little to do.
    every = max(min(picture.shape[:2]) // (2 * THUMBNAIL), 1)
    small = np.asarray(_as_image(picture[::every, ::every]).convert("RGB"))
    small = np.ascontiguousarray(small)
    height, width = small.shape[:2]
    whole = QImage(small.data, width, height, 3 * width, QImage.Format.Format_RGB888)
    return whole.scaled(
        THUMBNAIL,
        THUMBNAIL,
        Qt.AspectRatioMode.KeepAspectRatio,
        Qt.TransformationMode.SmoothTransformation,
    )


def colours(pasted: QImage) -> Picture:
    """Return an image of the clipboard as RGB in [0, 1], as files are; grey where it has none."""
    wide = pasted.convertToFormat(QImage.Format.Format_RGBA8888)
    height, width = wide.height(), wide.width()
    lines = np.frombuffer(wide.constBits(), np.uint8).reshape(height, wide.bytesPerLine())
    channels = lines[:, : 4 * width].reshape(height, width, 4).astype(np.float32) / np.float32(255)
    # What is transparent lies on white.
    rgb = 1 + channels[..., 3:] * (channels[..., :3] - 1)
    if (np.ptp(rgb, axis=2) == 0).all():
        return np.ascontiguousarray(rgb[..., 0])
    return np.ascontiguousarray(rgb)
