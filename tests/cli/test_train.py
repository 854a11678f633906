"""`isca train`: every method, stopping and resuming, messages and refusals."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from isca_gui import cli
from isca_gui.cli import train as command
from isca_gui.core import settings
from isca_gui.core.distortion import dataset_folder
from isca_gui.core.distortion.dataset import generate
from isca_gui.core.distortion.dataset_spec import DatasetSpec
from isca_gui.core.model import model_file, training
from isca_gui.core.model.model_file import load_model, save_model
from isca_gui.core.pictures import image
from isca_gui.core.progress import Cancelled, Progress, run
from isca_gui.core.recognition import half_precision
from isca_gui.core.recognition.recogniser import Recogniser
from isca_gui.core.settings import TrainingSettings
from isca_gui.core.solvers import kernels
from isca_gui.core.solvers.steps import SolverError, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from commands import Done

    from isca_gui.core.model.model import Model

ISCA = [sys.executable, "-m", "isca_gui.cli"]
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals or terminals")
KEYS = [
    "file",
    "method",
    "solver",
    "kernel",
    "settings",
    "end",
    "epochs",
    "error",
    "objective",
    "primal",
    "dual",
    "gradient",
    "seconds",
    "bytes",
]
FOR_EVER = ("--epochs", "1000000")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset folder: 64×64, every distortion at two levels."""
    folder = tmp_path_factory.mktemp("data")
    rows, columns = np.mgrid[:64, :64]
    noise = np.random.default_rng(5).random((64, 64))
    grey = (0.5 + 0.23 * np.sin(rows / 5) * np.cos(columns / 7) + 0.2 * (noise - 0.5)).astype(
        np.float32
    )
    made = run(generate(grey, DatasetSpec(levels=(100.0, 400.0))))
    run(dataset_folder.save(made, folder / "set"))
    Image.fromarray(np.rint(grey * 255).astype(np.uint8)).save(folder / "picture.png")
    return folder / "set"


def document(done: Done) -> dict[str, Any]:
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


CHILDREN: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def _no_child_is_left() -> Iterator[None]:
    """Kill a process that a failed test has left: it would train forever beside all other tests."""
    yield
    while CHILDREN:
        with CHILDREN.pop() as child:
            child.kill()


def start(*words: str | Path, **options: Any) -> subprocess.Popen[str]:
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    CHILDREN.append(
        subprocess.Popen([*ISCA, *map(str, words)], text=True, encoding="utf-8", **given)
    )
    return CHILDREN[-1]


def wait_for(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"it ended without saying '{words}'")


def assert_same_training(first: Model, second: Model) -> None:
    """Compare all but the seconds, which no two trainings share."""
    assert (first.settings, first.end, first.dataset) == (
        second.settings,
        second.end,
        second.dataset,
    )
    assert (first.state.epoch, first.state.objective) == (
        second.state.epoch,
        second.state.objective,
    )
    timeless = [
        [repr(replace(step, seconds=0.0)) for step in model.steps] for model in (first, second)
    ]
    assert timeless[0] == timeless[1]
    for name in ("u", "v", "j"):
        assert getattr(first.state, name).tobytes() == getattr(second.state, name).tobytes(), name
    for field in fields(first.kernel) if first.kernel is not None else ():
        assert np.array_equal(getattr(first.kernel, field.name), getattr(second.kernel, field.name))


# --- training ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", settings.SOLVERS)
@pytest.mark.parametrize("method", settings.METHODS)
def test_every_method_and_solver(
    data: Path, isca: Callable[..., Done], method: str, solver: str
) -> None:
    words = ("--method", method, "--solver", solver, "--epochs", "3", "--seed", "4")
    done = isca("train", data, "-o", "m.isca", *words)
    assert done.code == 0, done.err
    assert done.out.startswith(f"m.isca: {method}, ")
    assert done.out.count("\n") == 1
    model = load_model("m.isca")
    assert (model.settings.method, model.settings.solver, model.settings.seed) == (
        method,
        solver,
        4,
    )
    assert model.dataset == run(dataset_folder.load(data)).digest()
    assert model.state.epoch == (3 if method in ("isca", "kernel-isca") else 1)
    assert model.steps[-1].objective < 0.9
    assert os.listdir() == ["m.isca"]


@pytest.mark.parametrize("kernel", kernels.KERNELS)
def test_every_kernel(data: Path, isca: Callable[..., Done], kernel: str) -> None:
    words = (
        "--kernel",
        kernel,
        "--gamma",
        "0.5",
        "--coef0",
        "-1",
        "--degree",
        "2",
        "--metric",
        "natural",
    )
    done = isca("train", data, "-o", "m.isca", "--method", "kernel-isca", "--epochs", "2", *words)
    assert done.code == 0, done.err
    found = load_model("m.isca").settings
    assert (found.kernel, found.gamma, found.coef0, found.degree) == (kernel, 0.5, -1.0, 2)


def test_all_numbers_reach_the_training(data: Path, isca: Callable[..., Done]) -> None:
    words = "--components 3 --block 16 --epochs 2 --rho 0.5 --eta 0.05 --tol 0.001".split()
    words += ["--precision", "float64", "--seed", "9"]
    assert isca("train", data, "-o", "m.isca", *words).code == 0
    wanted = TrainingSettings(
        components=3,
        block=16,
        epochs=2,
        rho=0.5,
        eta=0.05,
        tolerance=0.001,
        precision="float64",
        seed=9,
    )
    assert load_model("m.isca").settings == wanted.resolved()


def test_a_picture_in_place_of_a_dataset(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("train", data.parent / "picture.png", "-o", "m.isca", "--method", "pca")
    assert done.code == 0, done.err
    assert "dataset: distorting" in done.err
    made = run(generate(image.read(data.parent / "picture.png"), DatasetSpec()))
    assert load_model("m.isca").dataset == made.digest()


def test_the_number_of_threads_changes_nothing(data: Path, isca: Callable[..., Done]) -> None:
    for threads in ("1", "3"):
        assert (
            isca("train", data, "-o", f"{threads}.isca", "--epochs", "3", "--threads", threads).code
            == 0
        )
    assert_same_training(load_model("1.isca"), load_model("3.isca"))


@pytest.mark.parametrize("method", ["isca", "kernel-isca"])
@pytest.mark.parametrize("solver", ["admm", "direct"])
def test_json(data: Path, isca: Callable[..., Done], method: str, solver: str) -> None:
    words = ("--method", method, "--solver", solver, "--epochs", "2", "--json")
    done = isca("train", data, "-o", "m.isca", *words)
    found = document(done)
    assert done.err == ""
    assert list(found) == KEYS
    assert (found["file"], found["method"], found["solver"]) == ("m.isca", method, solver)
    assert found["kernel"] == ("linear" if method == "kernel-isca" else None)
    assert found["settings"] == vars(load_model("m.isca").settings)
    assert (found["end"], found["epochs"]) == ("max_epochs", 2)
    assert (found["gradient"] is None) == (solver == "admm")
    assert found["bytes"] == Path("m.isca").stat().st_size
    assert found["objective"] == load_model("m.isca").steps[-1].objective


def test_a_model_is_described(data: Path, isca: Callable[..., Done]) -> None:
    isca("train", data, "-o", "m.isca", "--method", "kernel-pca", "--kernel", "rbf")
    found = command.describe_model("m.isca")
    assert list(found) == [
        "kind",
        *KEYS,
        "width",
        "height",
        "blocks",
        "dataset",
        "classes",
        "can_classify",
    ]
    assert found["classes"] == {"original": 1, **dict.fromkeys(DatasetSpec().kinds, 2)}
    assert found["can_classify"] is True
    assert (found["kind"], found["solver"], found["kernel"], found["blocks"]) == (
        "model",
        None,
        "rbf",
        64,
    )
    json.dumps(found, allow_nan=False)


def test_a_diverging_training_fails_with_a_hint(data: Path, isca: Callable[..., Done]) -> None:
    done = isca("train", data, "-o", "m.isca", "--eta", "900", "--rho", "1000")
    assert done.code == 1
    assert re.search(r"isca: The training diverged in epoch \d+\. Lower", done.err)
    assert os.listdir() == []


# --- going on ----------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", settings.PRECISIONS)
@pytest.mark.parametrize("solver", settings.SOLVERS)
@pytest.mark.parametrize("method", ["isca", "kernel-isca"])
def test_resumed_equals_uninterrupted(
    data: Path, isca: Callable[..., Done], method: str, solver: str, precision: str
) -> None:
    words = ("--method", method, "--solver", solver, "--precision", precision, "--components", "3")
    assert isca("train", data, "-o", "whole.isca", *words, "--epochs", "7").code == 0
    assert isca("train", data, "-o", "part.isca", *words, "--epochs", "3").code == 0
    first = Path("part.isca").read_bytes()
    done = isca(
        "train", data, "-o", "rest.isca", "--resume", "part.isca", "--epochs", "7", "--threads", "1"
    )
    assert done.code == 0, done.err
    assert Path("part.isca").read_bytes() == first
    assert_same_training(load_model("whole.isca"), load_model("rest.isca"))


def test_resuming_may_replace_the_model_itself(data: Path, isca: Callable[..., Done]) -> None:
    assert isca("train", data, "-o", "m.isca", "--epochs", "2").code == 0
    assert isca("train", data, "-o", "m.isca", "--epochs", "4", "--resume", "m.isca").code == 0
    assert [step.epoch for step in load_model("m.isca").steps] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--eta", "0.2"], "other settings (eta)"),
        (["--solver", "direct"], "other settings (solver"),
        (["--method", "pca"], "pca has no epochs to continue"),
        ([], "has already run 2 epochs; ask for more"),
        (["--epochs", "1"], "has already run 2 epochs; ask for more"),
    ],
)
def test_what_cannot_be_resumed(
    data: Path, isca: Callable[..., Done], words: list[str], message: str
) -> None:
    assert isca("train", data, "-o", "m.isca", "--epochs", "2").code == 0
    done = isca("train", data, "-o", "n.isca", "--resume", "m.isca", *words)
    assert done.code == 2
    assert message in done.err
    assert not Path("n.isca").exists()


def test_a_converged_model_is_not_resumed_to_the_same_end(
    data: Path, isca: Callable[..., Done]
) -> None:
    direct = ("--solver", "direct", "--tol", "0.05", "--epochs", "150")
    assert isca("train", data, "-o", "m.isca", *direct).code == 0
    assert load_model("m.isca").end == "converged"
    done = isca("train", data, "-o", "n.isca", "--resume", "m.isca")
    assert done.code == 2
    assert "has converged; ask for a lower tolerance" in done.err
    assert isca("train", data, "-o", "n.isca", "--resume", "m.isca", "--tol", "0.02").code == 0


def test_another_dataset_is_not_resumed(data: Path, isca: Callable[..., Done]) -> None:
    assert isca("train", data, "-o", "m.isca", "--epochs", "2").code == 0
    save_model("m.isca", replace(load_model("m.isca"), dataset="0" * 64))
    done = isca("train", data, "-o", "n.isca", "--resume", "m.isca", "--epochs", "3")
    assert done.code == 2
    assert "another dataset" in done.err


# --- wrong use ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["-o", "m.isca", "--method", "magic"], 2, "method must be one of isca"),
        (["-o", "m.isca", "--solver", "magic"], 2, "solver must be one of admm"),
        (
            ["-o", "m.isca", "--method", "kernel-isca", "--kernel", "magic"],
            2,
            "kernel must be one of linear",
        ),
        (["-o", "m.isca", "--precision", "float16"], 2, "precision must be one of"),
        (["-o", "m.isca", "--components", "0"], 2, "components must be 1 to 64"),
        (["-o", "m.isca", "--components", "65"], 2, "components must be 1 to 64"),
        (["-o", "m.isca", "--block", "1"], 2, "block side must be 2 to 64"),
        (["-o", "m.isca", "--epochs", "0"], 2, "epochs must be between 1"),
        (["-o", "m.isca", "--epochs", "few"], 2, "'few' is not a whole number"),
        (["-o", "m.isca", "--rho", "nan"], 2, "rho must be between"),
        (["-o", "m.isca", "--eta", "-1"], 2, "eta must be between"),
        (["-o", "m.isca", "--tol", "2"], 2, "tolerance must be between"),
        (["-o", "m.isca", "--seed", "-1"], 2, "seed must be a whole number"),
        (["-o", "m.isca", "--threads", "0"], 2, "less than 1"),
        (["-o", "m.isca", "--kernel", "rbf"], 2, "--kernel does not apply to isca"),
        (["-o", "m.isca", "--method", "pca", "--gamma", "1"], 2, "--gamma does not apply to pca"),
        (["-o", "m.safetensors"], 2, "must end in .isca"),
        ([], 2, "required: -o/--output"),
        (["-o", "none/m.isca"], 1, "no folder 'none'"),
        (["-o", "m.isca", "--resume", "none.isca"], 1, "Cannot read model file 'none.isca'"),
    ],
)
def test_wrong_use(
    data: Path, isca: Callable[..., Done], words: list[str], code: int, message: str
) -> None:
    done = isca("train", data, *words)
    assert done.code == code
    assert message in done.err
    assert "Traceback" not in done.err
    assert os.listdir() == []


def test_no_model_is_written_into_the_dataset(data: Path, isca: Callable[..., Done]) -> None:
    before = sorted(os.listdir(data))
    for words in ((data,), (data.parent / "picture.png", "--overwrite")):
        done = isca("train", *words, "-o", data / "m.isca", "--epochs", "1")
        assert (done.code, "is inside the dataset folder" in done.err) == (2, True)
    assert sorted(os.listdir(data)) == before


def test_a_link_to_nowhere_is_refused_before_the_training(
    data: Path, isca: Callable[..., Done]
) -> None:
    Path("latest.isca").symlink_to("not-mounted/m.isca")
    done = isca("train", data / "set", "-o", "latest.isca", "--method", "pca")
    assert (done.code, "there is no folder" in done.err, "done" in done.err) == (1, True, False)


def test_what_is_no_dataset(data: Path, isca: Callable[..., Done]) -> None:
    Path("empty").mkdir()
    Path("m.isca").write_text("no model", encoding="utf-8")
    for name in ("none", "empty", "m.isca", "sample:none"):
        done = isca("train", name, "-o", "n.isca")
        assert done.code == 1, name
        assert done.err.startswith("isca: "), name
    done = isca("train", data, "-o", "n.isca", "--resume", "m.isca")
    assert (done.code, "not a valid model file" in done.err) == (1, True)


def test_a_model_that_stands_there_is_replaced_only_on_request(
    data: Path, isca: Callable[..., Done]
) -> None:
    Path("m.isca").write_text("precious", encoding="utf-8")
    done = isca("train", data, "-o", "m.isca", "--epochs", "1")
    assert done.code == 1
    assert "use --overwrite" in done.err
    assert Path("m.isca").read_text(encoding="utf-8") == "precious"
    assert isca("train", data, "-o", "m.isca", "--epochs", "1", "--overwrite").code == 0
    assert load_model("m.isca").state.epoch == 1


def test_a_model_that_came_while_it_trained_stays(
    data: Path, isca: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = training.train

    def slow(*words: Any) -> Any:
        Path("m.isca").write_text("another's", encoding="utf-8")
        Path("m-2.isca").write_text("and his second", encoding="utf-8")
        return real(*words)

    monkeypatch.setattr(training, "train", slow)
    told = document(isca("train", data, "-o", "m.isca", "--epochs", "1", "--json"))
    assert told["file"] == "m-3.isca"
    assert load_model("m-3.isca").state.epoch == 1
    assert Path("m.isca").read_text(encoding="utf-8") == "another's"
    done = isca("train", data, "-o", "m.isca", "--epochs", "1", "--overwrite")
    assert (done.code, done.err.count("in the meantime")) == (0, 0)
    assert load_model("m.isca").state.epoch == 1


def test_help_names_what_there_is(isca: Callable[..., Done]) -> None:
    text = re.sub(r"\s+", " ", isca("train", "--help").out)
    choices = (
        settings.METHODS,
        settings.SOLVERS,
        kernels.KERNELS,
        settings.METRICS,
        settings.PRECISIONS,
    )
    assert not [name for names in choices for name in names if not re.search(rf"\b{name}\b", text)]


def test_every_option_is_a_setting() -> None:
    named = {field for _, field, _, _ in command.OPTIONS}
    assert named == {field.name for field in fields(TrainingSettings)} - {"keep_every"}


def test_every_error_with_an_exit_code_exists() -> None:
    for name in cli._EXIT_CODES:
        module, _, kind = name.rpartition(".")
        found = getattr(importlib.import_module(module), kind)
        assert f"{found.__module__}.{found.__qualname__}" == name
    assert cli._exit_code(SolverError("x")) == cli._exit_code(FileNotFoundError("x")) == 1
    assert cli._exit_code(Cancelled("x")) == 130
    assert cli._exit_code(model_file.ModelFileError("x")) == 1
    assert cli._exit_code(KeyError("x")) is None


# --- what it says while it works ---------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until a test moves it."""
    now = [100.0]
    monkeypatch.setattr(command.time, "monotonic", lambda: now[0])
    return now


def test_the_time_left_is_that_of_the_rate_measured(clock: list[float]) -> None:
    pace = command.Pace(TrainingSettings(epochs=50))
    assert str(pace) == "preparing the solver"
    pace.update(Progress(1, 8))
    assert str(pace) == "preparing the solver, 1 of 8"
    # The compiler takes 13 seconds.
    clock[0] += 13
    pace.update(Step(1, 0.5, 0.6))
    assert str(pace) == "epoch 1 of 50, error 0.5000, objective 0.6000"
    clock[0] += 2
    pace.update(Progress(4, 8))
    assert pace.seconds_left() == pytest.approx(48.5 * 4)
    clock[0] += 2
    pace.update(Step(2, 0.25, 0.4))
    assert str(pace) == "epoch 2 of 50, error 0.2500, objective 0.4000, about 3 min 12 s left"
    clock[0] += 4 * 47
    pace.update(Step(49, 0.1, 0.2))
    assert str(pace).endswith(", about 4 s left")
    pace.update(Step(50, 0.1, 0.2))
    assert str(pace) == "epoch 50 of 50, error 0.1000, objective 0.2000"


def test_with_a_tolerance_the_time_left_is_a_bound(clock: list[float]) -> None:
    pace = command.Pace(TrainingSettings(epochs=10_001, tolerance=1e-4))
    pace.update(Step(1, 0.5, 0.6))
    clock[0] += 1
    pace.update(Step(2, 0.5, 0.6))
    assert str(pace).endswith(", at most 2 h 46 min left")


def test_a_resumed_training_measures_its_own_epochs(clock: list[float]) -> None:
    pace = command.Pace(TrainingSettings(epochs=200))
    pace.update(Step(101, 0.5, 0.6))
    clock[0] += 2
    pace.update(Step(102, 0.5, 0.6))
    assert pace.seconds_left() == pytest.approx(98 * 2)


def test_lines_come_every_two_seconds(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    def task() -> Generator[Step | Progress, bool | None, str]:
        for epoch in range(1, 101):
            clock[0] += 0.25
            yield Step(epoch, 0.5, 0.6)
        return "model"

    with command.StopAndKeep() as stop:
        found = command.run_training(task(), TrainingSettings(epochs=100), stop)  # type: ignore[arg-type]
    lines = capsys.readouterr().err.splitlines()
    assert found == "model"
    assert lines[:2] == [
        "train: preparing the solver",
        "train: epoch 1 of 100, error 0.5000, objective 0.6000",
    ]
    assert [int(line.split()[2]) for line in lines[1:]] == list(range(1, 101, 8))


@POSIX
def test_plain_lines_where_there_is_no_terminal(data: Path, tmp_path: Path) -> None:
    with start("train", data, "-o", "m.isca", "--epochs", "3", cwd=tmp_path) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out.startswith("m.isca: isca, ran 3 epochs, error 0.")
    lines = [line for line in err.splitlines() if line.startswith("train:")]
    assert lines[0] == "train: preparing the solver"
    assert re.fullmatch(r"train: epoch 1 of 3, error 0\.\d{4}, objective 0\.\d{4}", lines[-1])
    assert "\x1b" not in err


@POSIX
def test_a_bar_on_a_terminal(data: Path, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "150", "TERM": "xterm"}
    process = start(
        "train",
        data,
        "-o",
        "m.isca",
        "--epochs",
        "2000",
        cwd=tmp_path,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        seen += part
    out, _ = process.communicate(timeout=60)
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;]*m", "", seen.decode())
    assert (process.returncode, out[:27]) == (0, "m.isca: isca, ran 2000 epoc")
    assert "preparing the solver" in text
    assert re.search(
        r"train: ━+.*epoch \d+ of 2000, error 0\.\d{4}, objective 0\.\d{4}, about \d+ s left", text
    )


@POSIX
def test_nobody_listening_stops_no_training(data: Path, tmp_path: Path) -> None:
    line = f"'{sys.executable}' -m isca_gui.cli train '{data}' -o m.isca --epochs 3 --json 2>&-"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, json.loads(done.stdout)["epochs"]) == (0, 3)


# --- stopping ----------------------------------------------------------------------------------


@pytest.fixture
def handlers() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    yield
    assert [signal.getsignal(number) for number in numbers] == before


@POSIX
@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_leaves(number: signal.Signals) -> None:
    with command.StopAndKeep() as stop:
        assert not stop.asked
        os.kill(os.getpid(), number)
        # Some shells and wrappers send the signal of one key twice.
        os.kill(os.getpid(), number)
        assert stop.asked
        time.sleep(0.35)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)


@POSIX
def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with command.StopAndKeep() as stop:
            os.kill(os.getpid(), signal.SIGINT)
            assert not stop.asked
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.alone
@POSIX
@pytest.mark.parametrize("solver", settings.SOLVERS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_and_keep(
    data: Path, isca: Callable[..., Done], tmp_path: Path, number: signal.Signals, solver: str
) -> None:
    words = ("--solver", solver, *FOR_EVER, *(("--tol", "1e-15") if solver == "direct" else ()))
    process = start("train", data, "-o", "m.isca", *words, cwd=tmp_path)
    wait_for(process, "train: epoch")
    time.sleep(0.2)
    process.send_signal(number)
    asked = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - asked < 5
    assert process.returncode == 0, err
    assert "train: stopping; press Ctrl-C again to quit without saving" in err
    model = load_model("m.isca")
    assert model.end == "stopped"
    assert model.state.epoch == model.steps[-1].epoch > 0
    first, second = out.splitlines()
    assert first == f"stopped; m.isca contains the model of epoch {model.state.epoch} of 1000000"
    assert second == f"to continue: isca train {data} -o m.isca --resume m.isca"
    assert os.listdir() == ["m.isca"]
    more = str(model.state.epoch + 2)
    assert isca("train", data, "-o", "on.isca", "--resume", "m.isca", "--epochs", more).code == 0
    assert isca("train", data, "-o", "whole.isca", *words, "--epochs", more).code == 0
    assert_same_training(load_model("on.isca"), load_model("whole.isca"))


def test_the_command_to_go_on_can_be_typed_as_it_is(
    isca: Callable[..., Done], tmp_path: Path
) -> None:
    ramp = np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16)
    Image.fromarray(ramp).save(tmp_path / "-signed.tiff")
    words = ("train", "--range=-1:1", "-o-m.isca", *FOR_EVER, "--", "-signed.tiff")
    process = start(*words, cwd=tmp_path)
    wait_for(process, "train: epoch")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    command = out.splitlines()[1].removeprefix("to continue: isca ")
    more = str(load_model("-m.isca").state.epoch + 1)
    assert isca(*shlex.split(command), "--epochs", more).code == 0, err


@POSIX
def test_a_stopped_training_as_json(
    data: Path, isca: Callable[..., Done], monkeypatch: pytest.MonkeyPatch
) -> None:
    train = training.train

    def stopped(*words: Any) -> Generator[Any, bool | None, Model]:
        task, answer = train(*words), None
        while True:
            try:
                report = task.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(report, Step) and report.epoch == 2:
                os.kill(os.getpid(), signal.SIGINT)
            answer = yield report

    monkeypatch.setattr(training, "train", stopped)
    done = isca("train", data, "-o", "m.isca", *FOR_EVER, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["end"] == "stopped"
    assert load_model("m.isca").state.epoch >= 2


# Sends the process signals at given points of a training: the second long enough after the first.
SIGNAL_TWICE = """
import os, signal, sys, time
from isca_gui import cli
from isca_gui.core.model import model_file as archive
from isca_gui.core.model import training
where, train, save = sys.argv[1], training.train, archive.save_model

def interrupt():
    time.sleep(0.4)
    os.kill(os.getpid(), signal.SIGINT)

def training_that_is_slow_to_stop(*words):
    task, answer = train(*words), None
    while True:
        try:
            report = task.send(answer)
        except StopIteration as end:
            return end.value
        if isinstance(report, training.Step) and report.epoch == 2:
            interrupt()
        answer = yield report
        if answer and where == "training":
            interrupt()

def saving_that_is_slow(*words):
    if where.startswith("saving"):
        interrupt()
    save(*words)

training.train = training_that_is_slow_to_stop if where != "saving once" else train
archive.save_model = saving_that_is_slow
sys.exit(cli.main(sys.argv[2:]))
"""


@POSIX
@pytest.mark.parametrize("where", ["training", "saving"])
def test_a_second_signal_leaves_without_saving(data: Path, tmp_path: Path, where: str) -> None:
    words = [
        sys.executable,
        "-c",
        SIGNAL_TWICE,
        where,
        "train",
        str(data),
        "-o",
        "m.isca",
        "--epochs",
        "50",
    ]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-1] == "isca: stopped; no incomplete files are left behind"
    assert list(tmp_path.iterdir()) == []


@POSIX
def test_a_signal_while_a_whole_training_is_saved_loses_nothing(data: Path, tmp_path: Path) -> None:
    words = [
        sys.executable,
        "-c",
        SIGNAL_TWICE,
        "saving once",
        "train",
        str(data),
        "-o",
        "m.isca",
        "--epochs",
        "3",
    ]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert load_model(tmp_path / "m.isca").end == "max_epochs"


@pytest.mark.parametrize("method", ["isca", "kernel-isca", "random"])
def test_stopped_before_the_first_epoch_there_is_nothing_to_keep(
    data: Path, isca: Callable[..., Done], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    class Asked(command.StopAndKeep):
        def __init__(self) -> None:
            super().__init__()
            self.asked = True

    def slow(
        workers: Any, work: Any, count: int, size: int
    ) -> Generator[Progress, bool | None, None]:
        if (yield Progress(0, 1)):
            raise Cancelled("Stopped here.")

    monkeypatch.setattr(training.Workers, "each", slow)
    monkeypatch.setattr(command, "StopAndKeep", Asked)
    done = isca("train", data, "-o", "m.isca", "--method", method)
    assert done.code == 130
    assert "there is no model to keep" in done.err
    assert os.listdir() == []


# --- compact models ----------------------------------------------------------------------------


def test_a_compact_kernel_model_is_smaller_and_says_the_same(
    isca: Callable[..., Done], data: Path
) -> None:
    words = (data, "--method", "kernel-isca", "--kernel", "rbf", "--epochs", "3", "--json")
    whole = json.loads(isca("train", *words, "-o", "whole.isca").out)
    small = json.loads(isca("train", *words, "-o", "small.isca", "--compact").out)
    first, second = load_model("whole.isca"), load_model("small.isca")
    assert first.kernel is not None
    assert second.kernel is not None
    pictures = first.kernel.pictures
    assert second.kernel.pictures.dtype == np.float16
    np.testing.assert_array_equal(second.kernel.pictures, pictures.astype(np.float16))
    assert small["bytes"] < whole["bytes"] - 1.9 * pictures.size
    one, other = Recogniser(first), Recogniser(second)
    for index in range(len(pictures)):
        assert one.leave_one_out(index).verdict.label == other.leave_one_out(index).verdict.label
        shown = other.recognise(pictures[index]).verdict
        assert shown.label == one.recognise(pictures[index]).verdict.label


def test_the_command_to_go_on_makes_the_model_small_as_was_asked_for(
    isca: Callable[..., Done], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = command.run_training
    with monkeypatch.context() as patch:
        patch.setattr(
            command, "run_training", lambda *a, **k: replace(whole(*a, **k), end="stopped")
        )
        words = ("--method", "kernel-isca", "--kernel", "rbf", "--epochs", "2")
        done = isca("train", data, "-o", "m.isca", *words, "--compact")
    go_on = shlex.split(done.out.splitlines()[1].removeprefix("to continue: isca "))
    assert isca(*go_on, "--epochs", "3").code == 0
    model = load_model("m.isca")
    assert model.kernel is not None
    assert (model.state.epoch, model.kernel.pictures.dtype) == (3, np.float16)


def test_a_verdict_that_would_change_keeps_the_whole_pictures(data: Path) -> None:
    made = run(dataset_folder.load(data))
    fine = replace(
        made, pictures=np.float32(0.5) + (made.pictures - np.float32(0.5)) * np.float32(2e-3)
    )
    settings = TrainingSettings("kernel-isca", kernel="rbf", gamma=1e4, epochs=3)
    model = run(training.train(fine, settings))
    assert run(half_precision.compacted(model)) is model


@POSIX
@pytest.mark.usefixtures("handlers")
def test_stopped_while_it_is_made_smaller_the_model_is_kept(
    isca: Callable[..., Done], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(model: Model) -> Generator[Progress, None, Model]:
        yield Progress(0, 2, "making the model smaller")
        os.kill(os.getpid(), signal.SIGINT)
        yield Progress(1, 2, "making the model smaller")
        raise AssertionError("it was asked to stop")

    monkeypatch.setattr(half_precision, "compacted", interrupted)
    words = ("--method", "kernel-isca", "--kernel", "rbf", "--epochs", "2", "--compact")
    done = isca("train", data, "-o", "m.isca", *words)
    assert done.code == 0, done.err
    assert "the model is saved as it is" in done.err
    assert load_model("m.isca").kernel.pictures.dtype == np.float32


def test_only_kernel_models_can_be_compact(isca: Callable[..., Done], data: Path) -> None:
    done = isca("train", data, "-o", "model.isca", "--compact")
    assert done.code == 2
    assert "--compact does not apply to isca" in done.err
