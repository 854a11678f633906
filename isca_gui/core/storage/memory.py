"""How much memory is free, and the error of what needs more: one sentence with need and have."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# Files of Linux that say what a container may use, and what it uses.
_CONTAINERS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
# A library that cannot be loaded with less than this free is taken to lack the memory.
_LIBRARY = 256e6
ADVICE = "Close other programs, or use a smaller picture or fewer pictures."


class NotEnoughMemory(MemoryError):
    """Something needs more memory than is free; the message says how much of both."""


def require(need: float, what: str, advice: str = ADVICE) -> None:
    """Raise `NotEnoughMemory` if fewer than `need` bytes are free; `what` begins the sentence."""
    have = free()
    if have is not None and need > have:
        raise NotEnoughMemory(
            f"{what} needs about {size_text(need)} of memory, {_left(have)}. {advice}"
        )


def explanation(error: BaseException) -> str:
    """Return in two sentences that memory has run out, and what to do."""
    if isinstance(error, NotEnoughMemory):
        return str(error)
    reason = shortage(error)
    return f"{reason[0].upper()}{reason[1:]}. {ADVICE}"


def shortage(error: BaseException) -> str:
    """Return a clause about an allocation that failed: what it needed, where known, and had."""
    have = free()
    # NumPy's error knows the size of the array.
    need = getattr(error, "_total_size", None)
    wanted = "more"
    # Where that much is free, it is not so in one piece.
    if isinstance(need, int) and (have is None or need > have):
        wanted = size_text(need)
    left = "" if have is None else f" {_left(have)}"
    return f"there is not enough memory: {wanted} is needed{left}"


def spare_limited() -> None:
    """Keep the libraries of linear algebra to one thread where memory is limited.

    OpenBLAS reserves memory for each thread when it is loaded. Where it gets none it tries again
    for ever, deaf to signals. This must be called before NumPy is imported.
    """
    if _of_the_process() is not None:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def is_shortage(error: BaseException) -> bool:
    """Whether an error means that memory has run out, however the library calls it."""
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return True
    if isinstance(error, ImportError | OSError) and "shared object" in str(error):
        have = free()
        return have is not None and have < _LIBRARY
    return isinstance(error, MemoryError)


def size_text(size: float) -> str:
    """Return a number of bytes for a person to read, such as 1.2 GB or 340 MB."""
    if size >= 0.9995e9:
        return f"{size / 1e9:.3g} GB"
    return f"{max(size, 0) / 1e6:.0f} MB"


def free() -> float | None:
    """Return the bytes that this process may still take, or None where the system does not say."""
    found = [_of_the_machine(), _of_the_container(), _of_the_process()]
    known = [each for each in found if each is not None]
    return max(min(known), 0.0) if known else None


def _left(have: float) -> str:
    return f"and {size_text(have)} is free"


def _of_the_machine() -> float | None:
    if sys.platform == "win32":
        return _of_windows()
    found = _numbers("/proc/meminfo").get("MemAvailable")
    if found is not None:
        return found * 1024.0
    try:
        # macOS does not say what is free without a program of its own: half is a cautious guess.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    except (ValueError, OSError, AttributeError):
        return None


def _of_windows() -> float | None:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", "page", "free_page")),
            *((name, ctypes.c_ulonglong) for name in ("virtual", "free_virtual", "extended")),
        )

    status = Status()
    status.length = ctypes.sizeof(status)
    library = getattr(ctypes, "windll").kernel32  # noqa: B009 - other systems do not have it
    if not library.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return float(status.free)


def _of_the_container() -> float | None:
    for limit, used in _CONTAINERS:
        try:
            most = int(Path(limit).read_text())
            return float(most - int(Path(used).read_text()))
        except (OSError, ValueError):
            # There is no container, or its limit is the word "max".
            continue
    return None


def _of_the_process() -> float | None:
    """Return what a limit on the address space (`ulimit -v`) leaves."""
    if sys.platform == "win32":
        return None
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return None
    return most - _numbers("/proc/self/status").get("VmSize", 0) * 1024.0


def _numbers(file: str) -> dict[str, int]:
    """Return the numbers of a file of Linux with a name, a colon and kilobytes in each line."""
    found = {}
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return {}
    for line in lines:
        name, _, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            found[name] = int(words[0])
    return found
