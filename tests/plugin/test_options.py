"""Options of the command line and their twins in the ini file: what is taken, and what is refused."""

import re
from pathlib import Path

import pytest

from pytest_extract.extraction.recordings import DEFAULT_FOLDER
from pytest_extract.plugin.options import OPTION_GROUPS, OPTIONS, SETTINGS
from tests.plugin.conftest import refused


@pytest.fixture
def settings(pytester):
    """Without pytest's search for forgotten exceptions: at the end it collects the garbage of all tests, for seconds."""
    return lambda *args: pytester.parseconfigure("-p", "no:unraisableexception", *args).stash[SETTINGS]


def values(given, *names):
    return {name: getattr(given, name) for name in names}


def test_defaults_and_options_of_the_command_line(pytester, settings):
    given = settings()
    defaults = {"model": (), "judge": "llm", "record": "off", "gate": "case", "repeat": None}
    assert values(given, *defaults) == defaults
    assert given.recordings == pytester.path / DEFAULT_FOLDER
    with pytest.raises(AttributeError, match="settings are read-only"):
        given.judge = "exact"
    given = settings(
        "--extract-model=a/b",
        "--extract-model=c",
        "--extract-repeat=3",
        "--extract-budget=2.5",
        "--extract-dry-run",
        "--extract-report=out/r.jsonl",
    )
    expected = {"model": ("a/b", "c"), "repeat": 3, "budget": 2.5, "dry_run": True}
    assert values(given, *expected) == expected
    assert [(each.format.name, each.path) for each in given.report] == [("jsonl", pytester.path / "out" / "r.jsonl")]


def test_ini_twins_and_the_command_line_wins(pytester, settings):
    pytester.makeini(
        """
        [pytest]
        extract_model =
            a/b
            c
        extract_judge = fuzzy
        extract_repeat = 2
        extract_suite_thresholds =
            pass_rate=0.9
            f1=0.5
        """
    )
    suite = {"pass_rate": 0.9, "f1": 0.5}
    expected = {"model": ("a/b", "c"), "judge": "exact", "repeat": 2, "suite_thresholds": suite}
    assert values(settings("--extract-judge=exact"), *expected) == expected


NATIVE = pytest.mark.skipif(int(pytest.__version__.split(".")[0]) < 9, reason="pytest 8 reads no [tool.pytest]")


@NATIVE
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("file", ["pytest.toml", "pyproject.toml"])
def test_toml_values_of_every_type_are_taken(pytester, settings, file, quote):
    table = "pytest" if file == "pytest.toml" else "tool.pytest"
    (pytester.path / file).write_text(
        f"""
        [{table}]
        extract_concurrency = {quote}8{quote}
        extract_budget = {quote}0.0{quote}
        extract_timeout = {quote}60{quote}
        extract_repeat = {quote}2{quote}
        extract_judge = "fuzzy"
        extract_model = ["a/b", "c"]
        extract_by = "vendor"
        extract_suite_thresholds = {"{pass_rate = 0.9, f1 = 1}" if not quote else '["pass_rate=0.9", "f1=1"]'}
        """,
        encoding="utf-8",
    )
    expected = {"concurrency": 8, "budget": 0, "timeout": 60, "repeat": 3, "judge": "fuzzy"}
    expected |= {"model": ("a/b", "c"), "by": ("vendor",), "suite_thresholds": {"pass_rate": 0.9, "f1": 1}}
    assert values(settings("--extract-repeat=3"), *expected) == expected


@NATIVE
def test_a_toml_value_that_cannot_be_is_named(pytester, settings):
    wrong = "[pytest]\nextract_concurrency = true\nextract_repeat = 1.5\nextract_judge = ['exact', 'llm']\n"
    (pytester.path / "pytest.toml").write_text(wrong, encoding="utf-8")
    with pytest.raises(pytest.UsageError) as raised:
        settings()
    assert str(raised.value).splitlines() == [
        "extract_concurrency: 'true' must be a whole number, 1 or more",
        "extract_repeat: '1.5' must be a whole number, 1 or more",
        "extract_judge: takes one value, not a list of 2",
    ]


def test_a_path_counts_from_where_it_is_written(pytester, settings, monkeypatch):
    pytester.makeini("[pytest]\nextract_recordings = recs\n")
    below = pytester.mkdir("below")
    monkeypatch.chdir(below)
    assert settings().recordings == pytester.path / "recs"
    assert settings("--extract-record=once", "--extract-recordings=recs").recordings == Path(below) / "recs"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("record=onec", "--extract-record: 'onec' must be one of*did you mean 'once'?"),
        ("judge=gpt", "--extract-judge: 'gpt' must be one of exact, fuzzy, llm"),
        ("repeat=0", "--extract-repeat: '0' must be a whole number, 1 or more"),
        ("concurrency=two", "--extract-concurrency: 'two' must be a whole*"),
        ("timeout=0", "--extract-timeout: '0' must be a number of seconds above 0*"),
        ("timeout=inf", "--extract-timeout: 'inf' must be a number of seconds*"),
        ("budget=nan", "--extract-budget: 'nan' must be an amount in USD*"),
        ("budget=", "--extract-budget: '' must be an amount in USD*"),
        ("model= ", "--extract-model: ' ' must not be empty"),
        ("model=a model=a", "--extract-model: a is given twice"),
        ("mode=prompt mode=prompt", "--extract-mode: prompt is given twice"),
        ("gate=", "--extract-gate: '' must be one of*"),
        ("gate=suite", "--extract-gate=suite needs extract_suite_thresholds in the ini file*"),
        ("confirm=", "--extract-confirm: '' must be a whole number, 1 or more"),
        ("confirm=0", "--extract-confirm: '0' must be a whole number, 1 or more"),
        ("recordings=a", "--extract-recordings has no effect without --extract-record"),
        ("other-code=allow", "--extract-other-code has no effect without*"),
        ("force", "--extract-force has no effect without --extract-update-baseline*"),
        ("judge=exact judge-model=m", "--extract-judge-model has no effect without --extract-judge=llm"),
        ("update-baseline baseline=b dry-run", "--extract-update-baseline has no effect beside *--extract-dry-run"),
        ("update-baseline baseline=b update-gold=new", "--extract-update-baseline has no effect beside --extract-update-gold*"),
        ("gate=regression update-gold=new", "--extract-gate has no effect beside --extract-update-gold*"),
        ("from=conf.txt changed=HEAD", "--extract-changed has no effect beside --extract-from*"),
        ("from=conf.txt confirm", "--extract-confirm has no effect beside --extract-from, which calls nothing*"),
        ("from=", "--extract-from: '' must not be empty"),
        ("from=r.jsonl", "--extract-from: no such file: *r.jsonl"),
        ("from=conf.txt report=csv:conf.txt", "--extract-report: *conf.txt is what --extract-from reads*"),
        ("prompt=p.md", "--extract-prompt: no such file: *p.md"),
        ("prompt=conf.txt prompt=./../*/conf.txt", "--extract-prompt: *conf.txt is given twice"),
        ("report=", "--extract-report: '' must end in*"),
        ("report=r.html report=html:r.html", "--extract-report: *r.html is given twice"),
        ("report=r.htm", "--extract-report: 'r.htm' must end in .html, *; did you mean '.html'*"),
        ("report=gitlab:", "--extract-report: 'gitlab:' must end in *gitlab:FILE*"),
        ("report=agnet:typo.md", "--extract-report: 'agnet:typo.md' must end in *; did you mean 'agent'?*"),
    ],
)  # fmt: skip
def test_a_bad_value_is_a_usage_error(pytester, args, message):
    (pytester.path / "conf.txt").touch()
    given = ["model= "] if args == "model= " else args.split(" ")
    options = [f"--extract-{each.replace('../*', f'../{pytester.path.name}')}" for each in given]
    refused(pytester.runpytest(*options), f"*{message}*")


def test_rules_and_a_revision_are_taken_where_they_have_an_effect(pytester, settings):
    pytester.makeini("[pytest]\nextract_changed = HEAD\n")
    (pytester.path / "r.jsonl").touch()
    given = settings("--extract-from=r.jsonl", "--extract-model=a", "--extract-model=b", "--extract-rule=alpha=0.1")
    assert (given.rules, given.changed) == ({"alpha": 0.1}, None)


def test_all_mistakes_are_told_at_once(pytester):
    pytester.makeini("[pytest]\nextract_suite_thresholds = pass_rate\n")
    refused(
        pytester.runpytest("--extract-record=x", "--extract-repeat=-1"),
        "*--extract-repeat: '-1' must*",
        "*--extract-record: 'x' must*",
        "*extract_suite_thresholds: 'pass_rate' must*",
    )


def test_help_lists_every_option_in_the_groups_and_order_of_the_table(pytester):
    lines = pytester.runpytest("--help").outlines
    assert all(option.dest in "\n".join(lines) for option in OPTIONS if option.ini)
    for title, options in OPTION_GROUPS.items():
        start = lines.index(f"extract: {title}:")
        end = next(at for at, line in enumerate(lines) if at > start and line and not line.startswith(" "))
        shown = [line.split("=")[0].split()[0] for line in lines[start:end] if line.startswith("  --")]
        assert shown == [f"--extract-{option.name}" for option in options if option.command_line]


def test_help_is_one_sentence():
    sentence = re.compile(r"[A-Z](?!.*\. ).*\.")
    assert [option.name for option in OPTIONS if not sentence.fullmatch(option.help.replace("...", ""))] == []
