"""The tutorial, step by step: its files are written, its changes made, its commands run, and each shows what it says.

Also the recipe for pandas of the page on how to do things.
"""

from __future__ import annotations

import io
import json
import re
import sys
from importlib import resources

import pytest

from pytest_extract.cli import main
from pytest_extract.results import write_results
from tests.loaded import load_everything
from tests.report.runs import GOLD, broken, scored, wrong

load_everything()

BLOCK = re.compile(r"^```(python|json|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHANGE = re.compile(r"^# (\S+): (.+) -> (.+)$", re.MULTILINE)
STATUS = re.compile(r"\[exit status (\d)\]")


@pytest.fixture
def run(pytester, monkeypatch, capfd):
    """Run a command of the page in this process; returns its exit status and what it prints."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:cacheprovider -p no:randomly -p no:asyncio")
    monkeypatch.setenv("COLUMNS", "200")

    def run(command, typed):
        name, *args = command.split()
        sys.modules.pop("extractors", None)  # the page changes it on the way
        if name == "python":
            result = pytester.runpython(*args)
        elif name == "pytest":
            result = pytester.runpytest_inprocess(*args)
        else:
            monkeypatch.setattr("sys.stdin", io.StringIO(typed))
            capfd.readouterr()
            status = main([*args, *(["--terminal"] if args == ["review"] else [])])
            return status, "".join(capfd.readouterr())
        return result.ret, f"{result.stdout}\n{result.stderr}"

    return run


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


def test_the_tutorial_shows_what_it_says(run, pytester):
    folder = pytester.path
    page = (resources.files("pytest_extract.docs") / "tutorial.md").read_text(encoding="utf-8")
    commands = 0
    for block in BLOCK.finditer(page):
        kind, text = block.groups()
        if changes := CHANGE.findall(text):
            for name, old, new in changes:
                source = (folder / name).read_text("utf-8")
                assert old in source
                (folder / name).write_text(source.replace(old, new), "utf-8")
        elif kind == "json":  # its name stands before it: JSON has no comments
            (folder / re.findall(r"`([\w.]+\.json)`", page[: block.start()])[-1]).write_text(text, "utf-8")
        elif kind == "python":
            first, _, rest = text.partition("\n")
            (folder / first.lstrip("# ")).write_text(rest, "utf-8")
        else:
            for command, wanted in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                status, told = run(command, reviewed(folder) if "review" in command.split() else "")
                expected = STATUS.search(wanted)
                if "draft" not in command:  # red, as nobody has reviewed the golds
                    assert status == (int(expected[1]) if expected else 0), told
                assert_shown(STATUS.sub("", wanted), told)
                commands += 1
    assert commands == 8


def test_what_the_page_shows_and_the_command_does_not_is_found():
    with pytest.raises(AssertionError, match="is not in what follows"):
        assert_shown("8 of 8 golds ...\n", "8 of 9 golds drafted")


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
