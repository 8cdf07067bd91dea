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


def texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("name", FILES)
def test_options_and_commands_exist(name: str) -> None:
    commands = "\n".join(texts(yaml.safe_load((PROJECT / name).read_text(encoding="utf-8"))))
    assert re.search(r"pytest", commands)
    named = set(re.findall(r"--extract-([\w-]+)", commands))
    assert named <= {option.name for option in OPTIONS}
    for command in re.findall(r"^pytest-extract (\w+)", commands, re.MULTILINE):
        assert command in COMMANDS


def test_the_workflows_run_the_suite_and_keep_its_reports() -> None:
    workflow = yaml.safe_load((PROJECT / FILES[0]).read_text(encoding="utf-8"))
    steps = workflow["jobs"]["gate"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    assert any("--extract-gate=regression" in run and "--extract-report=reports/comment.md" in run for run in runs)
    assert any("<!-- pytest-extract -->" in run and "body=@reports/comment.md" in run for run in runs)
    assert steps[-1]["with"]["path"] == "reports/"
    job = yaml.safe_load((PROJECT / FILES[1]).read_text(encoding="utf-8"))["extraction"]
    assert any(
        f"--extract-report=gitlab:{job['artifacts']['reports']['codequality']}" in line for line in job["script"]
    )
    assert any(f"--junitxml={job['artifacts']['reports']['junit']}" in line for line in job["script"])


def test_only_the_jobs_that_commit_may_write_to_the_repository() -> None:
    workflow = yaml.safe_load((PROJECT / FILES[0]).read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    pushing = {name for name, job in workflow["jobs"].items() if any("git push" in text for text in texts(job))}
    writing = {name for name, job in workflow["jobs"].items() if job["permissions"]["contents"] == "write"}
    assert pushing == writing == {"accept", "nightly"}
    assert (PROJECT / workflow["env"]["OPTIONS"].split()[0].partition("=")[2]).is_file()


def test_the_hook_is_one_of_this_repository() -> None:
    (repository,) = yaml.safe_load((PROJECT / FILES[2]).read_text(encoding="utf-8"))["repos"]
    hooks = {each["id"]: each for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    for hook in repository["hooks"]:
        assert hooks[hook["id"]]["entry"].split()[:2] == ["pytest-extract", "check"]
