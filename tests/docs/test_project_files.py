"""The workflow and the hooks do what the documents promise."""

from __future__ import annotations

import re
import tomllib

from tests.docs.documents import README, commands
from tests.places import ROOT

WORKFLOW = (ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8")
HOOKS = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
BUG_REPORT = (ROOT / ".github" / "ISSUE_TEMPLATE" / "bug_report.yml").read_text("utf-8")


def test_the_workflow_runs_the_two_commands_of_the_readme() -> None:
    promised = [
        line.split()[1:] for line in commands(README.read_text("utf-8")) if "dev.py" in line
    ]
    run = [line.split()[1:] for line in re.findall(r"- run: (.+)", WORKFLOW)]
    assert run == promised


def test_the_workflow_covers_the_systems_and_the_oldest_python() -> None:
    for system in ("ubuntu", "windows", "macos"):
        assert f"{system}-latest" in WORKFLOW
    versions = re.findall(r'"(3\.\d+)"', WORKFLOW)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["requires-python"] == f">={versions[0]}"
    assert versions == ["3.11", "3.12", "3.13"]


def test_the_hooks_run_the_quick_checks() -> None:
    entries = re.findall(r"entry: (.+)", HOOKS)
    for check in ("ruff check", "ruff format", "mypy", "tests/test_architecture.py"):
        assert any(check in entry for entry in entries), check


def test_a_bug_report_asks_for_what_messages_copies() -> None:
    assert "Messages" in BUG_REPORT
    assert "press Copy" in BUG_REPORT
    assert "isca --version" in BUG_REPORT
