"""Make the environment when it is needed, then run, test, measure, lint or pack the program.

    python3 packaging/dev.py run [ARGS...]     start ISCA Studio
    python3 packaging/dev.py test [ARGS...]    ruff, mypy, then pytest with ARGS
    python3 packaging/dev.py bench [ARGS...]   measure the speed
    python3 packaging/dev.py lint              ruff and mypy only
    python3 packaging/dev.py bundle            make a folder that runs without Python, and try it
    python3 packaging/dev.py packages [ARGS]   make wheel and sdist, and install both to try them

The environment is .venv beside pyproject.toml. It is made once, and brought up to date only when
something it was made from has changed.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (whoever starts this may well have an older Python)
    sys.stderr.write(
        "ISCA Studio needs Python 3.11 or newer; this is {}.{}.\n".format(*sys.version_info)
    )
    sys.exit(2)

import contextlib
import ctypes
import hashlib
import importlib
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

RECIPE = (
    "1"  # raise it when the way of installing changes: every environment is then brought up to date
)
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
STAMP = VENV / "isca-stamp"  # there only when an installation came to its end
LINUX = sys.platform.startswith("linux")
EXTRAS = {
    "run": "",
    "bench": "dev",
    "test": "dev",
    "lint": "dev",
    "bundle": "dev",
    "packages": "dev",
}
STAGES = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
}
BUNDLE = {
    "bundle": ["packaging/bundle.py"],
    "pytest, bundle": ["-m", "pytest", "-m", "bundle", "tests/distribution/test_bundle.py"],
}

# What has to be present, and the Debian package that brings it. The libraries are those with which Qt and its
# xcb and wayland plugins are linked; the ones left out come along with these packages.
QT = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
}
X11 = {
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
}
WAYLAND = {"libwayland-cursor.so.0": "libwayland-cursor0", "libwayland-egl.so.1": "libwayland-egl1"}
FONT = {"a font": "fonts-dejavu-core"}
TOOLS = {"Xvfb": "xvfb", "xdotool": "xdotool", "openbox": "openbox", "import": "imagemagick"}
CHECKERS = {"appstreamcli": "appstream", "desktop-file-validate": "desktop-file-utils"}
WITHOUT = {
    "run": "text may be unreadable",
    "test": "tests of the real window, or by validators, are left out",
    "bundle": "the menu entry is checked by our own rules only",
}


class Stop(Exception):
    """Nothing more can be done; the message says why and what to do."""


class Pieces(NamedTuple):
    """Parts of the system, each with its Debian package."""

    required: dict[str, str]
    optional: dict[str, str]


class Done(NamedTuple):
    """How a command ended."""

    code: int
    output: bytes


def say(line: str) -> None:
    """Write a line about the work itself; standard output belongs to the program that is started."""
    print(line, file=sys.stderr, flush=True)


def show(output: bytes) -> None:
    """Pass on what a quiet command wrote, as it is: it need not be in our encoding."""
    sys.stderr.buffer.write(output)
    sys.stderr.flush()


def child_environment() -> dict[str, str]:
    """Return the caller's environment without what would lead Python to other modules, or compile ours anew.

    Without files of compiled modules each of the tests' processes, some hundreds, spends a second on them.
    """
    unwanted = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")
    env = {name: value for name, value in os.environ.items() if name not in unwanted}
    return env | {"PYTHONUTF8": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def call(
    command: Sequence[str], *, where: Path | None = ROOT, quiet: bool = False, kill: bool = False
) -> Done:
    """Run a command and return its exit code and, when quiet, its output.

    After Ctrl-C, which the command hears as well as we do, its end is awaited unless it may be killed: pytest
    has its summary to write, and apt-get must not leave half-configured packages.
    """
    pipe, null, both = (
        (subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT) if quiet else (None, None, None)
    )
    env = child_environment()
    with subprocess.Popen(
        command, cwd=where, env=env, stdin=null, stdout=pipe, stderr=both
    ) as child:
        try:
            output = child.communicate()[0]
        except KeyboardInterrupt:
            if kill:
                child.kill()
            child.communicate()
            raise
    return Done(
        child.returncode if child.returncode >= 0 else 128 - child.returncode, output or b""
    )


def install_step(command: Sequence[str], advice: str) -> None:
    """Run a quiet step; when it fails, show its output and stop."""
    done = call(command, quiet=True, kill=True)
    if done.code:
        show(done.output)
        raise Stop(advice)


def wanted(command: str, env: Mapping[str, str], new_venv: bool, linux: bool = LINUX) -> Pieces:
    """List what a command needs of the system, and what it can do without."""
    required = {"ensurepip": venv_package()} if new_venv else {}
    if command == "run" and linux and (env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")):
        return Pieces(required | QT | (X11 if env.get("DISPLAY") else WAYLAND), FONT)
    if command == "test" and linux:  # Qt's offscreen platform, too, is linked with QT
        return Pieces(required | QT, X11 | FONT | TOOLS | CHECKERS)
    if command == "bundle" and linux:  # X11's libraries go into it, and it is started on a screen
        return Pieces(required | QT | X11 | FONT | TOOLS | {"objdump": "binutils"}, CHECKERS)
    return Pieces(required, {})


def venv_package() -> str:
    """Name the package with this interpreter's ensurepip; python3-venv serves the system's default only."""
    default = os.path.realpath("/usr/bin/python3") == os.path.realpath(sys.executable)
    return "python3-venv" if default else "python{}.{}-venv".format(*sys.version_info)


def is_present(piece: str) -> bool:
    """Look for a library, a module, a font or a program.

    Asking the loader for a library is exact, since it knows all search paths, and takes a millisecond.
    """
    with contextlib.suppress(OSError, ImportError):
        if ".so." in piece:
            return bool(ctypes.CDLL(piece))
        if piece == "ensurepip":
            importlib.invalidate_caches()
            return all(importlib.import_module(name) for name in ("venv", "ensurepip"))
        return has_font() if piece in FONT else shutil.which(piece) is not None
    return False


def has_font() -> bool:
    """Look for any scalable font where fontconfig looks by default."""
    folders = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
    names = (
        name
        for top in folders
        for _, _, files in os.walk(os.path.expanduser(top))
        for name in files
    )
    return any(name.lower().endswith((".ttf", ".otf", ".ttc", ".pfb")) for name in names)


def missing(pieces: Pieces) -> Pieces:
    """Keep the pieces that are not present."""
    required, optional = (
        {p: name for p, name in group.items() if not is_present(p)} for group in pieces
    )
    return Pieces(required, optional)


def decide(lacking: Pieces, may_install: bool) -> str:
    """Say what to do about missing pieces: "go", "install", "stop" or "skip"."""
    if not any(lacking):
        return "go"
    return "install" if may_install else "stop" if lacking.required else "skip"


def package_names(pieces: Mapping[str, str], dpkg_status: str) -> list[str]:
    """Name the packages as this release does: glib got the ending t64 when time became 64 bits wide."""
    renamed = (
        {"libglib2.0-0": "libglib2.0-0t64"}
        if re.search(r"(?m)^Package: \S+t64$", dpkg_status)
        else {}
    )
    return sorted(renamed.get(name, name) for name in pieces.values())


def remedy(pieces: Mapping[str, str], apt: bool, root: bool, dpkg_status: str = "") -> str:
    """Return the one command line that installs the pieces, or advice where there is no apt-get."""
    if not apt:
        return f"install with your package manager what brings {', '.join(pieces)}"
    sudo, names = "" if root else "sudo ", " ".join(package_names(pieces, dpkg_status))
    return f"{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {names}"


def apt_install(lacking: Pieces, root: bool, dpkg_status: str) -> None:
    """Install what is lacking; the optional apart, so that an unknown package among it does no harm."""
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120"]
    apt = apt if root else ["sudo", "-n", *apt]
    # A failing update matters, and is shown, only when the installation fails as well.
    update = call([*apt, "update"], quiet=True)
    for names in (package_names(group, dpkg_status) for group in lacking if group):
        say(f"Installing system packages: {' '.join(names)}")
        done = call([*apt, "install", "-y", "--no-install-recommends", *names], quiet=True)
        if done.code:
            show(update.output + done.output)


def provide(command: str, new_venv: bool) -> None:
    """Bring the system packages that a command needs, or say which command line brings them."""
    pieces = wanted(command, os.environ, new_venv)
    lacking = missing(pieces)
    if decide(lacking, False) == "go":
        return
    apt, root = shutil.which("apt-get") is not None, getattr(os, "geteuid", lambda: 1)() == 0
    status = Path("/var/lib/dpkg/status")
    known = status.read_text("utf-8", "replace") if apt and status.is_file() else ""
    sudo = (
        shutil.which("sudo") is not None
        and not root
        and not call(["sudo", "-n", "true"], quiet=True).code
    )
    if decide(lacking, apt and (root or sudo)) == "install":
        apt_install(lacking, root, known)
        lacking = missing(pieces)
    verdict = decide(lacking, False)
    if verdict == "stop":
        line = remedy(lacking.required, apt, root, known)
        raise Stop(f"Not found: {', '.join(lacking.required)}. Do this, then try again:\n  {line}")
    if verdict == "skip":
        line = remedy(lacking.optional, apt, root, known)
        say(f"Not found: {', '.join(lacking.optional)}; {WITHOUT[command]}. To have them: {line}")


def key(extras: str) -> str:
    """Hash all that an environment is made from; its path, too, since an editable install points there."""
    made_from = (sys.implementation.cache_tag, platform.machine(), extras, RECIPE, str(ROOT))
    text = repr(made_from).encode() + (ROOT / "pyproject.toml").read_bytes()
    return hashlib.sha256(text).hexdigest()


def interpreter_answers() -> bool:
    """Tell whether the environment's interpreter starts, is of our version and finds the program."""
    spec = "importlib.util.find_spec('isca_gui')"
    code = f"import importlib.util, sys; print(sys.implementation.cache_tag, {spec} is not None)"
    try:
        told = subprocess.run(
            [PYTHON, "-I", "-c", code], capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return told.stdout.split() == [sys.implementation.cache_tag, "True"]


def state(extras: str) -> str:
    """Tell whether the environment is "ready", "stale" (install again) or "broken" (make it anew)."""
    if not STAMP.is_file() or not interpreter_answers():
        return "broken"
    # What was installed with the developer tools serves for everything.
    return (
        "ready"
        if STAMP.read_bytes().decode("ascii", "replace") in (key(extras), key("dev"))
        else "stale"
    )


def make_venv() -> None:
    """Make an empty environment in place of whatever is there."""
    say(f"Making the environment {VENV}")
    try:
        if VENV.is_symlink() or VENV.is_file():
            VENV.unlink()
        elif VENV.exists():
            shutil.rmtree(VENV)
    except OSError as error:
        raise Stop(
            f"Cannot remove {VENV}: {error}\nClose what uses it, or delete it, and try again."
        ) from error
    inside = sys.prefix != sys.base_prefix  # perhaps of the very environment that was just removed
    python = getattr(sys, "_base_executable", sys.executable) if inside else sys.executable
    advice = "The environment could not be made, see above. Check the free disk space and your rights, try again."
    install_step([python, "-I", "-m", "venv", str(VENV)], advice)


def install(extras: str) -> None:
    """Install the project into its environment and set the stamp."""
    say(
        f"Installing ISCA Studio{' and the developer tools' if extras else ''}; this may take some minutes"
    )
    before = STAMP.read_bytes() if STAMP.is_file() else b""
    STAMP.unlink(missing_ok=True)
    pip = [PYTHON, "-m", "pip", "install", "--no-input", "--progress-bar=off"]
    try:
        advice = "pip failed, see above. Check the network and the free disk space, then try again."
        install_step([*pip, "-e", f".[{extras}]" if extras else "."], advice)
    except Stop:
        if before:  # the environment is as stale as it was, and need not be thrown away
            STAMP.write_bytes(before)
        raise
    STAMP.write_text(key(extras), "ascii")


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Let one process at a time change the environment; a lock goes when its process does."""
    with open(__file__, "rb") as file:
        with contextlib.suppress(OSError):  # some network drives know no locks
            if sys.platform == "win32":
                import msvcrt

                file.seek(1 << 30)  # far behind the text, which others have to read
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            else:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prepare(command: str) -> None:
    """Make sure that the environment and the system have what the command needs."""
    extras = EXTRAS[command]
    found = state(extras)
    provide(command, new_venv=found == "broken")
    if found == "ready":
        return
    with only_one():
        found = state(extras)  # another process may have done the work meanwhile
        if found == "broken":
            make_venv()
        if found != "ready":
            install(extras)


def become(module: Sequence[str]) -> int:
    """Turn into the program, whose signals and exit code are then its own; Windows can only wait for it."""
    command = [
        PYTHON,
        "-P",
        "-m",
        *module,
    ]  # -P: no modules that happen to lie in the caller's folder
    if os.name != "nt":
        os.execve(PYTHON, command, child_environment())
    return call(command, where=None).code


def run_stages(stages: Mapping[str, Sequence[str]]) -> int:
    """Run the stages in turn and return the exit code of the first that fails."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    for name, words in stages.items():
        print(f"== {name}", flush=True)
        start = time.perf_counter()
        code = call([PYTHON, *words]).code
        result = f"failed with exit code {code}" if code else "passed"
        print(f"== {name} {result} in {time.perf_counter() - start:.1f} s", flush=True)
        if code:
            return code
    return 0


def execute(command: str, arguments: Sequence[str]) -> int:
    """Do one command."""
    prepare(command)
    if command == "run":
        return become(["isca_gui", *arguments])
    if command == "bench":
        return become(["isca_gui.cli", "bench", *arguments])
    if command == "bundle":
        return run_stages(BUNDLE)
    if command == "packages":
        return run_stages({"packages": ["packaging/packages.py", *arguments]})
    return run_stages(STAGES | (tests(arguments) if command == "test" else {}))


def tests(arguments: Sequence[str]) -> dict[str, Sequence[str]]:
    """Give the stages of the tests: three files at a time, but what measures time alone."""
    if arguments:
        return {"pytest": ["-m", "pytest", *arguments]}
    by_file = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
    return {
        "compiled loops": ["-m", "tests.warm"],
        "pytest": ["-m", "pytest", "-m", "not alone and not bundle", *by_file],
        "pytest, alone": ["-m", "pytest", "-m", "alone"],
    }


def main(arguments: Sequence[str]) -> int:
    """Read the command line and do what it asks."""
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command in ("-h", "--help"):
        print(__doc__)
        return 0
    if command not in EXTRAS or (command in ("lint", "bundle") and rest):
        say(f"Not understood: {' '.join(arguments)}\n\n{__doc__}" if arguments else f"{__doc__}")
        return 2
    try:
        return execute(command, rest)
    except Stop as stop:
        say(str(stop))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
