"""The binding to Qt that the window relies on: signals from a thread keep every reference.

PySide6 6.12.0 on Python 3.11 loses a reference at every emit and aborts after some hundred of them.
An abort would take pytest with it, so the proof runs in a process of its own.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

from tests.places import ROOT

EMITS = 20_000
KNOWN_BAD = ("6.11.0", "6.11.1", "6.12.0")

PROOF = """
import gc, json, sys, weakref
from PySide6.QtCore import QCoreApplication, QObject, QThread, Signal, Slot

EMITS = int(sys.argv[1])

class Report:
    "Something that can be referred to weakly."
    def __init__(self, number):
        self.number = number

class Worker(QThread):
    shared = Signal(object)
    fresh = Signal(object)
    two = Signal(int, object)

    def __init__(self, report):
        super().__init__()
        self.report, self.alive = report, []

    def run(self):
        for number in range(EMITS):
            self.shared.emit(self.report)
            own = Report(number)
            if number % 100 == 0:
                self.alive.append(weakref.ref(own))
            self.fresh.emit(own)
            self.two.emit(number, self.report)

class Receiver(QObject):
    def __init__(self):
        super().__init__()
        self.same = self.order = self.pairs = self.elsewhere = 0

    @Slot(object)
    def on_shared(self, report):
        self.same += report is REPORT
        self.elsewhere += QThread.currentThread() is not QCoreApplication.instance().thread()

    @Slot(object)
    def on_fresh(self, report):
        self.order += report.number == self.order

    @Slot(int, object)
    def on_two(self, number, report):
        self.pairs += number == self.pairs and report is REPORT

REPORT = Report(-1)
app = QCoreApplication([])
receiver, worker = Receiver(), Worker(REPORT)
worker.shared.connect(receiver.on_shared)
worker.fresh.connect(receiver.on_fresh)
worker.two.connect(receiver.on_two)
worker.finished.connect(app.quit)
before = sys.getrefcount(REPORT)
worker.start()
app.exec()
assert worker.wait(10_000)
app.processEvents()
gc.collect()
print(json.dumps({
    "same": receiver.same, "order": receiver.order,
    "pairs": receiver.pairs, "elsewhere": receiver.elsewhere,
    "before": before, "after": sys.getrefcount(REPORT),
    "left": sum(ref() is not None for ref in worker.alive), "watched": len(worker.alive),
}))
"""

DIRECT = """
import json, sys
from PySide6.QtCore import QCoreApplication, QObject, Signal

EMITS = int(sys.argv[1])

class Sender(QObject):
    changed = Signal(object)

app = QCoreApplication([])
sender, got, value = Sender(), [0], {"a": 1}

def on_changed(it):
    got[0] += it is value

sender.changed.connect(on_changed)
trues = sys.getrefcount(True)  # what an emit gives back; the first to go in 6.12.0
counts = [sys.getrefcount(thing) for thing in (value, sender, on_changed)]
for _ in range(EMITS):
    sender.changed.emit(value)
after = [sys.getrefcount(thing) for thing in (value, sender, on_changed)]
lost = trues - sys.getrefcount(True)
print(json.dumps({"got": got[0], "before": counts, "after": after, "lost": lost}))
"""


def prove(script: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", script, str(EMITS)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    assert done.stderr == ""
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_thread_that_emits_20000_times_loses_and_keeps_no_reference() -> None:
    found = prove(PROOF)
    assert found["same"] == found["order"] == found["pairs"] == EMITS, (
        "all arrive, in order, as they were"
    )
    assert found["elsewhere"] == 0, "the slots run in the receiver's thread"
    assert found["after"] == found["before"]
    assert found["watched"] == EMITS // 100
    assert found["left"] == 0, "what was delivered is let go"


def test_emits_within_one_thread_keep_references_steady() -> None:
    found = prove(DIRECT)
    assert found["got"] == EMITS
    assert found["after"] == found["before"]
    assert found["lost"] in range(-100, 100)


def requirement() -> Requirement:
    project = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text("utf-8"))
    wanted = [Requirement(text) for text in project["project"]["dependencies"]]
    return next(one for one in wanted if one.name.lower().replace("-", "_") == "pyside6_essentials")


def test_the_installed_qt_is_within_the_bounds() -> None:
    installed = importlib.metadata.version("PySide6_Essentials")
    assert requirement().specifier.contains(installed)
    assert importlib.metadata.version("shiboken6") == installed


@pytest.mark.parametrize("version", KNOWN_BAD)
def test_the_bounds_leave_out_the_versions_known_to_be_broken(version: str) -> None:
    assert not requirement().specifier.contains(version)
