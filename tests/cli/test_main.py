"""What all commands share: help, versions, wrong usage, options without effect, and what is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from pytest_extract.cli import COMMANDS
from pytest_extract.results import write_results
from tests.commands import write
from tests.core.aggregate.test_run import RUN


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(run, command):
    ended = run(f"{command} --help")
    assert (ended.status, f"usage: pytest-extract {command}" in ended.out) == (0, True)


def test_help_lists_every_command_and_says_where_the_manual_is(run, monkeypatch):
    def listed(ended):
        assert ended.status == 0
        return [line.split()[0] for line in ended.lines if line.startswith("    ")]

    names = dict.fromkeys(name.partition(" ")[0] for name in COMMANDS)
    for command in ("--help", ""):
        assert [name for name in listed(run(command)) if name in names] == list(names)
    inside = {name.partition(" ")[2] for name in COMMANDS if name.startswith("schema ")}
    assert {*listed(run("schema"))} >= inside
    monkeypatch.setenv("COLUMNS", "40")
    folder = run("--help").out.strip().rpartition("The manual, page by page: ")[2]
    assert (Path(folder) / "scoring.md").is_file()


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"pytest-extract {version('pytest-extract')}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shells_complete_commands_and_their_options(run, shell):
    script = run(f"--print-completion {shell}").out
    assert "leaderboard" in script
    assert "--annotate" in script
    if shell == "bash":
        asked = "COMP_WORDS=(pytest-extract sch); COMP_CWORD=1; _shtab_pytest_extract; echo ${COMPREPLY[@]}"
        done = subprocess.run(["bash", "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["schema"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("scor", "invalid choice: 'scor' (choose from "),
        ("merge", "required: SHARD.jsonl"),
        ("merge none.jsonl -o out.jsonl", "none.jsonl"),
        ("score s g o --jugde=llm", "score: error: unrecognized arguments: --jugde=llm; did you mean '--judge'?"),
        ("schema print more", "schema print: error: unrecognized arguments: more"),
        ("schema s.json", "invalid choice: 's.json' (choose from "),
        ("--print-completion dash", "'dash' is none of bash, zsh, "),
        ("--jsno", "pytest-extract: error: unrecognized arguments: --jsno"),
    ],
)
def test_wrong_usage_ends_with_2(run, command, message):
    run(command).assert_refused(message)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("report run.jsonl --auto-accept=0.9 --output=page.html", "--output has no effect with --auto-accept"),
        ("report run.jsonl --auto-accept=0.9 --by=depth", "--by has no effect with --auto-accept"),
        ("report run.jsonl --auto-accept=0.9 --calibration", "--calibration has no effect with --auto-accept"),
        ("report run.jsonl --calibration -o page.html", "--output has no effect with --calibration"),
        ("report run.jsonl -o page.html --json", "--json has no effect with --output"),
        ("report run.jsonl -o page.md --html-pages=all", "--html-pages has no effect without --output=FILE.html"),
        ("leaderboard run.jsonl --samples=9", "--samples has no effect without --as=sob"),
        ("leaderboard run.jsonl --modality=image", "--modality has no effect without --as=sob"),
        ("check gold.json --schema=schema.json --evidence --json", "--evidence and --json have no effect with "),
        ("score schema.json gold.json gold.json --judge-model=m", "--judge-model has no effect without --judge=llm"),
        ("score schema.json gold.json gold.json --as=sob --all", "--all has no effect with --document-report or --as"),
        ("import deepjsoneval run.jsonl here --modality=text", "--modality has no effect for deepjsoneval"),
        ("explain date --all", "--all has no effect beside names"),
        ("explain --markdown --extensions=conftest", "--extensions has no effect with --markdown"),
        ("agree verdicts.yaml --dispute", "--dispute has no effect on verdicts"),
        ("agree gold.json gold.json --schema=schema.json --min-kappa=0.8", "--min-kappa has no effect on golds"),
        ("review --list --by=anna", "--by has no effect with --list"),
        ("review --terminal --port=80", "--port has no effect with --terminal"),
        ("draft one.extract.yaml --schema=schema.json", "--schema has no effect without documents"),
        ("schema resolve schema.json --from=openapi --published", "--published has no effect with --from"),
        ("schema infer collections:Counter --each", "--each has no effect for a class"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(run, command, told):
    write_results("run.jsonl", RUN)
    write({"gold.json": {"a": 1}, "schema.json": {"type": "object"}})
    write({"one.extract.yaml": "{text: a, schema: {}, gold: {}}"})
    run(command).assert_refused(told)


def python(*command, then="", **environment):
    """Return what a command prints in a Python of its own, and code after it."""
    code = f"import sys; sys.argv[1:] = {[*command]!r}\nfrom pytest_extract.cli import main\n"
    code += f"try: main()\nexcept SystemExit: pass\n{then}"
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout


def test_what_a_terminal_cannot_show_is_escaped():
    assert "2024\\u5e743\\u67084" in python("explain", "date", PYTHONIOENCODING="ascii")


HEAVY = {"jsonschema", "statistics", "rapidfuzz", "numpy", "lxml", "jinja2", "yaml"}
UNUSED = ("cases.load", "core.aggregate", "evidence", "golds", "regression", "report.diff", "schema_tools.golds")


def test_commands_import_what_they_need_and_nothing_else(run, tmp_path):
    """Of the package, and of the libraries that take long to import."""
    write({"s.json": {"properties": {"a": {"type": "string"}}}, "g.json": {"a": "x"}, "o.json": {"a": "y"}})

    def loaded(*command):
        told = python(*command, then="print('LOADED', *sys.modules)")
        return {name for name in told.splitlines()[-1].split() if name.startswith("pytest_extract.") or name in HEAVY}

    assert loaded("--help") == {"pytest_extract.cli", "pytest_extract.lazy"}
    commands = {name for name in loaded("schema", "print") if name.startswith("pytest_extract.cli.")}
    assert commands == {"pytest_extract.cli.files", "pytest_extract.cli.schema"}
    score = loaded("score", "s.json", "g.json", "o.json")
    assert not {name for name in score if name in HEAVY or name.partition(".")[2].startswith(UNUSED)}
