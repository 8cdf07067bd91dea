"""The tutorial, step by step: its files are written, its changes made, its commands run, and each shows what it says.

Also the recipe for pandas of the page on how to do things.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from pytest_extract.results import write_results
from tests.report.runs import GOLD, broken, scored, wrong

pytestmark = pytest.mark.usefixtures("compiled_modules")
BLOCK = re.compile(r"^```(python|json|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGE = re.compile(r"^# (\S+): (.+) -> (.+)$", re.MULTILINE)
STATUS = re.compile(r"\[exit status (\d)\]")


def run(command, folder, typed):
    environment = {**os.environ, "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:randomly", "COLUMNS": "200"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    words = [*command.split(), *(["--terminal"] if command == "pytest-extract review" else [])]
    done = subprocess.run(words, cwd=folder, env=environment, input=typed, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def reviewed(folder):
    """Return what a reviewer types who takes the amount with VAT, and then accepts the rest of each draft."""
    keys = []
    for path in sorted((folder / "cases" / "golds").glob("*.review.json")):
        (field,) = json.loads(path.read_text("utf-8"))["golds"]["$"]["open"].values()
        sources = [candidate["sources"] for candidate in field["candidates"]]
        keys += [str(sources.index(["extractors:careful"]) + 1), "a"]
    return "".join(f"{key}\n" for key in keys)


def assert_shown(wanted, told):
    """Every line of the page stands in the output, in order; `...` stands for anything, at the end of a line too."""
    at = 0
    for line in wanted.splitlines():
        if line.strip() in ("...", ""):
            continue
        found = re.compile(".*".join(map(re.escape, line.split("...")))).search(told, at)
        assert found, f"{line!r} is not in what follows:\n{told[at:]}"
        at = found.end()


def test_the_tutorial_shows_what_it_says(tmp_path):
    page = (resources.files("pytest_extract.docs") / "tutorial.md").read_text(encoding="utf-8")
    commands = 0
    for block in BLOCK.finditer(page):
        kind, text = block.groups()
        if changes := CHANGE.findall(text):
            for name, old, new in changes:
                source = (tmp_path / name).read_text("utf-8")
                assert old in source
                (tmp_path / name).write_text(source.replace(old, new), "utf-8")
        elif kind == "json":  # its name stands before it: JSON has no comments
            (tmp_path / re.findall(r"`([\w.]+\.json)`", page[: block.start()])[-1]).write_text(text, "utf-8")
        elif kind == "python":
            first, _, rest = text.partition("\n")
            (tmp_path / first.lstrip("# ")).write_text(rest, "utf-8")
        else:
            for command, wanted in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                status, told = run(command, tmp_path, reviewed(tmp_path) if "review" in command.split() else "")
                expected = STATUS.search(wanted)
                if "draft" not in command:  # red, as nobody has reviewed the golds
                    assert status == (int(expected[1]) if expected else 0), told
                assert_shown(STATUS.sub("", wanted), told)
                commands += 1
    assert commands == 8


def test_the_recipe_for_pandas_runs(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    page = (resources.files("pytest_extract.docs") / "howto.md").read_text(encoding="utf-8")
    (recipe,) = [text for kind, text in BLOCK.findall(page) if kind == "python"]
    results = [scored("a", GOLD, cost_usd=0.5), scored("b", wrong(total=1, vendor="x")), broken("c", "down")]
    write_results(tmp_path / "results.parquet", results)
    monkeypatch.chdir(tmp_path)
    found = {}
    exec(compile(recipe, "howto.md", "exec"), found)
    assert found["rates"]["pass_rate"].tolist() == [pytest.approx((1 + 1 / 3) / 2)]
    assert found["worst"].to_dict() == {"vendor": 1, "total": 1}
