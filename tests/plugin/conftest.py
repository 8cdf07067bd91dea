"""A small project with an extractor that answers from the document's own text."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from pytest_extract import redact as secrets
from pytest_extract.results import read_results
from tests.loaded import call_model_once, load_everything

load_everything()

ITEM = {"type": "object", "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}
ITEMS = {"type": "array", "items": ITEM}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"vendor": {"type": "string"}, "total": {"type": "number"}, "items": ITEMS},
    "required": ["vendor", "total"],
}
GOLD: dict[str, Any] = {
    "vendor": "ACME GmbH",
    "total": 12.5,
    "items": [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 10}],
}
ECHO = """
import pytest

@pytest.fixture(scope="session")
def extractor():
    def extract(document, model=None):
        return document.text
    return extract
"""
FIXTURE = """
import json, os, pathlib, signal, threading, time, pytest
from pytest_extract import Extraction

HERE = pathlib.Path(__file__).parent

@pytest.fixture{fixture}
def extractor({needs}):
{body}
"""
EXTRACTOR = """
def extract({arguments}):
    with (HERE / "calls").open("a") as log:
        log.write("x")
{body}
return extract
"""
GREEN, RED, STOPPED = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED
plain_and_workers = pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["plain", "n1"])


@pytest.fixture(scope="session")
def called_model() -> None:
    """For tests that call a model in this process."""
    call_model_once()


@pytest.fixture(autouse=True)
def quiet_plugins(compiled_modules: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load no other plugins in the inner runs than these two: hypothesis, asyncio and others take half of their time.

    A test that is about another plugin loads it with `-p`. (pytester itself has thrown PYTEST_ADDOPTS away by now.)
    """
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p pytest_extract -p xdist")
    monkeypatch.setenv("COLUMNS", "120")
    # An inner run must not meet the compiled file of a conftest.py that the test has edited since, within one second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    # What an inner run finds out about its environment ends with the test.
    monkeypatch.setattr(secrets, "_current", None)
    secrets.TALLY.taken()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)


# what a project has


@pytest.fixture
def write_files(pytester):
    """Write files below the root by their path: a text, bytes, or what is written as JSON."""

    def write(files):
        for name, content in files.items():
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = content if isinstance(content, str | bytes) else json.dumps(content)
            path.write_bytes(text.encode() if isinstance(text, str) else text)

    return write


@pytest.fixture
def write_case(write_files):
    """Write `NAME.extract.yaml` with an inline document whose text is the output that the echo extractor gives."""

    def write(name, output=GOLD, **keys):
        text = output if isinstance(output, str) else json.dumps(output)
        write_files({f"{name}.extract.yaml": {"text": text, "schema": SCHEMA, "gold": GOLD, **keys}})

    return write


@pytest.fixture
def write_suite(write_files):
    """Write all.extract.yaml: cases `c0`, `c1`, ... whose document is the gold as JSON, where they name nothing else."""

    def write(cases, name="all", **defaults):
        full = [
            {"id": f"c{number}", **({"text": json.dumps(case["gold"])} if "gold" in case else {}), **case}
            for number, case in enumerate(cases)
        ]
        write_files({f"{name}.extract.yaml": {"defaults": defaults, "cases": full}})

    return write


@pytest.fixture
def echo(write_files):
    write_files({"conftest.py": ECHO})


@pytest.fixture
def write_fixture(write_files):
    """Write a conftest.py whose fixture `extractor` has this body."""

    def write(body, needs="", fixture="(scope='session')", folder="."):
        lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
        write_files({f"{folder}/conftest.py": FIXTURE.format(body=lines, needs=needs, fixture=fixture)})

    return write


@pytest.fixture
def write_extractor(write_fixture):
    """Write a conftest.py whose extractor has this body and appends to the file `calls`."""

    def write(body, arguments="document", **keys):
        lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
        write_fixture(EXTRACTOR.format(body=lines, arguments=arguments), **keys)

    return write


@pytest.fixture
def add_to_conftest(pytester):
    """Add lines to conftest.py, after those of `write_extractor`."""

    def add(lines):
        with (pytester.path / "conftest.py").open("a", encoding="utf-8") as file:
            file.write("\n" + textwrap.dedent(lines))

    return add


@pytest.fixture
def git(pytester):
    def git(*arguments):
        who = ("-c", "user.email=dev@example.org", "-c", "user.name=dev", "-c", "commit.gpgsign=false")
        for command in (("add", "."), arguments) if arguments[0] == "commit" else (arguments,):
            subprocess.run(["git", *who, *command], cwd=pytester.path, check=True, capture_output=True)

    return git


# what a run did, said and wrote


@pytest.fixture
def run(pytester):
    """Run pytest, and hold the counts of outcomes, the status and the lines of output that are given."""

    def run(*args, status=None, lines=(), **outcomes):
        result = pytester.runpytest(*args)
        if outcomes:
            result.assert_outcomes(**outcomes)
        assert status in {None, result.ret}
        result.stdout.fnmatch_lines(lines)
        return result

    return run


def shows(result, *lines):
    result.stdout.fnmatch_lines(lines)


def refused(result, *lines):
    """Hold that the run was a usage error with these lines."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(lines)


def results(pytester, name="r.jsonl"):
    return read_results(pytester.path / name).results


def text_of(pytester, name):
    return (pytester.path / name).read_text(encoding="utf-8")


@pytest.fixture
def calls(pytester):
    """Count the calls of `write_extractor` since the last count."""

    def count():
        log = pytester.path / "calls"
        made = len(log.read_text()) if log.exists() else 0
        log.unlink(missing_ok=True)
        return made

    return count
