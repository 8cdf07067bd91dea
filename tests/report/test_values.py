from __future__ import annotations

import math

import pytest

from pytest_extract.core.values import MISSING
from pytest_extract.report.diff import value_difference
from pytest_extract.report.lines import (
    Span,
    break_commands,
    line,
    number_text,
    printed,
    prose,
    safe,
    safe_prose,
    shorten,
    show,
    text_of,
    text_width,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain äöü 漢字 عربي", "plain äöü 漢字 عربي", id="printable"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="escape-sequence"),
        pytest.param("a\nb\tc\r", "a\\nb\\tc\\r", id="line-breaks"),
        pytest.param("\u202egnp.exe", "\\u202egnp.exe", id="bidirectional-override"),
        pytest.param("a\u200bb", "a\\u200bb", id="zero-width"),
        pytest.param("a\xa0b", "a\\xa0b", id="no-break-space"),
        pytest.param("\ud800", "\\ud800", id="lone-surrogate"),
        pytest.param("\U000e0001", "\\U000e0001", id="tag-character"),
        pytest.param("\x9b31m", "\\x9b31m", id="c1-control"),
        pytest.param("a\\nb", "a\\\\nb", id="backslash"),
        pytest.param("x ##vso[task.complete]", "x \\x23#vso[task.complete]", id="azure"),
        pytest.param("###[add-mask]x", "#\\x23#[add-mask]x", id="github-old"),
        pytest.param("##teamcity[x] ##TeamCity[x]", "\\x23#teamcity[x] \\x23#TeamCity[x]", id="teamcity"),
        pytest.param("a ::notice title=x::y", "a \\x3a:notice title=x::y", id="github"),
        pytest.param("::add-mask::y", "\\x3a:add-mask::y", id="github-without-parameters"),
        pytest.param("section_start:12:x[collapsed=true]", "section_start\\x3a12:x[collapsed=true]", id="gitlab"),
        pytest.param("+++ :boom: done", "\\x2b++ :boom: done", id="buildkite"),
        pytest.param("^^^ +++", "\\x5e^^ +++", id="buildkite-opens"),
        pytest.param("## [a] ::1 a.yaml::b[0] std::x ::ffff:1", "## [a] ::1 a.yaml::b[0] std::x ::ffff:1", id="none"),
    ],
)
def test_nothing_that_acts_on_a_terminal_or_a_ci_service_gets_through(text: str, shown: str) -> None:
    assert safe(text) == shown
    assert safe(text).isprintable()
    assert safe_prose(text).isprintable()
    assert safe(shown).replace("\\\\", "\\") == shown


def test_no_line_begins_or_makes_a_command_that_its_parts_do_not() -> None:
    lines = [
        *prose(f"{'x' * 38}::stop-commands::y", "plain", indent=2, width=40),
        line("##vso", Span("[a.b c]", "bad")),
    ]
    assert [text_of(printed(each)) for each in lines] == [
        f"  {'x' * 38}",
        "  \\x3a:stop-commands::y",
        "\\x23#vso[a.b c]",
    ]
    assert break_commands("a\n  ::error::b\n--- c\n-- d") == "a\n  \\x3a:error::b\n\\x2d-- c\n-- d"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param("ACME", '"ACME"', id="text"),
        pytest.param("", '""', id="empty-text"),
        pytest.param(None, "null", id="null"),
        pytest.param(True, "true", id="true"),
        pytest.param(12.50, "12.5", id="number"),
        pytest.param(MISSING, "(missing)", id="missing"),
        pytest.param(math.nan, "NaN", id="nan"),
        pytest.param([], "[]", id="empty-list"),
        pytest.param({"a": 1, "b": [1, 2], "c": {}}, "{a: 1, b: [1, 2], c: {}}", id="object"),
        pytest.param({"rows": [{"a": "x" * 30}] * 3}, "{rows: [3 items]}", id="too-long-inside"),
        pytest.param(list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … 88 more]", id="long-list"),
        pytest.param(10**5000, "(an integer of 16,610 bits)", id="huge"),
        pytest.param({"\x1b[2J": "\x07"}, '{\\x1b[2J: "\\x07"}', id="hostile-key"),
    ],
)
def test_show(value: object, shown: str) -> None:
    assert show(value, 60) == shown


def test_a_long_text_is_cut_and_says_how_long_it_is() -> None:
    shown = show("x" * 1_000_000, 40)
    assert "…" in shown
    assert "(1,000,000 characters)" in shown
    assert len(shown) <= 60


@pytest.mark.parametrize(
    ("gold", "extracted", "told"),
    [
        pytest.param("ACME GmbH", "ACME Gmbh", "ACME Gmb[H→h]", id="replaced"),
        pytest.param("ACME", "ACME Inc", "ACME[+ Inc]", id="added"),
        pytest.param("ACME Inc", "ACME", "ACME[- Inc]", id="lost"),
        pytest.param("a b", "a\u202eb", "a[ →\\u202e]b", id="hostile"),
        pytest.param("hello", "zzz", "", id="differs-throughout"),
        pytest.param(12.5, 12.05, "off by -3.60%", id="relative"),
        pytest.param(0, 3, "off by +3", id="from-zero"),
        pytest.param(1, 1_000_000, "off by +999,999", id="far-off"),
        pytest.param(0, -450_000_000.5, "off by -450,000,000.5", id="in-full"),
        pytest.param(0, 1e20, "off by +1e+20", id="beyond-digits"),
        pytest.param(10**400, 1.5, "off by more than a float holds", id="overflow"),
        pytest.param(1.0, math.nan, "", id="nan"),
        pytest.param(3, "3", "string where gold has integer", id="types"),
        pytest.param(1, True, "boolean where gold has integer", id="true-is-not-one"),
        pytest.param(None, "x", "", id="null"),
        pytest.param(MISSING, "x", "", id="missing"),
    ],
)
def test_difference(gold: object, extracted: object, told: str) -> None:
    assert text_of(value_difference(gold, extracted, 60)) == told


def test_the_window_lies_on_the_first_difference_of_long_texts() -> None:
    gold = "x" * 10_000 + "needle" + "y" * 10_000
    told = text_of(value_difference(gold, gold.replace("needle", "noodle"), 40))
    assert told.startswith("…xxx")
    assert "[ee→oo]" in told
    assert len(told) < 100


def test_the_middle_of_a_long_text_is_shown_when_asked_for() -> None:
    shown = show("x" * 5_000 + "needle" + "y" * 5_000, 60, at=5_000)
    assert "xneedley" in shown
    assert shown.startswith('"…')
    assert shown.endswith('…" (10,006 characters)')
    assert len(shown) <= 60


def test_more_differences_than_fit_are_counted() -> None:
    gold = "word " * 60
    extracted = "".join("word " if i % 2 else "ward " for i in range(60))
    assert "more difference" in text_of(value_difference(gold, extracted, 40))


@pytest.mark.parametrize(
    ("text", "width", "short"), [("abc", 3, "abc"), ("abcdefghij", 7, "abcd…ij"), ("abcdef", 1, "ab…ef")]
)
def test_shorten(text: str, width: int, short: str) -> None:
    assert shorten(text, width) == short


def test_wide_characters_take_two_columns() -> None:
    gold = "文書番号" * 30
    shown = show(gold, 40)
    assert text_width(shown) <= 40
    assert shown.startswith('"文書番号')
    assert "…" in shown
    assert "(120 characters)" in shown
    assert text_width(show([gold, gold], 60)) <= 60


def test_the_part_around_a_difference_is_shown_in_wide_text() -> None:
    gold = "あ" * 100 + "漢" + "い" * 100
    assert "漢" in show(gold, 40, at=100)
    assert text_width(show(gold, 40, at=100)) <= 40


@pytest.mark.parametrize(
    ("value", "text"),
    [(1389, "1,389"), (12345.6, "12,346"), (450_000_000.5, "450,000,000"), (0.94736, "0.9474"), (12.5, "12.5")],
)
def test_numbers_for_people_are_written_in_full(value: float, text: str) -> None:
    assert number_text(value) == text
