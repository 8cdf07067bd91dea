from __future__ import annotations

from pathlib import Path

import pytest

from pytest_extract.extraction.recordings.folder import DEFAULT_FOLDER
from pytest_extract.plugin.options import OPTION_GROUPS, OPTIONS, SETTINGS, Option, Settings


def settings(pytester: pytest.Pytester, *args: str) -> Settings:
    return pytester.parseconfigure(*args).stash[SETTINGS]


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
        "--extract-dry-run", "--extract-results=out/r.jsonl",
    )  # fmt: skip
    assert given.model == ("a/b", "c")
    assert given.repeat == 3
    assert given.budget == 2.5
    assert given.dry_run
    assert given.results == pytester.path / "out" / "r.jsonl"


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


def test_a_path_counts_from_where_it_is_written(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeini("[pytest]\nextract_recordings = recs\n")
    below = pytester.mkdir("below")
    monkeypatch.chdir(below)
    assert settings(pytester).recordings == pytester.path / "recs"
    assert settings(pytester, "--extract-recordings=recs").recordings == Path(below) / "recs"


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
        pytest.param(["--extract-prompt=p.md"], "--extract-prompt: no such file: *p.md", id="prompt"),
        pytest.param(["--extract-from=r.jsonl"], "--extract-from: no such file: *r.jsonl", id="from"),
        pytest.param(["--extract-from=conf.txt", "--extract-results=conf.txt"], "--extract-results: *conf.txt is what --extract-from reads*", id="same-file"),
        pytest.param(["--extract-model=a", "--extract-model=a"], "--extract-model: a is given twice", id="twice"),
    ],
)  # fmt: skip
def test_a_bad_value_is_a_usage_error(pytester: pytest.Pytester, args: list[str], message: str) -> None:
    (pytester.path / "conf.txt").touch()
    result = pytester.runpytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])


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


def test_help_lists_every_option(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--help")
    text = result.stdout.str()
    assert all(f"--extract-{option.name}" in text for option in OPTIONS if option.command_line)
    assert all(option.dest in text for option in OPTIONS if option.ini)


def test_help_groups_the_options_in_the_order_of_the_table(pytester: pytest.Pytester) -> None:
    lines = pytester.runpytest("--help").outlines
    for title, options in OPTION_GROUPS.items():
        start = lines.index(f"extract: {title}:")
        end = next(at for at, line in enumerate(lines) if at > start and line and not line.startswith(" "))
        shown = [line.split("=")[0].split()[0] for line in lines[start:end] if line.startswith("  --")]
        assert shown == [f"--extract-{option.name}" for option in options if option.command_line]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_help_is_one_sentence(option: Option) -> None:
    assert option.help[0].isupper()
    assert option.help.endswith(".")
    assert ". " not in option.help.replace("...", "")


def test_commands_look_for_recordings_where_runs_keep_them() -> None:
    assert [option.default for option in OPTIONS if option.name == "recordings"] == [DEFAULT_FOLDER]


def test_settings_are_read_only(pytester: pytest.Pytester) -> None:
    with pytest.raises(AttributeError, match="settings are read-only"):
        settings(pytester).judge = "exact"  # type: ignore[misc]
