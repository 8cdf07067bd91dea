"""The example project works as its README says: each command is run, in order, and gives the output that stands there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PROJECT = Path(__file__).parents[1] / "example_project"
README = PROJECT / "README.md"
_BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


pytestmark = pytest.mark.usefixtures("compiled_modules")


class Step(NamedTuple):
    command: str
    output: str


def steps(text: str) -> list[Step]:
    """Commands (`$ ...`) of all console blocks, each with the lines that follow it."""
    found = []
    for block in _BLOCK.findall(text):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, output = part.partition("\n")
            found.append(Step(command, output))
    return found


def run(command: str, folder: Path) -> str:
    words = f"{sys.executable} -m pytest -p no:randomly -p no:cacheprovider -p no:asyncio -p no:anyio -p no:hypothesispytest"
    shell = re.sub(r"^pytest\b", words, command)
    env = {name: value for name, value in os.environ.items() if name not in {"CI", "PYTEST_ADDOPTS", "FORCE_COLOR"}}
    env |= {"COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run(shell, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout


def comparable(output: str, folder: Path) -> list[str]:
    """Without what differs between two runs: times, the folder, empty lines."""
    text = output.replace(f"{folder}/", "")
    text = re.sub(r"\b\d+(\.\d+)? ?m?s\b", "0 s", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project") / "example_project"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    return folder


def test_every_command_of_the_readme_gives_what_stands_there(project):
    told = steps(README.read_text(encoding="utf-8"))
    assert len(told) >= 6
    for step in told:
        assert comparable(run(step.command, project), project) == comparable(step.output, project), step.command


def test_it_has_what_a_newcomer_should_see():
    documents = [path for path in (PROJECT / "documents").rglob("*") if path.is_file()]
    assert {path.suffix for path in documents} >= {".pdf", ".txt", ".md", ".html", ".png"}
    assert len(documents) >= 8
    assert len(list((PROJECT / "schemas").glob("*.json"))) == 3


if __name__ == "__main__":  # writes the outputs into the README: python tests/test_example_project.py
    import tempfile

    text = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "example_project"
        shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
        for step in steps(text):
            output = "\n".join(comparable(run(step.command, copy), copy))
            text = text.replace(
                f"$ {step.command}\n{step.output}",
                f"$ {step.command}\n{output}\n" if output else f"$ {step.command}\n",
                1,
            )
    README.write_text(text, encoding="utf-8")
