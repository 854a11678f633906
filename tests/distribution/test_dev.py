"""packaging/dev.py: environment, system packages and commands, in small repositories."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = ROOT / "packaging" / "dev.py"
POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals or links")

PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["packaging"]
[project]
name = "isca-gui"
version = "1"
"""
# The least that makes `pip install -e` work without any download.
BACKEND = """\
import os, zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name, info = "isca_gui-1-py3-none-any.whl", "isca_gui-1.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("isca_gui.pth", os.getcwd())
        wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: isca-gui\\nVersion: 1\\n")
        tags = "Root-Is-Purelib: true\\nTag: py3-none-any\\n"
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\n" + tags)
        wheel.writestr(info + "RECORD", "")
    return name
"""
# Prints how it was started, and ends with a code of its own.
PROGRAM = """\
import json, os, sys
names = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONUTF8")
print(json.dumps([sys.argv[1:], os.getcwd(), {name: os.environ.get(name) for name in names}]))
sys.exit(7)
"""
# Replaces ruff, mypy, pytest, pip and the warm-up of the tests: records its call, and fails if told
# to.
TOOL = """\
import os, sys
name = os.path.basename(os.path.dirname(__file__))
print(name, *sys.argv[1:], "on", os.environ.get("QT_QPA_PLATFORM"), flush=True)
with open(os.environ["CALLS"], "a") as file:
    print(name, *sys.argv[1:], file=file)
sys.exit(5 if name == os.environ.get("FAILING") else 0)
"""


class Repository:
    """A small repository with its own copy of dev.py, without apt-get, display and network."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.venv = root / ".venv"
        self.calls = root / "calls.txt"
        for name, text in {
            "pyproject.toml": PYPROJECT,
            "packaging/backend.py": BACKEND,
            "isca_gui/__init__.py": "",
            "isca_gui/__main__.py": PROGRAM,
            "isca_gui/cli.py": PROGRAM,
            "tests/__init__.py": "",
            "tests/warm.py": TOOL,
        }.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, "utf-8")
        shutil.copy(SCRIPT, root / "packaging" / "dev.py")
        self.dev = load(root / "packaging" / "dev.py")
        self.python = Path(self.dev.PYTHON)
        self.stamp = self.dev.STAMP

    def install(self, extras: str = "dev") -> Repository:
        """Create an environment with stubs for the tools, as if installed with the extras."""
        venv.create(self.venv, symlinks=os.name != "nt")
        packages = self.packages()
        (packages / "isca_gui.pth").write_text(str(self.root), "utf-8")
        for tool in ("pip", "ruff", "mypy", "pytest"):
            (packages / tool).mkdir()
            (packages / tool / "__main__.py").write_text(TOOL, "utf-8")
        self.stamp.write_text(self.dev.key(extras), "ascii")
        return self

    def packages(self) -> Path:
        return next(
            path
            for name in ("Lib", "lib/python*")
            for path in self.venv.glob(f"{name}/site-packages")
        )

    def environment(self, **extra: str) -> dict[str, str]:
        unwanted = {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "PYTHONPATH", "PYTHONHOME"}
        kept = {name: value for name, value in os.environ.items() if name not in unwanted}
        # A folder without programs, in which neither apt-get nor sudo is found.
        nothing = str(self.root / "packaging")
        return kept | {"PATH": nothing, "PIP_NO_INDEX": "1", "CALLS": str(self.calls)} | extra

    def call(
        self, *arguments: str, cwd: Path | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(self.root / "packaging" / "dev.py"), *arguments]
        env = self.environment(**extra)
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60)

    def called(self) -> list[str]:
        if not self.calls.exists():
            return []
        return [line.split()[0] for line in self.calls.read_text().splitlines()]


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"dev_{abs(hash(path))}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "a repository")


@pytest.fixture(scope="module")
def dev() -> Any:
    return load(SCRIPT)


def test_only_the_standard_library_is_imported() -> None:
    tree = ast.parse(SCRIPT.read_text("utf-8"))
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    imported |= {node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


def test_old_interpreters_can_read_far_enough_to_be_told() -> None:
    tree = ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 7))
    _, first, check = tree.body[:3]
    assert isinstance(first, ast.Import)
    assert isinstance(check, ast.If)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 2),
        (("--help",), 0),
        (("-h",), 0),
        (("rum",), 2),
        (("lint", "x"), 2),
        (("bundle", "x"), 2),
    ],
)
def test_usage_lists_every_command(
    repository: Repository, arguments: tuple[str, ...], code: int
) -> None:
    done = repository.call(*arguments)
    shown, other = (done.stdout, done.stderr) if code == 0 else (done.stderr, done.stdout)
    assert done.returncode == code
    assert other == ""
    assert all(f"dev.py {command} " in shown for command in repository.dev.EXTRAS)
    assert not repository.venv.exists()


# --- the environment


@pytest.fixture
def light_venv(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy this interpreter's pip into new environments, because ensurepip takes seconds."""
    dev = repository.dev
    step = dev.install_step
    spec = importlib.util.find_spec("pip")
    if spec is None or spec.origin is None:
        pytest.skip("this interpreter has no pip to copy")
    source = Path(spec.origin).parent

    def light_step(command: list[str], advice: str) -> None:
        making = "venv" in command
        step([*command, "--without-pip"] if making else command, advice)
        if making:
            shutil.copytree(source, repository.packages() / "pip")

    monkeypatch.setattr(dev, "install_step", light_step)
    for name, value in repository.environment().items():
        monkeypatch.setenv(name, value)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.alone
@pytest.mark.usefixtures("light_venv")
def test_a_half_made_environment_is_made_anew_and_then_left_alone(repository: Repository) -> None:
    leftover = repository.venv / "leftover"
    leftover.mkdir(parents=True)
    repository.dev.prepare("run")
    assert not leftover.exists()
    assert [repository.dev.state(extras) for extras in ("", "dev")] == ["ready", "stale"]
    start = time.perf_counter()
    done = repository.call("run")
    assert time.perf_counter() - start < 2
    assert (done.returncode, done.stderr) == (7, "")


def test_program_gets_arguments_folder_and_a_clean_environment(
    repository: Repository, tmp_path: Path
) -> None:
    repository.install()
    (tmp_path / "json.py").write_text("raise SystemExit('a stray module of the caller')")
    strange = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = repository.call("run", "--flag", "b c", cwd=tmp_path, **strange)
    assert (done.returncode, done.stderr) == (7, "")
    arguments, folder, env = ast.literal_eval(done.stdout.replace("null", "None"))
    assert arguments == ["--flag", "b c"]
    assert os.path.samefile(folder, tmp_path)
    assert env == dict.fromkeys(strange) | {"PYTHONHOME": None, "PYTHONUTF8": "1"}
    bench = repository.call("bench", "--quick", cwd=tmp_path)
    assert bench.returncode == 7
    assert '["bench", "--quick"]' in bench.stdout


def test_developer_tools_serve_for_everything_but_not_the_other_way_round(
    repository: Repository,
) -> None:
    repository.install("dev")
    assert [repository.dev.state(extras) for extras in ("", "dev")] == ["ready", "ready"]
    repository.stamp.write_text(repository.dev.key(""), "ascii")
    assert [repository.dev.state(extras) for extras in ("", "dev")] == ["ready", "stale"]


def test_a_changed_project_is_installed_once_more_in_place(repository: Repository) -> None:
    repository.install()
    marker = repository.venv / "kept"
    marker.touch()
    (repository.root / "pyproject.toml").write_text(PYPROJECT + "# changed\n", "utf-8")
    assert repository.call("run").returncode == 7
    assert repository.call("run").returncode == 7
    assert repository.called() == ["pip"]
    assert marker.exists()


def test_a_changed_recipe_makes_the_environment_stale(repository: Repository) -> None:
    repository.install()
    repository.dev.RECIPE += "+"
    assert repository.dev.state("dev") == "stale"


def test_a_failing_pip_is_shown_and_tried_again(repository: Repository) -> None:
    repository.install()
    (repository.root / "pyproject.toml").write_text(PYPROJECT + "# changed\n", "utf-8")
    for _ in range(2):
        done = repository.call("run", FAILING="pip")
        assert done.returncode == 1
        # The output of pip itself is shown.
        assert "pip install" in done.stderr
        assert "try again" in done.stderr
        assert "Traceback" not in done.stderr
    assert repository.called() == ["pip", "pip"]
    assert repository.call("run").returncode == 7


def remove_interpreter(repository: Repository) -> None:
    repository.python.unlink()


def lead_interpreter_nowhere(repository: Repository) -> None:
    repository.python.unlink()
    repository.python.symlink_to(repository.root / "moved" / "python")


def spoil_interpreter(repository: Repository) -> None:
    repository.python.unlink()
    repository.python.write_bytes(b"\x00")
    repository.python.chmod(0o755)


def remove_stamp(repository: Repository) -> None:
    repository.stamp.unlink()


def remove_program(repository: Repository) -> None:
    next(repository.venv.rglob("isca_gui.pth")).unlink()


def replace_by_file(repository: Repository) -> None:
    shutil.rmtree(repository.venv)
    repository.venv.write_text("not a folder")


DAMAGES = [
    remove_interpreter,
    lead_interpreter_nowhere,
    spoil_interpreter,
    remove_stamp,
    remove_program,
    replace_by_file,
]


@POSIX
@pytest.mark.usefixtures("light_venv")
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_is_noticed_and_removed(
    repository: Repository, damage: Callable[[Repository], None]
) -> None:
    repository.install()
    assert repository.dev.state("") == "ready"
    damage(repository)
    assert repository.dev.state("") == "broken"
    repository.dev.make_venv()
    assert subprocess.run([repository.python, "-c", "pass"]).returncode == 0
    assert not repository.stamp.exists()


def test_formats_without_packages_for_this_system_do_not_stop_the_set_up(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    project = repository.root / "pyproject.toml"
    extra = '[project.optional-dependencies]\nformats = ["no-such-package>=1"]\n'
    project.write_text(PYPROJECT + extra, "utf-8")
    repository.install()
    monkeypatch.setenv("CALLS", str(repository.calls))
    pip = [repository.dev.PYTHON, "-m", "pip"]
    repository.dev.install_formats(pip)
    assert "--only-binary=:all: no-such-package>=1" in repository.calls.read_text("utf-8")
    assert not capfd.readouterr().err
    monkeypatch.setenv("FAILING", "pip")
    repository.dev.install_formats(pip)
    assert "HEIC and JPEG XL" in capfd.readouterr().err


def test_a_moved_repository_is_installed_again(repository: Repository, tmp_path: Path) -> None:
    repository.install()
    moved = repository.root.rename(tmp_path / "moved")
    assert load(moved / "packaging" / "dev.py").state("") in ("stale", "broken")


@POSIX
def test_ctrl_c_is_quiet_and_leaves_no_stamp(repository: Repository) -> None:
    command = [sys.executable, str(repository.root / "packaging" / "dev.py"), "run"]
    env = repository.environment()
    with subprocess.Popen(
        command, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        assert child.stderr is not None
        assert "Creating" in child.stderr.readline()
        time.sleep(0.2)
        os.killpg(child.pid, signal.SIGINT)
        rest = child.stderr.read()
    assert (child.returncode, rest) == (130, "")
    assert repository.dev.state("") == "broken"


# --- stages


def test_stages_run_in_order_offscreen_and_pass_arguments_on(
    repository: Repository, tmp_path: Path
) -> None:
    done = repository.install().call("test", "-k", "one", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert repository.called() == ["ruff", "ruff", "mypy", "pytest"]
    assert "pytest -k one on offscreen" in done.stdout
    assert done.stdout.count(" passed in ") == 4
    assert "on xcb" in repository.call("lint", QT_QPA_PLATFORM="xcb").stdout
    assert repository.called()[4:] == ["ruff", "ruff", "mypy"]


def test_all_tests_are_three_stages(repository: Repository) -> None:
    assert repository.install().call("test").returncode == 0
    assert repository.called() == ["ruff", "ruff", "mypy", "tests", "pytest", "pytest"]


def test_packing_makes_a_thing_and_then_tries_it(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.install()
    for name in ("bundle", "packages"):
        (repository.root / "packaging" / f"{name}.py").write_text(
            f"import sys\nprint('{name}', *sys.argv[1:])\nsys.exit({name == 'packages'} * 4)\n"
        )
    monkeypatch.setenv("CALLS", str(repository.calls))
    assert repository.dev.run_stages(repository.dev.BUNDLE) == 0
    assert repository.calls.read_text().split()[:3] == ["pytest", "-m", "bundle"]
    done = repository.call("packages", "--offline")
    assert done.returncode == 4
    assert "packages --offline\n" in done.stdout


@pytest.mark.parametrize(
    ("failing", "before"), [("ruff", 1), ("mypy", 3), ("tests", 4), ("pytest", 5)]
)
def test_the_first_failing_stage_ends_the_test(
    repository: Repository, failing: str, before: int
) -> None:
    done = repository.install().call("test", FAILING=failing)
    assert done.returncode == 5
    assert len(repository.called()) == before
    assert "failed with exit code 5" in done.stdout


# --- system packages

X11_ENV, WAYLAND_ENV = {"DISPLAY": ":0"}, {"WAYLAND_DISPLAY": "wayland-0"}


@pytest.mark.parametrize(
    ("command", "env", "linux", "required", "optional"),
    [
        ("run", {}, True, "", ""),
        ("run", {"DISPLAY": ""}, True, "", ""),
        ("run", X11_ENV, True, "libegl1 libxcb-cursor0", "fonts-dejavu-core"),
        ("run", WAYLAND_ENV, True, "libegl1 libwayland-cursor0", "fonts-dejavu-core"),
        ("run", X11_ENV, False, "", ""),
        ("bench", X11_ENV, True, "", ""),
        ("lint", X11_ENV, True, "", ""),
        ("test", {}, True, "libegl1", "xvfb xdotool openbox imagemagick libxcb-cursor0 appstream"),
        ("test", {}, False, "", ""),
        (
            "bundle",
            {},
            True,
            "libegl1 libxcb-cursor0 fonts-dejavu-core xvfb xdotool binutils",
            "appstream",
        ),
        ("bundle", {}, False, "", ""),
        ("packages", X11_ENV, True, "", ""),
    ],
)
def test_what_a_command_needs(
    dev: Any, command: str, env: dict[str, str], linux: bool, required: str, optional: str
) -> None:
    pieces = dev.wanted(command, env, new_venv=False, linux=linux)
    for group, names in ((pieces.required, required), (pieces.optional, optional)):
        assert set(names.split()) <= set(group.values())
        assert bool(group) == bool(names)
    assert not set(pieces.required) & set(pieces.optional)
    with_venv = dev.wanted(command, env, new_venv=True, linux=linux)
    assert set(with_venv.required) - set(pieces.required) == {"ensurepip"}
    assert with_venv.required["ensurepip"].endswith("-venv")


@pytest.mark.parametrize(
    ("required", "optional", "may_install", "verdict"),
    [
        ((), (), True, "go"),
        ((), (), False, "go"),
        (("libEGL.so.1",), (), True, "install"),
        (("libEGL.so.1",), (), False, "stop"),
        (("libEGL.so.1",), ("Xvfb",), False, "stop"),
        ((), ("Xvfb",), True, "install"),
        ((), ("Xvfb",), False, "skip"),
    ],
)
def test_what_is_done_about_missing_pieces(
    dev: Any, required: tuple[str, ...], optional: tuple[str, ...], may_install: bool, verdict: str
) -> None:
    lacking = dev.Pieces(dict.fromkeys(required, "x"), dict.fromkeys(optional, "x"))
    assert dev.decide(lacking, may_install) == verdict


def test_the_command_line_to_type(dev: Any) -> None:
    pieces = {"libGL.so.1": "libgl1", "libglib-2.0.so.0": "libglib2.0-0"}
    user = dev.remedy(pieces, apt=True, root=False)
    assert user.startswith("sudo apt-get update && sudo apt-get install -y ")
    assert user.split()[-2:] == ["libgl1", "libglib2.0-0"]
    assert "\n" not in user
    assert dev.remedy(pieces, apt=True, root=True) == user.replace("sudo ", "")
    newer = dev.remedy(
        pieces, apt=True, root=False, dpkg_status="Package: base\n\nPackage: libdb5.3t64\n"
    )
    assert newer.split()[-2:] == ["libgl1", "libglib2.0-0t64"]
    elsewhere = dev.remedy(pieces, apt=False, root=False)
    assert "apt" not in elsewhere
    assert all(piece in elsewhere for piece in pieces)


@pytest.mark.alone
def test_pieces_are_looked_for_quickly_and_truly(dev: Any) -> None:
    everything = dev.Pieces(
        dev.QT | dev.X11 | dev.WAYLAND,
        dev.FONT | dev.TOOLS | {"no-such-program-": "none", "libno-.so.9": "none"},
    )
    start = time.perf_counter()
    lacking = dev.missing(everything)
    assert time.perf_counter() - start < 0.2
    assert {"no-such-program-", "libno-.so.9"} <= set(lacking.optional)
    assert dev.is_present("ensurepip")


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the C library has this name on Linux"
)
def test_a_library_of_the_system_is_found(dev: Any) -> None:
    assert dev.is_present("libc.so.6")


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux lets Qt's libraries be missing"
)
def test_missing_libraries_stop_run_on_a_display_with_advice(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository.dev, "X11", {"libno-such-.so.1": "libno-such1"})
    monkeypatch.setenv("PATH", str(repository.root))
    monkeypatch.setenv("DISPLAY", ":0")
    with pytest.raises(repository.dev.Stop, match=r"libno-such-\.so\.1"):
        repository.dev.provide("run", new_venv=False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="real windows are tested on Linux")
def test_missing_window_helpers_are_one_line(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(repository.root))
    repository.dev.provide("test", new_venv=False)
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert "tests that need a real window or validators are skipped" in told[0]
