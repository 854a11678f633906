"""Training as a whole: how it ends, resuming, threads, stopping in time, and empty data."""

from __future__ import annotations

import contextlib
import gc
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isca_gui.core import parallel
from isca_gui.core.distortion.dataset import Dataset, Entry
from isca_gui.core.model import training
from isca_gui.core.progress import Cancelled, Progress, run
from isca_gui.core.settings import SettingsError, TrainingSettings
from isca_gui.core.solvers import problem
from isca_gui.core.solvers.steps import CONVERGED, MAX_EPOCHS, STOPPED, SolverError, Step

METHODS = (
    {"method": "isca", "solver": "admm"},
    {"method": "isca", "solver": "direct"},
    {"method": "kernel-isca", "solver": "admm", "kernel": "rbf"},
    {"method": "kernel-isca", "solver": "direct", "kernel": "rbf"},
    {"method": "kernel-isca", "kernel": "linear", "metric": "natural"},
    {"method": "kernel-isca", "kernel": "sigmoid"},
    {"method": "pca"},
    {"method": "kernel-pca", "kernel": "linear"},
    {"method": "kernel-pca", "kernel": "rbf"},
    {"method": "random"},
)
# The methods with epochs.
SOLVING = METHODS[:5]


def name(choice):
    return " ".join(map(str, choice.values()))


def pictures(images=6, height=24, width=32, seed=3):
    rng = np.random.default_rng(seed)
    contrast = rng.uniform(0.4, 1.2, (images, 1, 1)).astype(np.float32)
    noise = 0.15 * rng.standard_normal((images, height, width), dtype=np.float32)
    return np.clip(contrast * rng.random((height, width), dtype=np.float32) + noise, 0, 1)


def dataset_of(stack):
    entries = [
        Entry("original" if index == 0 else "blur", 0.0, 0.0, 0.0, 0) for index in range(len(stack))
    ]
    return Dataset(np.asarray(stack, np.float32), tuple(entries))


def train(made, choice, threads=2, resume=None, **more):
    return run(training.train(made, TrainingSettings(**(choice | more)), threads, resume))


def stop_when(task, when):
    """Stop a task once `when(report)` holds; return its result and the seconds it still took."""
    report = next(task)
    while not when(report):
        report = next(task)
    begun = time.perf_counter()
    try:
        while True:
            task.send(True)
    except StopIteration as end:
        return end.value, time.perf_counter() - begun


def at_work():
    """A condition for `stop_when`: within the second epoch."""
    stepped = False

    def when(report):
        nonlocal stepped
        stepped = stepped or isinstance(report, Step)
        return stepped and isinstance(report, Progress)

    return when


def assert_same(first, second):
    """Equal bit by bit."""
    for part in ("u", "v", "j"):
        np.testing.assert_array_equal(getattr(first.state, part), getattr(second.state, part))
    np.testing.assert_array_equal(first.basis, second.basis)
    assert first.state.epoch == second.state.epoch
    figures = [
        [
            (s.epoch, s.error, s.objective, s.primal, s.dual, s.orthonormality, repr(s.gradient))
            for s in m.steps
        ]
        for m in (first, second)
    ]
    assert figures[0] == figures[1]
    if first.kernel is not None:
        np.testing.assert_array_equal(first.kernel.theta, second.kernel.theta)


def assert_finite(model, stack):
    parts = [model.state.u, model.state.v, model.state.j, model.basis, model.transform(stack)]
    if model.kernel is None:
        parts += [model.reconstruct(stack[0]), model.basis_picture("U", 0)]
    else:
        parts.append(model.kernel.theta)
    assert all(np.isfinite(part).all() for part in parts)
    assert all(np.isfinite((s.error, s.objective, s.primal, s.dual)).all() for s in model.steps)


@pytest.fixture(scope="module")
def small():
    return dataset_of(pictures())


@pytest.fixture(scope="module")
def many():
    """Enough blocks for several pieces of work in every solver."""
    return dataset_of(pictures(images=6, height=320, width=328))


@pytest.fixture(scope="module")
def large():
    return dataset_of(pictures(images=121, height=512, width=512))


# ----------------------------------------------------------------------------------------- its ends


@pytest.mark.parametrize("choice", SOLVING, ids=name)
def test_all_epochs_are_run_unless_told_otherwise(small, choice):
    model = train(
        small, choice, epochs=5, tolerance=0 if choice.get("solver") != "direct" else 1e-12
    )
    assert model.end == MAX_EPOCHS
    assert [step.epoch for step in model.steps] == [1, 2, 3, 4, 5]
    assert model.state.epoch == 5


def test_the_papers_epochs_are_the_default():
    made = dataset_of(pictures(images=2, height=8, width=8))
    assert len(train(made, {}).steps) == 200
    assert len(train(made, {"method": "kernel-isca"}).steps) == 100


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-3, 1e-2, 0.1, 0.5])
@pytest.mark.parametrize("images", [1, 2, 6])
def test_converged_means_small_residuals(images, tolerance, precision):
    made = dataset_of(pictures(images=images))
    model = train(
        made, {"epochs": 300, "rho": 10.0, "tolerance": tolerance, "precision": precision}
    )
    before = np.inf
    for step in model.steps:
        small = max(step.primal, step.dual) <= tolerance
        settled = abs(step.objective - before) < tolerance or step.error < tolerance
        before = step.objective
        assert (small and settled) == (model.end == CONVERGED and step is model.steps[-1])
    assert model.end == CONVERGED or len(model.steps) == 300


def test_one_image_converges():
    # At the paper's ρ = 1 and η = 0.1 the columns of V keep changing places; a larger ρ holds them.
    model = train(dataset_of(pictures(images=1)), {"epochs": 2000, "rho": 10.0, "tolerance": 1e-3})
    assert model.end == CONVERGED
    assert max(model.steps[-1].primal, model.steps[-1].dual) <= 1e-3


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("choice", [SOLVING[1], SOLVING[3]], ids=name)
def test_the_direct_solver_converges_by_its_gradient(small, choice, tolerance):
    model = train(small, choice, epochs=3000, tolerance=tolerance, precision="float64")
    assert model.end == CONVERGED
    assert model.steps[-1].gradient < tolerance
    # Every block has to be there, not only their mean.
    before = len(model.steps) - 1
    if before:
        sooner = train(small, choice, epochs=before, tolerance=tolerance, precision="float64")
        assert sooner.end == MAX_EPOCHS


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("components", [1, 4, 9, 16])
@pytest.mark.parametrize("eta", [2.5, 30, 1000])
@pytest.mark.parametrize("method", ["isca", "kernel-isca"])
def test_divergence_is_an_error_that_says_what_to_lower(method, eta, components, precision):
    made = dataset_of(pictures(images=20))
    settings = TrainingSettings(
        method, eta=eta, rho=1.0, components=components, precision=precision, epochs=40
    )
    reports = []
    error = None
    try:
        model = run(training.train(made, settings), reports.append)
    except SolverError as raised:
        error = str(raised)
    steps = [report for report in reports if isinstance(report, Step)]
    assert np.isfinite([(s.error, s.objective, s.primal, s.dual) for s in steps]).all()
    # Kernel ISCA's metric may tame a rate, and then the model must be sound.
    if error is None:
        assert method == "kernel-isca"
        assert eta < 1000
        assert_finite(model, made.pictures)
    else:
        assert f"epoch {len(steps) + 1}." in error
        assert f"Lower the learning rate η (now {eta:g})" in error


# ------------------------------------------------------------------------------ stopped and resumed


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("choice", SOLVING, ids=name)
def test_a_stop_after_an_epoch_keeps_that_epoch(small, choice, precision):
    more = {"precision": precision, "tolerance": 1e-12}
    task = training.train(small, TrainingSettings(**(choice | more), epochs=50), 2)
    model, _ = stop_when(task, lambda report: isinstance(report, Step) and report.epoch == 3)
    assert model.end == STOPPED
    assert_same(model, train(small, choice, epochs=3, **more))


# Methods whose epochs are long enough here to be stopped within one.
WITHIN = [*SOLVING[:2], SOLVING[4], {"method": "isca", "components": 9}]


@pytest.mark.parametrize("choice", WITHIN, ids=name)
def test_a_stop_within_an_epoch_keeps_the_one_before(large, choice):
    quick = choice.get("solver") == "direct"
    made = large if quick else dataset_of(large.pictures[:40, :320, :320])
    steps = []

    def within(report):
        if isinstance(report, Step):
            steps.append(report)
        return isinstance(report, Progress) and bool(steps)

    task = training.train(made, TrainingSettings(**choice, epochs=1000, tolerance=1e-12), 1)
    model, _ = stop_when(task, within)
    assert model.end == STOPPED
    assert model.state.epoch == len(steps)
    assert_same(model, train(made, choice, epochs=len(steps), tolerance=1e-12))


HERE = "here"


@pytest.fixture
def halting(monkeypatch):
    """Let every piece of work for all threads begin with a place to stop, however short it is."""
    each = training.Workers.each

    def slow(workers, work, count, size):
        if (yield Progress(0, count, HERE)):
            raise Cancelled("Stopped here.")
        yield from each(workers, work, count, size)

    monkeypatch.setattr(training.Workers, "each", slow)


def places_to_stop(task):
    """Count the places of `halting` before the first epoch ends; others depend on the machine."""
    with contextlib.closing(task):
        before = itertools.takewhile(lambda report: not isinstance(report, Step), task)
        return sum(report.what == HERE for report in before)


def at_place(number):
    """A condition for `stop_when`: at one of these places."""
    places = itertools.count()
    return lambda report: (
        isinstance(report, Progress) and report.what == HERE and next(places) == number
    )


@pytest.mark.usefixtures("halting")
@pytest.mark.parametrize("choice", [*SOLVING, {"method": "isca", "components": 9}], ids=name)
def test_a_stop_within_the_first_epoch_gives_no_untrained_model(small, choice):
    settings = TrainingSettings(**choice, epochs=3, tolerance=1e-12)
    count = places_to_stop(training.train(small, settings, 1))
    assert count > 1
    for place in range(count):
        with pytest.raises(Cancelled, match=r"no model to keep|kernels were prepared"):
            stop_when(training.train(small, settings, 1), at_place(place))


@pytest.mark.usefixtures("halting")
@pytest.mark.parametrize("choice", SOLVING, ids=name)
def test_a_resumed_training_that_is_stopped_within_an_epoch_keeps_what_it_had(small, choice):
    part = train(small, choice, epochs=2, tolerance=1e-12)
    settings = TrainingSettings(**choice, epochs=5, tolerance=1e-12)
    last = places_to_stop(training.train(small, settings, 1, part)) - 1
    model, _ = stop_when(training.train(small, settings, 1, part), at_place(last))
    assert (model.end, model.state.epoch) == (STOPPED, 2)
    assert_same(model, part)


@pytest.mark.parametrize("choice", SOLVING, ids=name)
def test_a_stop_after_the_last_epoch_is_no_stop(small, choice):
    task = training.train(small, TrainingSettings(**choice, epochs=2, tolerance=1e-12), 2)
    model, _ = stop_when(task, lambda report: isinstance(report, Step) and report.epoch == 2)
    assert model.end == MAX_EPOCHS


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    "choice",
    [
        *SOLVING,
        {"method": "isca", "components": 9},
        {"method": "isca", "solver": "direct", "components": 9},
    ],
    ids=name,
)
def test_a_resumed_training_is_the_uninterrupted_one(small, choice, precision):
    more = {"precision": precision, "tolerance": 0.0}
    whole = train(small, choice, epochs=9, **more)
    part = train(small, choice, epochs=2, **more)
    # The training is interrupted three times.
    for until in (3, 7, 9):
        part = train(small, choice, resume=part, epochs=until, **more)
        assert part.state.epoch == until
    assert_same(part, whole)
    assert part.end == whole.end == MAX_EPOCHS
    seconds = [step.seconds for step in part.steps]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("choice", SOLVING, ids=name)
def test_a_stopped_training_can_be_resumed(many, choice):
    task = training.train(many, TrainingSettings(**choice, epochs=9, tolerance=1e-12), 2)
    part, _ = stop_when(task, lambda report: isinstance(report, Step) and report.epoch == 2)
    resumed = train(many, choice, resume=part, epochs=4, tolerance=1e-12)
    assert_same(resumed, train(many, choice, epochs=4, tolerance=1e-12))


def test_a_resumed_training_converges_where_the_uninterrupted_one_does():
    made = dataset_of(pictures(images=1))
    choice = {"tolerance": 1e-2, "rho": 10.0, "precision": "float64"}
    whole = train(made, choice, epochs=2000)
    assert whole.end == CONVERGED
    last = whole.steps[-1].epoch
    for cut in (1, last // 2, last - 1):
        part = train(made, choice, epochs=cut)
        assert part.end == MAX_EPOCHS
        resumed = train(made, choice, resume=part, epochs=2000)
        assert resumed.end == CONVERGED
        assert_same(resumed, whole)


@pytest.mark.parametrize("choice", SOLVING, ids=name)
def test_nothing_is_left_to_resume_after_the_last_epoch(small, choice):
    model = train(small, choice, epochs=3, tolerance=1e-12)
    again = train(small, choice, resume=model, epochs=3, tolerance=1e-12)
    assert_same(model, again)
    assert again.end == MAX_EPOCHS


def test_only_the_same_training_is_resumed(small):
    model = train(small, {"epochs": 2})
    with pytest.raises(SettingsError, match="another dataset"):
        train(dataset_of(pictures(seed=4)), {"epochs": 3}, resume=model)
    for other in (
        {"seed": 1},
        {"components": 3},
        {"eta": 0.2},
        {"rho": 2.0},
        {"precision": "float64"},
    ):
        with pytest.raises(SettingsError, match=rf"other settings \({next(iter(other))}\)"):
            train(small, {"epochs": 3}, resume=model, **other)
    with pytest.raises(SettingsError, match=r"other settings \(solver"):
        train(small, {"epochs": 3, "solver": "direct"}, resume=model)
    with pytest.raises(SettingsError, match="no epochs"):
        train(small, {"method": "pca"}, resume=model)
    train(small, {"epochs": 3, "tolerance": 0.1, "keep_every": 1}, resume=model)


# ------------------------------------------------------------------------------------------ threads


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    "choice",
    [*METHODS, {"method": "isca", "components": 9}, {"method": "isca", "components": 1}],
    ids=name,
)
def test_the_number_of_threads_changes_nothing(many, choice, precision):
    first, *others = (
        train(many, choice, threads, epochs=2, precision=precision, tolerance=1e-12)
        for threads in (1, 2, 5)
    )
    for other in others:
        assert_same(first, other)
        np.testing.assert_array_equal(
            first.transform(many.pictures[:2]), other.transform(many.pictures[:2])
        )


# ------------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    "choice", [*METHODS[:2], {"method": "pca"}, {"method": "random"}], ids=name
)
def test_blocks_that_do_not_stay_in_memory_change_nothing(many, choice, precision, monkeypatch):
    kept = train(many, choice, epochs=3, precision=precision)
    monkeypatch.setattr(problem, "_IN_MEMORY", 0)
    assert_same(kept, train(many, choice, epochs=3, precision=precision))


# --------------------------------------------------------------------------------- stopping in time

# Seconds.
LIMIT = 0.1
# Other processes may take the processor away once, but hardly three times.
TRIES = 3


def answer(made, choice, when):
    """The shortest time from telling a training to stop to its end."""
    shortest = np.inf
    for _ in range(TRIES):
        task = training.train(made, TrainingSettings(**choice), 2)
        gc.collect()
        model, seconds = stop_when(task, when())
        assert model.end == STOPPED
        shortest = min(shortest, seconds)
        if shortest < LIMIT:
            break
    return shortest


def after_an_epoch():
    return lambda report: isinstance(report, Step)


@pytest.mark.alone
@pytest.mark.parametrize("when", [after_an_epoch, at_work])
@pytest.mark.parametrize("solver", ["admm", "direct"])
def test_a_stop_is_answered_within_a_tenth_of_a_second(large, solver, when):
    assert answer(large, {"solver": solver}, when) < LIMIT


@pytest.mark.alone
@pytest.mark.parametrize(("components", "side"), [(16, 512), (48, 192)])
@pytest.mark.parametrize("solver", ["admm", "direct"])
def test_a_stop_is_answered_with_many_components_too(large, solver, components, side):
    made = dataset_of(large.pictures[:31, :side, :side])
    choice = {"solver": solver, "components": components}
    assert answer(made, choice, at_work) < LIMIT


@pytest.mark.alone
def test_a_stop_is_answered_while_kernels_are_prepared(large):
    shortest = np.inf
    for _ in range(TRIES):
        task = training.train(large, TrainingSettings("kernel-isca", kernel="rbf"), 2)
        for _ in range(8):
            assert isinstance(next(task), Progress)
        begun = time.perf_counter()
        with pytest.raises(Cancelled, match="no model"):
            task.send(True)
        shortest = min(shortest, time.perf_counter() - begun)
    assert shortest < LIMIT


@pytest.mark.alone
def test_a_stop_is_answered_in_kernel_isca(large):
    choice = {"method": "kernel-isca", "kernel": "linear"}
    assert answer(large, choice, after_an_epoch) < LIMIT


@pytest.mark.alone
@pytest.mark.parametrize("choice", [*METHODS[:3], METHODS[6]], ids=name)
def test_there_is_a_place_to_stop_every_tenth_of_a_second(large, choice):
    made = dataset_of(large.pictures[:, :256, :256]) if "kernel" in choice else large
    shortest = np.inf
    for _ in range(TRIES):
        gc.collect()
        task = training.train(made, TrainingSettings(**choice, epochs=3, tolerance=1e-12), 2)
        longest, begun = 0.0, time.perf_counter()
        for _ in task:
            now = time.perf_counter()
            longest, begun = max(longest, now - begun), now
        shortest = min(shortest, max(longest, time.perf_counter() - begun))
        if shortest < LIMIT:
            break
    assert shortest < LIMIT


@pytest.mark.parametrize("method", ["pca", "kernel-pca", "random"])
def test_a_stopped_baseline_gives_no_unfinished_model(large, method):
    # Filled memory is handed out again: what was never written is then seen to be so.
    made = dataset_of(large.pictures[:60])
    rubbish = [np.full((4096, 64, 4), np.nan, np.float32) for _ in range(8)]
    del rubbish
    task = training.train(made, TrainingSettings(method), 1)
    try:
        model, _ = stop_when(task, lambda report: True)
    except Cancelled:
        return
    assert_finite(model, made.pictures[:1])


@pytest.mark.alone
def test_closing_a_training_ends_its_threads(large):
    task = training.train(large, TrainingSettings(), 2)
    next(task)
    begun = time.perf_counter()
    task.close()
    assert time.perf_counter() - begun < 0.5


# ------------------------------------------------------------------------------ nothing in the data


def degenerate(kind, images, height, width):
    stack = pictures(images, height, width)
    if kind == "black":
        stack[:] = 0
    elif kind == "white":
        stack[:] = 1
    elif kind == "flat":
        stack[:] = np.float32(0.3)
    elif kind == "flat per image":
        stack[:] = np.linspace(0, 1, images, dtype=np.float32)[:, None, None]
    elif kind == "constant over images":
        stack[:] = stack[0]
    elif kind == "some of each":
        stack[:, :8] = 0
        stack[:, 8:16, :8] = 1
        stack[:, 8:16, 8:16] = stack[0, 8:16, 8:16]
        stack[::2, 16:] = 0
    elif kind == "binary":
        stack = (stack > 0.5).astype(np.float32)
    elif kind == "faint":
        stack = np.float32(0.5) + np.float32(1e-6) * stack
    elif kind == "nearly black":
        stack = np.float32(1e-20) * stack
    elif kind == "a single dot":
        stack[:] = 0
        stack[0, 0, 0] = 1
    return stack


KINDS = (
    "black",
    "white",
    "flat",
    "flat per image",
    "constant over images",
    "some of each",
    "binary",
    "faint",
    "nearly black",
    "a single dot",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", METHODS, ids=name)
def test_blocks_with_nothing_in_them_train_to_finite_models(choice, kind):
    stack = degenerate(kind, 6, 24, 32)
    for precision in ("float32", "float64"):
        for components in (4, 9):
            model = train(
                dataset_of(stack), choice, epochs=3, precision=precision, components=components
            )
            assert_finite(model, stack)


@pytest.mark.parametrize("choice", METHODS, ids=name)
@pytest.mark.parametrize(
    ("images", "height", "width", "block", "components"),
    [
        (5, 24, 24, 2, 4),  # p = q
        (5, 24, 24, 3, 9),
        (1, 24, 24, 8, 4),  # a single image
        (1, 24, 24, 3, 9),
        (2, 24, 24, 8, 4),
        (5, 8, 8, 8, 4),  # one block
        (5, 5, 3, 8, 4),  # less than one
        (5, 1, 1, 2, 1),
        (5, 23, 17, 8, 4),  # odd sizes
        (3, 40, 33, 32, 4),
    ],
)
def test_unusual_sizes_train_to_finite_models(choice, images, height, width, block, components):
    stack = pictures(images, height, width)
    more = {"block": block, "components": components, "epochs": 3}
    for precision in ("float32", "float64"):
        model = train(dataset_of(stack), choice, precision=precision, **more)
        assert model.end in (MAX_EPOCHS, CONVERGED)
        assert_finite(model, stack)


@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(
    choice=st.sampled_from(METHODS),
    kind=st.sampled_from((*KINDS, "usual")),
    images=st.integers(1, 5),
    height=st.integers(1, 20),
    width=st.integers(1, 20),
    size=st.sampled_from(
        ((2, 1), (2, 3), (2, 4), (3, 4), (3, 9), (4, 8), (4, 16), (8, 4), (8, 9), (16, 4))
    ),
    precision=st.sampled_from(("float32", "float64")),
    seed=st.integers(0, 3),
)
def test_no_arithmetic_goes_wrong(choice, kind, images, height, width, size, precision, seed):
    stack = degenerate(kind, images, height, width)
    more = {
        "block": size[0],
        "components": size[1],
        "precision": precision,
        "seed": seed,
        "epochs": 2,
    }
    # Squares of 1e-20 are zero in float32, and rightly so beside c: only there may numbers vanish.
    strict = {"all": "raise", "under": "ignore" if kind == "nearly black" else "raise"}
    # NumPy's error state belongs to a thread, so that the workers have to be told as well.
    pool = partial(ThreadPoolExecutor, initializer=partial(np.seterr, **strict))
    with pytest.MonkeyPatch.context() as patch, np.errstate(**strict):
        patch.setattr(parallel, "ThreadPoolExecutor", pool)
        model = train(dataset_of(stack), choice, **more)
        assert_finite(model, stack)
