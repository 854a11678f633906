"""Create the environment if necessary, then run, test, measure, lint or package the program.

    python3 packaging/dev.py run [ARGS...]     start ISCA Studio
    python3 packaging/dev.py test [ARGS...]    run ruff and mypy, then pytest with ARGS
    python3 packaging/dev.py bench [ARGS...]   measure the speed
    python3 packaging/dev.py lint              run ruff and mypy only
    python3 packaging/dev.py bundle            build a folder that runs without Python, and test it
    python3 packaging/dev.py packages [ARGS]   build wheel and sdist, install both, and test them

The environment is .venv beside pyproject.toml. It is created once, and updated only when something
it was made from has changed.
"""

import sys

# Users may well start this with an older Python.
if sys.version_info < (3, 11):  # noqa: UP036
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
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

# To be raised when the way of installing changes; every environment is then updated.
RECIPE = "1"
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = str(VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
# This file exists only after a complete installation.
STAMP = VENV / "isca-stamp"
LINUX = sys.platform.startswith("linux")
# The extra of pyproject.toml that each command needs.
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

# What must be present, and the Debian package that provides it. The libraries are those that Qt and
# its xcb and wayland plugins are linked with; the ones left out come with these packages.
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
# What happens without the optional pieces of a command.
WITHOUT = {
    "run": "text may be unreadable",
    "test": "tests that need a real window or validators are skipped",
    "bundle": "the menu entry is not checked by validators",
}


class Stop(Exception):
    """The command cannot continue; the message says why and what to do."""


class Pieces(NamedTuple):
    """Libraries, programs and the like, each with its Debian package."""

    required: dict[str, str]
    optional: dict[str, str]


class Done(NamedTuple):
    """The result of a command."""

    code: int
    output: bytes


def say(line: str) -> None:
    """Print a line on standard error; standard output belongs to the program that is started."""
    print(line, file=sys.stderr, flush=True)


def show(output: bytes) -> None:
    """Print the output of a quiet command."""
    # It is passed on as bytes, because it need not be in our encoding.
    sys.stderr.buffer.write(output)
    sys.stderr.flush()


def child_environment() -> dict[str, str]:
    """Return the caller's environment without variables that make Python load other modules.

    PYTHONDONTWRITEBYTECODE is dropped too: without compiled modules, each of the hundreds of
    processes that the tests start would spend a second on compiling them.
    """
    unwanted = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")
    env = {name: value for name, value in os.environ.items() if name not in unwanted}
    return env | {"PYTHONUTF8": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def call(
    command: Sequence[str], *, where: Path | None = ROOT, quiet: bool = False, kill: bool = False
) -> Done:
    """Run a command and return its exit code and, when quiet, its output.

    Ctrl-C reaches the command as well. Unless it may be killed, we then wait for it to end: pytest
    prints its summary, and apt-get must not leave half-configured packages behind.
    """
    with subprocess.Popen(
        command,
        cwd=where,
        env=child_environment(),
        stdin=subprocess.DEVNULL if quiet else None,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
    ) as child:
        try:
            output = child.communicate()[0]
        except KeyboardInterrupt:
            if kill:
                child.kill()
            child.communicate()
            raise
    code = child.returncode
    # A negative code is a signal, for which shells use 128 plus its number.
    return Done(code if code >= 0 else 128 - code, output or b"")


def install_step(command: Sequence[str], advice: str) -> None:
    """Run a quiet step; when it fails, show its output and stop."""
    done = call(command, quiet=True, kill=True)
    if done.code:
        show(done.output)
        raise Stop(advice)


def wanted(command: str, env: Mapping[str, str], new_venv: bool, linux: bool = LINUX) -> Pieces:
    """Return what a command needs from the system, and what it can do without."""
    required = {"ensurepip": venv_package()} if new_venv else {}
    if command == "run" and linux and (env.get("DISPLAY") or env.get("WAYLAND_DISPLAY")):
        return Pieces(required | QT | (X11 if env.get("DISPLAY") else WAYLAND), FONT)
    # Qt's offscreen platform is linked with these libraries too.
    if command == "test" and linux:
        return Pieces(required | QT, X11 | FONT | TOOLS | CHECKERS)
    # The libraries of X11 go into the bundle, and its tests start it on a virtual screen.
    if command == "bundle" and linux:
        return Pieces(required | QT | X11 | FONT | TOOLS | {"objdump": "binutils"}, CHECKERS)
    return Pieces(required, {})


def venv_package() -> str:
    """Return the package with this interpreter's ensurepip."""
    # The package python3-venv is only for the default interpreter of the system.
    default = os.path.realpath("/usr/bin/python3") == os.path.realpath(sys.executable)
    return "python3-venv" if default else "python{}.{}-venv".format(*sys.version_info)


def is_present(piece: str) -> bool:
    """Whether a library, a module, a font or a program is installed."""
    with contextlib.suppress(OSError, ImportError):
        # The loader knows all search paths, and answers within a millisecond.
        if ".so." in piece:
            return bool(ctypes.CDLL(piece))
        if piece == "ensurepip":
            importlib.invalidate_caches()
            return all(importlib.import_module(name) for name in ("venv", "ensurepip"))
        if piece in FONT:
            return has_font()
        return shutil.which(piece) is not None
    return False


def has_font() -> bool:
    """Whether there is a scalable font where fontconfig looks by default."""
    for top in ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts"):
        for _, _, names in os.walk(os.path.expanduser(top)):
            if any(name.lower().endswith((".ttf", ".otf", ".ttc", ".pfb")) for name in names):
                return True
    return False


def missing(pieces: Pieces) -> Pieces:
    """Return the pieces that are not present."""
    required = {piece: name for piece, name in pieces.required.items() if not is_present(piece)}
    optional = {piece: name for piece, name in pieces.optional.items() if not is_present(piece)}
    return Pieces(required, optional)


def decide(lacking: Pieces, may_install: bool) -> str:
    """Return what to do about missing pieces: "go", "install", "stop" or "skip"."""
    if not any(lacking):
        return "go"
    if may_install:
        return "install"
    return "stop" if lacking.required else "skip"


def package_names(pieces: Mapping[str, str], dpkg_status: str) -> list[str]:
    """Return the names that the packages have in this release of the system."""
    names = set(pieces.values())
    # Releases with 64-bit time have renamed glib.
    if "libglib2.0-0" in names and re.search(r"(?m)^Package: \S+t64$", dpkg_status):
        names = names - {"libglib2.0-0"} | {"libglib2.0-0t64"}
    return sorted(names)


def remedy(pieces: Mapping[str, str], apt: bool, root: bool, dpkg_status: str = "") -> str:
    """Return the command line that installs the pieces, or advice if there is no apt-get."""
    if not apt:
        return f"use your package manager to install {', '.join(pieces)}"
    sudo = "" if root else "sudo "
    names = " ".join(package_names(pieces, dpkg_status))
    return f"{sudo}apt-get update && {sudo}apt-get install -y --no-install-recommends {names}"


def apt_install(lacking: Pieces, root: bool, dpkg_status: str) -> None:
    """Install the missing packages."""
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120"]
    if not root:
        apt = ["sudo", "-n", *apt]
    # A failed update matters, and is shown, only if the installation fails as well.
    update = call([*apt, "update"], quiet=True)
    # The optional packages are installed separately, so that the required ones do not fail with
    # them.
    for group in (lacking.required, lacking.optional):
        if not group:
            continue
        names = package_names(group, dpkg_status)
        say(f"Installing system packages: {' '.join(names)}")
        done = call([*apt, "install", "-y", "--no-install-recommends", *names], quiet=True)
        if done.code:
            show(update.output + done.output)


def provide(command: str, new_venv: bool) -> None:
    """Install the system packages that a command needs, or print the command line that does."""
    pieces = wanted(command, os.environ, new_venv)
    lacking = missing(pieces)
    if decide(lacking, False) == "go":
        return
    apt = shutil.which("apt-get") is not None
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    status = Path("/var/lib/dpkg/status")
    known = status.read_text("utf-8", "replace") if apt and status.is_file() else ""
    if decide(lacking, apt and (root or has_sudo())) == "install":
        apt_install(lacking, root, known)
        lacking = missing(pieces)
    verdict = decide(lacking, False)
    if verdict == "stop":
        line = remedy(lacking.required, apt, root, known)
        names = ", ".join(lacking.required)
        raise Stop(f"Not found: {names}. Run this command, then try again:\n  {line}")
    if verdict == "skip":
        line = remedy(lacking.optional, apt, root, known)
        say(
            f"Not found: {', '.join(lacking.optional)}; {WITHOUT[command]}. To install them: {line}"
        )


def has_sudo() -> bool:
    """Whether sudo works without a password."""
    return shutil.which("sudo") is not None and not call(["sudo", "-n", "true"], quiet=True).code


def key(extras: str) -> str:
    """Return a hash of everything that an environment is made from."""
    # The path belongs to it, because an editable installation points there.
    made_from = (sys.implementation.cache_tag, platform.machine(), extras, RECIPE, str(ROOT))
    text = repr(made_from).encode() + (ROOT / "pyproject.toml").read_bytes()
    return hashlib.sha256(text).hexdigest()


def interpreter_answers() -> bool:
    """Whether the environment's interpreter starts, has our version and finds the program."""
    spec = "importlib.util.find_spec('isca_gui')"
    code = f"import importlib.util, sys; print(sys.implementation.cache_tag, {spec} is not None)"
    try:
        command = [PYTHON, "-I", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.split() == [sys.implementation.cache_tag, "True"]


def state(extras: str) -> str:
    """Return the state of the environment: "ready", "stale" (to be updated) or "broken"."""
    if not STAMP.is_file() or not interpreter_answers():
        return "broken"
    stamp = STAMP.read_bytes().decode("ascii", "replace")
    # An environment with the developer tools serves every command.
    return "ready" if stamp in (key(extras), key("dev")) else "stale"


def make_venv() -> None:
    """Create an empty environment, replacing whatever is there."""
    say(f"Creating the environment {VENV}")
    try:
        if VENV.is_symlink() or VENV.is_file():
            VENV.unlink()
        elif VENV.exists():
            shutil.rmtree(VENV)
    except OSError as error:
        raise Stop(
            f"Cannot delete {VENV}: {error}\n"
            "Close the programs that use it, or delete it yourself, and try again."
        ) from error
    python = sys.executable
    # We may run in the very environment that was just deleted.
    if sys.prefix != sys.base_prefix:
        python = getattr(sys, "_base_executable", python)
    advice = (
        "The environment could not be created, see above. "
        "Check the free disk space and your permissions, then try again."
    )
    install_step([python, "-I", "-m", "venv", str(VENV)], advice)


def install(extras: str) -> None:
    """Install the project into its environment and set the stamp."""
    what = "ISCA Studio and the developer tools" if extras else "ISCA Studio"
    say(f"Installing {what}; this may take a few minutes")
    before = STAMP.read_bytes() if STAMP.is_file() else b""
    STAMP.unlink(missing_ok=True)
    pip = [PYTHON, "-m", "pip", "install", "--no-input", "--progress-bar=off"]
    try:
        advice = "pip failed, see above. Check the network and the free disk space, then try again."
        install_step([*pip, "-e", f".[{extras}]" if extras else "."], advice)
    except Stop:
        # The environment is as it was before, and need not be replaced.
        if before:
            STAMP.write_bytes(before)
        raise
    install_formats(pip)
    STAMP.write_text(key(extras), "ascii")


def install_formats(pip: Sequence[str]) -> None:
    """Install what reads further picture formats, where there are packages for this system."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    packages = project.get("optional-dependencies", {}).get("formats", [])
    # Without a compiled package there is nothing a person could be asked to do about it.
    command = [*pip, "--only-binary=:all:", *packages]
    if packages and call(command, quiet=True, kill=True).code:
        say("HEIC and JPEG XL pictures cannot be read: pip found no packages for this system.")


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Wait until no other process changes the environment; the lock ends with its process."""
    with open(__file__, "rb") as file:
        # Some network drives do not support locks.
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                import msvcrt

                # Far behind the text, because other processes must be able to read that.
                file.seek(1 << 30)
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
        # Another process may have done the work meanwhile.
        found = state(extras)
        if found == "broken":
            make_venv()
        if found != "ready":
            install(extras)


def become(module: Sequence[str]) -> int:
    """Replace this process by the program, so that signals and exit code are its own."""
    # With -P, no modules are imported from the folder that the caller happens to be in.
    command = [PYTHON, "-P", "-m", *module]
    # Windows cannot replace a process, so we wait for a child there.
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
    """Run a command and return its exit code."""
    prepare(command)
    if command == "run":
        return become(["isca_gui", *arguments])
    if command == "bench":
        return become(["isca_gui.cli", "bench", *arguments])
    if command == "bundle":
        return run_stages(BUNDLE)
    if command == "packages":
        return run_stages({"packages": ["packaging/packages.py", *arguments]})
    if command == "test":
        return run_stages(STAGES | tests(arguments))
    return run_stages(STAGES)


def tests(arguments: Sequence[str]) -> dict[str, Sequence[str]]:
    """Return the stages of the tests: three processes, then those tests that measure time."""
    if arguments:
        return {"pytest": ["-m", "pytest", *arguments]}
    by_file = ["-n", "3", "--dist", "loadfile", "--no-loadscope-reorder"]
    return {
        "compiled loops": ["-m", "tests.warm"],
        "pytest": ["-m", "pytest", "-m", "not alone and not bundle", *by_file],
        "pytest, alone": ["-m", "pytest", "-m", "alone"],
    }


def main(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name, and return its exit code."""
    if not arguments:
        say(f"{__doc__}")
        return 2
    command, *rest = arguments
    if command in ("-h", "--help"):
        print(__doc__)
        return 0
    if command not in EXTRAS or (command in ("lint", "bundle") and rest):
        say(f"Unknown command: {' '.join(arguments)}\n\n{__doc__}")
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
