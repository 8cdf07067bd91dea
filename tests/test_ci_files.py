"""The workflow files and the hook that users copy from the example project name what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from pytest_extract.cli import COMMANDS
from pytest_extract.plugin.options import OPTIONS

ROOT = Path(__file__).parents[1]
PROJECT = ROOT / "example_project"
FILES = (".github/workflows/extraction.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml")

pytestmark = pytest.mark.skipif(not PROJECT.exists(), reason="the built wheel is under test")


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def texts(value):
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [text for each in parts for text in texts(each)]
    return [value] if isinstance(value, str) else []


WORKFLOW, PIPELINE, HOOKS = (read(PROJECT / name) for name in FILES) if PROJECT.exists() else ({}, {}, {})


@pytest.mark.parametrize("content", [WORKFLOW, PIPELINE, HOOKS], ids=FILES)
def test_options_and_commands_exist(content):
    commands = "\n".join(texts(content))
    assert "pytest" in commands
    assert set(re.findall(r"--extract-([\w-]+)", commands)) <= {option.name for option in OPTIONS}
    assert set(re.findall(r"^pytest-extract (\w+)", commands, re.MULTILINE)) <= COMMANDS.keys()


def test_the_workflows_run_the_suite_and_keep_its_reports():
    steps = WORKFLOW["jobs"]["gate"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    assert any("--extract-gate=regression" in run and "--extract-report=reports/comment.md" in run for run in runs)
    assert any("<!-- pytest-extract -->" in run and "body=@reports/comment.md" in run for run in runs)
    assert steps[-1]["with"]["path"] == "reports/"
    job = PIPELINE["extraction"]
    reports = job["artifacts"]["reports"]
    for option in (f"--extract-report=gitlab:{reports['codequality']}", f"--junitxml={reports['junit']}"):
        assert any(option in line for line in job["script"])


def test_only_the_jobs_that_commit_may_write_to_the_repository():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    jobs = WORKFLOW["jobs"].items()
    pushing = {name for name, job in jobs if any("git push" in text for text in texts(job))}
    writing = {name for name, job in jobs if job["permissions"]["contents"] == "write"}
    assert pushing == writing == {"accept", "nightly"}
    assert (PROJECT / WORKFLOW["env"]["OPTIONS"].split()[0].partition("=")[2]).is_file()


def test_the_hook_is_one_of_this_repository():
    hooks = {each["id"]: each for each in read(ROOT / ".pre-commit-hooks.yaml")}
    (repository,) = HOOKS["repos"]
    for hook in repository["hooks"]:
        assert hooks[hook["id"]]["entry"].split()[:2] == ["pytest-extract", "check"]
