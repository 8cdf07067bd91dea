"""Texts, values and tables in lines: safe to print, in their window, marked where they differ."""

import itertools
import math
import unicodedata

import pytest
from _pytest._io.wcwidth import wcswidth
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_extract.core.metrics import METRICS
from pytest_extract.core.scorer import compile_schema
from pytest_extract.core.values import MISSING
from pytest_extract.core.words import number_text
from pytest_extract.errors import SchemaError
from pytest_extract.report.diff import DiffOptions, finding_difference, look_alike_text, score_lines
from pytest_extract.report.lines import (
    Span,
    Table,
    break_commands,
    left_part,
    line,
    printed,
    prose,
    right_part,
    safe,
    safe_prose,
    shorten,
    show,
    text_of,
    text_width,
    wrap_spans,
)
from tests.records import field_result
from tests.report.runs import texts
from tests.strategies import any_json

# --- nothing acts on a terminal or a CI service

SHOWN = {
    "plain äöü 漢字 عربي": "plain äöü 漢字 عربي",
    "\x1b[31mred": "\\x1b[31mred",
    "a\nb\tc\r": "a\\nb\\tc\\r",
    "\u202egnp.exe": "\\u202egnp.exe",
    "a\u200bb": "a\\u200bb",
    "a\xa0b": "a\\xa0b",
    "\ud800": "\\ud800",
    "\U000e0001": "\\U000e0001",
    "\x9b31m": "\\x9b31m",
    "a\\nb": "a\\\\nb",
    # commands of Azure, GitHub of old, TeamCity, GitHub, GitLab, Buildkite
    "x ##vso[task.complete]": "x \\x23#vso[task.complete]",
    "###[add-mask]x": "#\\x23#[add-mask]x",
    "##teamcity[x] ##TeamCity[x]": "\\x23#teamcity[x] \\x23#TeamCity[x]",
    "a ::notice title=x::y": "a \\x3a:notice title=x::y",
    "::add-mask::y": "\\x3a:add-mask::y",
    "section_start:12:x[collapsed=true]": "section_start\\x3a12:x[collapsed=true]",
    "+++ :boom: done": "\\x2b++ :boom: done",
    "^^^ +++": "\\x5e^^ +++",
    "## [a] ::1 a.yaml::b[0] std::x ::ffff:1": "## [a] ::1 a.yaml::b[0] std::x ::ffff:1",
}


@pytest.mark.parametrize("text", SHOWN, ids=ascii)
def test_nothing_that_acts_on_a_terminal_or_a_ci_service_gets_through(text):
    shown = safe(text)
    assert shown == SHOWN[text]
    assert shown.isprintable()
    assert safe_prose(text).isprintable()
    assert safe(shown).replace("\\\\", "\\") == shown


def test_no_line_begins_or_makes_a_command_that_its_parts_do_not():
    wrapped = prose(f"{'x' * 38}::stop-commands::y", "plain", indent=2, width=40)
    lines = [*wrapped, line("##vso", Span("[a.b c]", "bad"))]
    assert texts(map(printed, lines)) == [f"  {'x' * 38}", "  \\x3a:stop-commands::y", "\\x23#vso[a.b c]"]
    assert break_commands("a\n  ::error::b\n--- c\n-- d") == "a\n  \\x3a:error::b\n\\x2d-- c\n-- d"


# --- values


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("ACME", '"ACME"'),
        ("", '""'),
        (None, "null"),
        (True, "true"),
        (12.50, "12.5"),
        (MISSING, "(missing)"),
        (math.nan, "NaN"),
        ([], "[]"),
        ({"a": 1, "b": [1, 2], "c": {}}, "{a: 1, b: [1, 2], c: {}}"),
        ({"rows": [{"a": "x" * 30}] * 3}, '{rows: [{a: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}, {a: … (1 key)'),
        ([*range(100)], "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, … (100 items)"),
        pytest.param(10**5000, "(an integer of 16,610 bits)", id="huge"),
        ({"\x1b[2J": "\x07"}, '{\\x1b[2J: "\\x07"}'),
    ],
)
def test_show(value, shown):
    assert show(value, 60) == shown


@pytest.mark.parametrize(
    ("text", "at", "begin", "inside"),
    [
        ("x" * 1_000_000, 0, '"xxx', "…xxx"),
        ("x" * 5_000 + "needle" + "y" * 5_000, 5_000, '"…x', "xneedley"),
        ("文書番号" * 30, 0, '"文書番号', "…"),
        ("あ" * 100 + "漢" + "い" * 100, 100, '"…あ', "漢"),
    ],
    ids=["long", "around", "wide", "around in wide"],
)
def test_a_long_text_is_cut_and_says_how_long_it_is(text, at, begin, inside):
    shown = show(text, 60, at=at)
    assert shown.startswith(begin)
    assert inside in shown
    assert shown.endswith(f'" ({len(text):,} characters)')
    assert text_width(shown) <= 60
    assert text_width(show([text, text], 60)) <= 60


def test_numbers_for_people_are_written_in_full():
    texts = {1389: "1,389", 12345.6: "12,346", 450_000_000.5: "450,000,000", 0.94736: "0.9474", 12.5: "12.5"}
    assert {value: number_text(value) for value in texts} == texts


# --- differences


def difference(gold, extracted, width):
    return finding_difference(field_result("a", gold, extracted, status="mismatch"), width)


FOX = "The quick brown fox jumps over the lazy dog. " * 20


@pytest.mark.parametrize(
    ("gold", "extracted", "told"),
    [
        ("ACME GmbH", "ACME Gmbh", "ACME Gmb[H→h]"),
        ("ACME", "ACME Inc", "ACME[+ Inc]"),
        ("ACME Inc", "ACME", "ACME[- Inc]"),
        ("a b", "a\u202eb", "a[ →\\u202e]b"),
        ("hello", "zzz", ""),
        ("2024-03-05", "2024-05-03", "2024-0[3→5]-0[5→3]"),
        ("2024-03-05", "05.03.2024", ""),
        ("12345", "12354", "123[45→54]"),
        ("invoices/winter", "invoices/midsummer2025", "invoices/[winter→midsummer2025]"),
        ("The total is 5", "The total sum is 5,00", "The total [+sum ]is 5[+,00]"),
        (FOX, f"{FOX[:400]}X{FOX[401:]}", f"…{FOX[363:400]}[d→X]{FOX[401:438]}…"),
        (0, 3, "off by 3"),
        (1, 1_000_000, "off by 999,999, relative error 1e+06"),
        (0, -450_000_000.5, "off by 450,000,000.5"),
        (0, 1e20, "off by 1e+20"),
        (10**400, 1.5, "off by more than a float can hold"),
        (0, 10**400, "off by more than a float can hold"),
        (1.0, math.nan, ""),
        (1, True, "boolean where gold has integer"),
        (None, "x", ""),
        (MISSING, "x", ""),
        (MISSING, MISSING, ""),
    ],
)
def test_difference(gold, extracted, told):
    assert text_of(difference(gold, extracted, 80)) == told


def test_of_long_texts_at_least_one_difference_is_marked_and_others_are_counted():
    gold = "See https://billing.example.com/customers/4711/invoices/winter, payable in thirty days from the receipt"
    for width in (40, 52, 72):
        spans = difference(gold, gold.replace("winter", "summer").replace("thirty", "sixty"), width)
        assert any(span.style == "mark" for span in spans)
    needle = "x" * 10_000 + "needle" + "y" * 10_000
    told = text_of(difference(needle, needle.replace("needle", "noodle"), 40))
    assert told.startswith("…xxx")
    assert "[ee→oo]" in told
    assert len(told) < 100
    assert text_of(difference("word " * 60, "word ward " * 30, 40)).endswith("more differences")
    told = text_of(difference("word " * 30, "ward " + "word " * 28 + "ward ", 200))
    assert (told[:16], told[-12:]) == ("[word→ward] word", "[word→ward] ")


@pytest.mark.parametrize(
    ("gold", "extracted", "named"),
    [
        ("a-b", "a\u2013b", "gold has U+002D HYPHEN-MINUS, extracted U+2013 EN DASH"),
        ("a b", "a\xa0b", "gold has U+0020 SPACE, extracted U+00A0 NO-BREAK SPACE"),
        ("M\xfcller", "Mu\u0308ller", "gold has U+00FC LATIN SMALL LETTER U WITH DIAERESIS, extracted U+0075 U+0308"),
        ("o", "\u03bf", "gold has U+006F LATIN SMALL LETTER O, extracted U+03BF GREEK SMALL LETTER OMICRON"),
        ("a", "\xe4", ""),
        ("GmbH", "Gmbh", ""),
        ("ab", "ab", ""),
        ("ab", "\u6f22\u5b57\u6f22\u5b57", ""),
    ],
)
def test_look_alike(gold, extracted, named):
    assert look_alike_text(field_result("a", gold, extracted, status="mismatch")) == named


# --- tables

HEADS = ("variant", "cases", "f1")
ROWS = [("openai/gpt-4o", "20", "0.9123"), ("a much longer name of a model or of a prompt", "1,234", "1")]
WIDE = """\
  variant                                      cases     f1
  openai/gpt-4o                                   20 0.9123
  a much longer name of a model or of a prompt 1,234      1"""
CUT = """\
  variant                     cases     f1
  openai/gpt-4o                  20 0.9123
  a much longer nam… a prompt 1,234      1"""
BELOW = """\
  variant
    cases     f1
  openai/gpt-4o
       20 0.9123
  a much longer name… a prompt
    1,234      1"""


@pytest.mark.parametrize(("width", "lines"), [(80, WIDE), (42, CUT), (30, BELOW)])
def test_figures_stand_in_columns_or_below_their_names(width, lines):
    assert texts(Table(HEADS, ROWS).lines(width)) == lines.split("\n")


# --- laws: whatever was extracted, nothing raises, acts, or leaves the window

SCORER = compile_schema(
    {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "rows": {"type": "array", "items": {"properties": {"x": {"type": "number"}, "y": {"type": "string"}}}},
        },
    }
)
rows = st.lists(st.fixed_dictionaries({}, optional={"x": any_json, "y": any_json}) | any_json, max_size=4)
documents = st.fixed_dictionaries({}, optional={"a": any_json, "rows": rows | any_json, "more": any_json}) | any_json
digits = st.text("0123456789", max_size=9)
HUGE = [10**400, -(10**400), 10**4299, 2**1024, 1e308, -1e308, 5e-324, 0, 1, 1.5, "9" * 400, [10**400]]


@given(documents, documents, st.integers(40, 200), st.integers(0, 2))
@example([None, {}], [None, {"\x7f": None}], 40, 0)
@example({}, "a text of more than 26 characters", 40, 0)
def test_any_two_documents_can_be_told_apart(gold, extracted, width, verbosity):
    score = SCORER.score(gold, extracted).record()
    for brief in (False, True):
        for each in texts(score_lines(score, DiffOptions(verbosity=verbosity, width=width, brief=brief))):
            assert each.isprintable()
            assert verbosity >= 2 or text_width(each) <= width


@pytest.mark.parametrize("width", [16, 40])
@given(gold=any_json, extracted=any_json)
def test_values_are_short_and_harmless(gold, extracted, width):
    assert show(gold, width).isprintable()
    assert len(show(gold, width)) <= width + 40
    assert text_of(difference(gold, extracted, width)).isprintable()


def test_any_two_numbers_can_be_told_apart():
    assert all(text_of(difference(*pair, 60)).isprintable() for pair in itertools.product(HUGE, HUGE))


@pytest.mark.slow
@pytest.mark.parametrize("metric", [None, *METRICS])
@pytest.mark.parametrize("semantics", ["default", "extract-bench", "struct-extract-eval"])
def test_every_metric_scores_and_shows_huge_numbers(metric, semantics):
    overrides = {"a": metric} if metric else None
    schema = {"type": "object", "properties": {"a": {}}}
    try:
        scorer = compile_schema(schema, semantics=semantics, overrides=overrides, judge_mode="exact")
    except SchemaError:
        pytest.skip("the metric needs parameters")
    for gold, extracted in itertools.product(HUGE, HUGE):
        score = scorer.score({"a": gold}, {"a": extracted})
        assert 0.0 <= score.measures["mean_score"] <= 1.0
        assert score_lines(score.record(), DiffOptions(verbosity=2))


@given(st.text(), st.integers(0, 30))
@example("한글 日本語 e\u0301 \U0001f600 \u1112\u1161\u11ab", 9)
def test_columns_are_counted_as_pytest_counts_them_and_parts_fit(text, width):
    printed = safe(text)
    assert text_width(printed) == wcswidth(printed)
    assert printed.isprintable()
    assert printed.encode("utf-8").decode("utf-8") == printed
    left, right = left_part(text, width), right_part(text, width)
    assert text.startswith(left)
    assert text.endswith(right)
    assert max(text_width(left), text_width(right)) <= width
    assert text_width(shorten(text, width)) <= max(width, 5)


@given(st.lists(st.builds(Span, st.text().map(safe), st.sampled_from(["plain", "mark"]))), st.integers(24, 60))
def test_wrapped_text_fits_and_loses_nothing(spans, width):
    def normal(text):
        return unicodedata.normalize("NFC", text.replace(" ", ""))

    lines = texts(wrap_spans(spans, indent=4, width=width))
    assert all(text_width(each) <= width for each in lines)
    assert normal("".join(each[4:] for each in lines)) == normal(text_of(spans))


@given(st.lists(st.tuples(st.text(max_size=60), digits, digits), max_size=5))
def test_no_line_of_a_table_is_longer_than_the_window(rows):
    for each in texts(Table(HEADS, rows).lines(40)):
        assert each.isprintable()
        assert text_width(each) <= 40
