from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_extract.extraction.recordings import DEFAULT_FOLDER
from pytest_extract.plugin.options import OPTION_GROUPS, OPTIONS, SETTINGS, Settings


def settings(pytester: pytest.Pytester, *args: str) -> Settings:
    """Without pytest's search for forgotten exceptions: at the end it collects the garbage of all tests, for seconds."""
    return pytester.parseconfigure("-p", "no:unraisableexception", *args).stash[SETTINGS]


def test_defaults(pytester: pytest.Pytester) -> None:
    given = settings(pytester)
    assert given.model == ()
    assert given.judge == "llm"
    assert given.record == "off"
    assert given.gate == "case"
    assert given.repeat is None
    assert given.recordings == pytester.path / "extract-recordings"


def test_options_of_the_command_line(pytester: pytest.Pytester) -> None:
    given = settings(
        pytester, "--extract-model=a/b", "--extract-model=c", "--extract-repeat=3", "--extract-budget=2.5",
        "--extract-dry-run", "--extract-report=out/r.jsonl",
    )  # fmt: skip
    assert given.model == ("a/b", "c")
    assert given.repeat == 3
    assert given.budget == 2.5
    assert given.dry_run
    assert [(each.format.name, each.path) for each in given.report] == [("jsonl", pytester.path / "out" / "r.jsonl")]


def test_ini_twins_and_the_command_line_wins(pytester: pytest.Pytester) -> None:
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
    given = settings(pytester, "--extract-judge=exact")
    assert given.model == ("a/b", "c")
    assert given.judge == "exact"
    assert given.repeat == 2
    assert given.suite_thresholds == {"pass_rate": 0.9, "f1": 0.5}


NATIVE = pytest.mark.skipif(int(pytest.__version__.split(".")[0]) < 9, reason="pytest 8 reads no [tool.pytest]")


@NATIVE
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("file", ["pytest.toml", "pyproject.toml"])
def test_toml_values_of_every_type_are_taken(pytester: pytest.Pytester, file: str, quote: str) -> None:
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
    given = settings(pytester, "--extract-repeat=3")
    assert (given.concurrency, given.budget, given.timeout, given.repeat) == (8, 0, 60, 3)
    assert (given.judge, given.model, given.by) == ("fuzzy", ("a/b", "c"), ("vendor",))
    assert given.suite_thresholds == {"pass_rate": 0.9, "f1": 1}


@NATIVE
def test_a_toml_value_that_cannot_be_is_named(pytester: pytest.Pytester) -> None:
    (pytester.path / "pytest.toml").write_text(
        "[pytest]\nextract_concurrency = true\nextract_repeat = 1.5\nextract_judge = ['exact', 'llm']\n",
        encoding="utf-8",
    )
    with pytest.raises(pytest.UsageError) as raised:
        settings(pytester)
    assert str(raised.value).splitlines() == [
        "extract_concurrency: 'true' must be a whole number, 1 or more",
        "extract_repeat: '1.5' must be a whole number, 1 or more",
        "extract_judge: takes one value, not a list of 2",
    ]


def test_a_path_counts_from_where_it_is_written(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeini("[pytest]\nextract_recordings = recs\n")
    below = pytester.mkdir("below")
    monkeypatch.chdir(below)
    assert settings(pytester).recordings == pytester.path / "recs"
    assert settings(pytester, "--extract-record=once", "--extract-recordings=recs").recordings == Path(below) / "recs"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--extract-record=onec"], "--extract-record: 'onec' must be one of*did you mean 'once'?", id="nearest"),
        pytest.param(["--extract-judge=gpt"], "--extract-judge: 'gpt' must be one of exact, fuzzy, llm", id="choice"),
        pytest.param(["--extract-repeat=0"], "--extract-repeat: '0' must be a whole number, 1 or more", id="zero"),
        pytest.param(["--extract-concurrency=two"], "--extract-concurrency: 'two' must be a whole*", id="word"),
        pytest.param(["--extract-timeout=0"], "--extract-timeout: '0' must be a number of seconds above 0*", id="no-time"),
        pytest.param(["--extract-timeout=inf"], "--extract-timeout: 'inf' must be a number of seconds*", id="endless"),
        pytest.param(["--extract-budget=nan"], "--extract-budget: 'nan' must be an amount in USD*", id="nan"),
        pytest.param(["--extract-model= "], "--extract-model: ' ' must not be empty", id="empty"),
        pytest.param(["--extract-budget="], "--extract-budget: '' must be an amount in USD*", id="no-amount"),
        pytest.param(["--extract-from="], "--extract-from: '' must not be empty", id="no-run"),
        pytest.param(["--extract-gate="], "--extract-gate: '' must be one of*", id="empty-gate"),
        pytest.param(["--extract-confirm="], "--extract-confirm: '' must be a whole number, 1 or more", id="empty-number"),
        pytest.param(["--extract-report="], "--extract-report: '' must end in*", id="empty-report"),
        pytest.param(["--extract-recordings=a"], "--extract-recordings has no effect without --extract-record", id="no-record"),
        pytest.param(["--extract-other-code=allow"], "--extract-other-code has no effect without*", id="no-replay"),
        pytest.param(["--extract-update-baseline", "--extract-baseline=b.json", "--extract-dry-run"], "--extract-update-baseline has no effect beside *--extract-dry-run", id="baseline-of-no-run"),
        pytest.param(["--extract-update-baseline", "--extract-baseline=b.json", "--extract-update-gold=new"], "--extract-update-baseline has no effect beside --extract-update-gold*", id="baseline-and-gold"),
        pytest.param(["--extract-gate=regression", "--extract-update-gold=new"], "--extract-gate has no effect beside --extract-update-gold*", id="gate-and-gold"),
        pytest.param(["--extract-force"], "--extract-force has no effect without --extract-update-baseline*", id="no-update"),
        pytest.param(["--extract-judge=exact", "--extract-judge-model=m"], "--extract-judge-model has no effect without --extract-judge=llm", id="no-judge"),
        pytest.param(["--extract-from=conf.txt", "--extract-changed=HEAD"], "--extract-changed has no effect beside --extract-from*", id="changed-past"),
        pytest.param(["--extract-prompt=conf.txt", "--extract-prompt=./../*/conf.txt"], "--extract-prompt: *conf.txt is given twice", id="same-prompt"),
        pytest.param(["--extract-prompt=p.md"], "--extract-prompt: no such file: *p.md", id="prompt"),
        pytest.param(["--extract-from=r.jsonl"], "--extract-from: no such file: *r.jsonl", id="from"),
        pytest.param(["--extract-from=conf.txt", "--extract-report=csv:conf.txt"], "--extract-report: *conf.txt is what --extract-from reads*", id="same-file"),
        pytest.param(["--extract-report=r.html", "--extract-report=html:r.html"], "--extract-report: *r.html is given twice", id="twice-written"),
        pytest.param(["--extract-report=r.htm"], "--extract-report: 'r.htm' must end in .html, *; did you mean '.html'*", id="suffix"),
        pytest.param(["--extract-report=gitlab:"], "--extract-report: 'gitlab:' must end in *gitlab:FILE*", id="no-file"),
        pytest.param(["--extract-report=agnet:typo.md"], "--extract-report: 'agnet:typo.md' must end in *; did you mean 'agent'?*", id="no-format"),
        pytest.param(["--extract-model=a", "--extract-model=a"], "--extract-model: a is given twice", id="twice"),
    ],
)  # fmt: skip
def test_a_bad_value_is_a_usage_error(pytester: pytest.Pytester, args: list[str], message: str) -> None:
    (pytester.path / "conf.txt").touch()
    result = pytester.runpytest(*(arg.replace("../*", f"../{pytester.path.name}") for arg in args))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])


def test_rules_and_a_revision_are_taken_where_they_have_an_effect(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nextract_changed = HEAD\n")
    (pytester.path / "r.jsonl").touch()
    given = settings(
        pytester, "--extract-from=r.jsonl", "--extract-model=a", "--extract-model=b", "--extract-rule=alpha=0.1"
    )
    assert given.rules == {"alpha": 0.1}
    assert given.changed is None


def test_all_mistakes_are_told_at_once(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nextract_suite_thresholds = pass_rate\n")
    result = pytester.runpytest("--extract-record=x", "--extract-repeat=-1")
    result.stderr.fnmatch_lines(
        [
            "*--extract-repeat: '-1' must*",
            "*--extract-record: 'x' must*",
            "*extract_suite_thresholds: 'pass_rate' must*",
        ]
    )


def test_help_lists_every_option_in_the_groups_and_order_of_the_table(pytester: pytest.Pytester) -> None:
    lines = pytester.runpytest("--help").outlines
    assert all(option.dest in "\n".join(lines) for option in OPTIONS if option.ini)
    for title, options in OPTION_GROUPS.items():
        start = lines.index(f"extract: {title}:")
        end = next(at for at, line in enumerate(lines) if at > start and line and not line.startswith(" "))
        shown = [line.split("=")[0].split()[0] for line in lines[start:end] if line.startswith("  --")]
        assert shown == [f"--extract-{option.name}" for option in options if option.command_line]


def test_help_is_one_sentence() -> None:
    wrong = [
        option.name for option in OPTIONS if not re.fullmatch(r"[A-Z](?!.*\. ).*\.", option.help.replace("...", ""))
    ]
    assert wrong == []


def test_commands_look_for_recordings_where_runs_keep_them() -> None:
    assert [option.default for option in OPTIONS if option.name == "recordings"] == [DEFAULT_FOLDER]


def test_settings_are_read_only(pytester: pytest.Pytester) -> None:
    with pytest.raises(AttributeError, match="settings are read-only"):
        settings(pytester).judge = "exact"  # type: ignore[misc]
