from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome, Variant
from pytest_extract.core.results import Failure, FailureKind, FieldResult, NamedMistake, ScoreRecord
from pytest_extract.core.values import FieldPath
from pytest_extract.report.diff import DiffOptions, case_lines, score_lines
from pytest_extract.report.lines import text_of, text_width
from pytest_extract.report.summary import summary_lines
from tests.cpu_time import cpu_seconds
from tests.records import field_result as leaf
from tests.records import score_record as score


def told(one: ScoreRecord, *, verbosity: int = 0, width: int = 160, brief: bool = False, **keys: Any) -> list[str]:
    return [
        text_of(each) for each in score_lines(one, DiffOptions(verbosity=verbosity, width=width, brief=brief), **keys)
    ]


def squeezed(lines: list[str]) -> list[str]:
    return [re.sub(r"\s+", " ", each).strip() for each in lines]


def test_one_line_per_failing_field_says_all_about_it() -> None:
    one = score(leaf("total", 12.5, 12.05, metric="number", params={"rel": 0.01, "abs": None}), leaf("a", 1, 1))
    assert squeezed(told(one)) == [
        "total number(rel=0.01) mismatch gold 12.5 extracted 12.05 off by -3.60%",
        "1 value matches",
    ]


def test_the_worst_stands_first_then_the_heaviest_then_document_order() -> None:
    one = score(
        leaf("a", "x1", "x2", score=0.5),
        leaf("b", "x1", "x2"),
        leaf("c", "x1", "x2", weight=3.0),
        leaf("d", "x1", "x2"),
    )
    assert [each.split()[0] for each in told(one)[:4]] == ["c", "b", "d", "a"]


@pytest.mark.parametrize(
    ("record", "text"),
    [
        pytest.param(leaf("a", "x"), 'a text omission gold "x"', id="omission"),
        pytest.param(leaf("a", extracted="x"), 'a text hallucination extracted "x"', id="hallucination"),
        pytest.param(
            leaf("rows[2].x", "ab c", "ab d", matched="rows[5].x"),
            'rows[2].x text mismatch gold "ab c" extracted "ab d" ab [c→d] matched with rows[5].x',
            id="matched-row",
        ),
        pytest.param(
            leaf("a", "x", "y", status="judge_error", reason="timed out"),
            'a text judge_error gold "x" extracted "y" timed out',
            id="judge-error",
        ),
        pytest.param(
            leaf("a", "x", "y", reason="no \x1b[31mdate"),
            'a text mismatch gold "x" extracted "y" no \\x1b[31mdate',
            id="reason",
        ),
        pytest.param(
            leaf("free", {"a": [1, 2], "b": 2}, {"a": [1, 3], "c": 4}),
            "free text mismatch gold {a: [1, 2], b: 2} extracted {a: [1, 3], c: 4} c invented 4; b lost 2; a[1] 2→3",
            id="undeclared-object",
        ),
    ],
)
def test_a_field_s_line(record: FieldResult, text: str) -> None:
    assert squeezed(told(score(record)))[0] == text


def test_a_narrow_window_continues_below() -> None:
    lines = told(score(leaf("vendor.name", "ACME GmbH", "ACME Gmbh")), width=50)
    assert max(map(len, lines)) <= 50
    assert lines[1].startswith("      ")


LONG = "income_statement.operating_income[14].segment_name"


COLUMNS = (
    leaf("total", 1, 2, metric="number_tolerance", params={"tolerance": 0.001}),
    leaf(LONG, "HDD", "SSD", metric="string_case_insensitive"),
    leaf("rows[1].name", "文書番号" * 9, "文書号番" * 9),
    leaf("客戶.名稱", "甲", "乙"),
)


def test_columns_hold_where_they_fit() -> None:
    lines = told(score(*COLUMNS), width=100)
    heads = [each for each in lines if "mismatch" in each]
    assert [each.split()[0] for each in heads] == ["total", LONG, "rows[1].name", "客戶.名稱"]
    assert len({text_width(each[: each.index("mismatch")]) for each in heads}) == 1
    assert max(map(text_width, lines)) <= 100


def test_columns_that_are_too_wide_flow() -> None:
    lines = told(score(*COLUMNS), width=80)
    assert lines[0] == "  total  number_tolerance(tolerance=0.001)  mismatch  gold 1  extracted 2"
    assert lines[2:4] == [f"  {LONG}  string_case_insensitive", '      mismatch  gold "HDD"  extracted "SSD"']
    assert max(map(text_width, lines)) <= 80


def test_a_path_wider_than_the_window_is_broken() -> None:
    path = "a" * 60 + "." + "b" * 60
    lines = told(score(leaf(path, 1, 2), leaf("total", 3, 4)), width=80)
    assert "".join(lines[:2]).replace(" ", "") == path
    assert lines[2].split()[:2] == ["text", "mismatch"]


def test_values_too_long_for_one_line_stand_one_below_the_other() -> None:
    gold = "The quick brown fox jumps over the lazy dog"
    assert told(score(leaf("vendor.name", gold, gold.replace("jumps", "jumped"))), width=80)[:4] == [
        "  vendor.name  text  mismatch",
        '      gold      "The quick brown fox jumps over the lazy dog"',
        '      extracted "The quick brown fox jumped over the lazy dog"',
        "      The quick brown fox jump[s→ed] over the lazy dog",
    ]


def test_of_long_texts_the_part_that_differs_is_shown() -> None:
    gold = "".join(f"word{i} " for i in range(200))
    lines = told(score(leaf("a", gold, gold.replace("word99 ", "ward99 "))), width=80)
    assert all("99 word100" in each for each in lines[1:4])
    assert "w[o→a]rd99" in lines[3]
    assert max(map(len, lines)) <= 80


def test_vv_shows_whole_values_and_marks_what_is_around_the_difference() -> None:
    gold = "".join(f"word{i} " for i in range(500))
    lines = told(score(leaf("a", gold, gold.replace("word250 ", "ward250 "))), verbosity=2, width=80)
    assert lines[1] == f'      gold      "{gold}"'
    marked = lines[3:-1]
    assert any("w[o→a]rd250" in each for each in marked)
    assert max(map(len, marked)) <= 80
    assert len(marked) <= 5


@pytest.mark.parametrize(
    ("record", "text"),
    [
        pytest.param(
            leaf("a", "x", 7, reason="a string expected, got an integer"),
            'a text mismatch gold "x" extracted 7 a string expected, got an integer',
            id="types-once",
        ),
        pytest.param(
            leaf("a", "x", "y", reason="texts differ from character 1 on"),
            'a text mismatch gold "x" extracted "y"',
            id="plain-to-see",
        ),
        pytest.param(
            leaf("a", [1], [2], reason="values differ"), "a text mismatch gold [1] extracted [2] [0] 1→2", id="inside"
        ),
        pytest.param(
            leaf("a", {"x": 1}, [1], reason="expected an object, got an array"),
            "a text mismatch gold {x: 1} extracted [1] expected an object, got an array",
            id="shape-once",
        ),
    ],
)
def test_nothing_is_said_twice(record: FieldResult, text: str) -> None:
    assert squeezed(told(score(record)))[0] == text


def test_characters_that_look_alike_are_named() -> None:
    lines = told(score(leaf("a", "Alpha AG", "\u0410lpha AG")), width=100)
    assert lines[1].strip() == ("gold has U+0041 LATIN CAPITAL LETTER A, extracted U+0410 CYRILLIC CAPITAL LETTER A")


def test_a_missing_object_is_one_line() -> None:
    one = score(leaf("vendor.name", "A"), leaf("vendor.city", "B"), leaf("total", 1, 1))
    assert squeezed(told(one))[0] == (
        'vendor object omission gold {name: "A", city: "B"} whole object missing, 2 fields'
    )


def test_swapped_rows_are_one_line() -> None:
    one = score(
        leaf("items[3].p", 1, 2), leaf("items[3].q", "a", "b"), leaf("items[4].p", 2, 1), leaf("items[4].q", "b", "a"),
        leaf("items[5].p", 7, 8),
    )  # fmt: skip
    assert squeezed(told(one)) == [
        "items order mismatch 2 rows in another order: 3 at 4, 4 at 3",
        "items[5].p text mismatch gold 7 extracted 8 off by +14.29%",
        "0 values match",
    ]


def test_rows_in_another_order_are_one_line() -> None:
    one = score(*(leaf(f"[{i}].p", f"v{i}", f"v{(i + 1) % 3}") for i in range(3)))
    assert squeezed(told(one))[0] == "$ order mismatch 3 rows in another order: 0 at 2, 1 at 0, 2 at 1"


def test_a_missing_row_and_an_invented_one_are_one_line_each() -> None:
    one = score(
        leaf("items[2].p", 1),
        leaf("items[2].q", "a"),
        leaf("items[-1].p", extracted=5),
        leaf("items[-1].q", extracted="z"),
    )
    assert squeezed(told(one))[:2] == [
        'items[2] row omission gold {p: 1, q: "a"} whole row missing, 2 fields',
        'items[-1] row hallucination extracted {p: 5, q: "z"} invented row, 2 fields',
    ]


def test_an_invented_row_tells_where_it_stands() -> None:
    one = score(
        leaf("items[-1].p", extracted=5, matched="items[7].p"), leaf("items[-1].q", extracted="z", matched="items[7].q")
    )
    assert squeezed(told(one))[0].endswith("invented row, 2 fields stands at items[7]")


def test_vv_shows_every_leaf_of_a_missing_row() -> None:
    lines = told(score(leaf("items[2].p", 1), leaf("items[2].q", "a")), verbosity=2)
    assert [each.split()[0] for each in lines[:2]] == ["items[2].p", "items[2].q"]


def test_a_key_with_brackets_is_no_row() -> None:
    lines = told(score(leaf('["odd[3]"].p', 1, 2), leaf('["odd[3]"].q', 1)))
    assert [each.split()[0] for each in lines[:2]] == ['["odd[3]"].p', '["odd[3]"].q']


def test_tb_short_has_a_line_for_each_field() -> None:
    one = score(
        leaf("total", 450_000_000, 45_000_000, metric="number", reason="off by 405,000,000, relative error 0.9"),
        leaf("vendor.name", "ACME GmbH", "ACME Gmbh"),
        leaf("iban", "DE02"),
        leaf("note", extracted="paid"),
        leaf("items[2].p", 1),
        leaf("items[2].q", "a"),
        leaf("summary", "The quick brown fox jumps over the dog", "The quick brown fox jumped over the dog"),
        leaf("same", "x", "y", status="judge_error", reason="timed out"),
        leaf("a", 1, 1),
        mistakes=(NamedMistake("power_of_ten", (FieldPath.parse("total"),), "1/10 of the gold"),),
    )
    lines = told(one, width=80, brief=True)
    assert squeezed(lines) == [
        "total gold 450000000 extracted 45000000 1/10 of the gold off by …",
        "vendor.name ACME Gmb[H→h]",
        'iban omission gold "DE02"',
        'note hallucination extracted "paid"',
        'items[2] omission gold {p: 1, q: "a"} whole row missing, 2 fields',
        "summary The quick brown fox jump[s→ed] over the dog",
        'same judge_error gold "x" extracted "y" timed out',
    ]
    assert len({re.search("(gold|extracted) ", each).start() for each in lines[2:4]}) == 1  # type: ignore[union-attr]


def test_tb_short_gives_values_the_room_that_what_decides_leaves() -> None:
    text = "Delivery within thirty days from the receipt of the order, " * 4
    one = score(
        leaf("summary", text, text.replace("thirty", "sixty", 1)),
        leaf("terms", text),
        leaf("date", "2024-03-14", "14 de marzo"),
        mistakes=(NamedMistake("words", (FieldPath.parse("summary"),), "another word"),),
    )
    summary, terms, date = told(one, width=100, brief=True)
    assert "[thir→six]ty" in summary
    assert summary.endswith("another word")
    assert len(terms) > 80
    assert date.endswith('gold "2024-03-14"  extracted "14 de marzo"')
    (deep,) = told(score(leaf("deep." * 30 + "a", 1, 2)), width=80, brief=True)
    assert "gold 1  extracted 2" in deep


def test_vv_tells_all_changes_of_a_text_and_of_an_object() -> None:
    gold = "".join(f"in section {i} the buyer shall pay within {i} days of the delivery; " for i in range(5))
    extracted = gold
    for word, other in (
        ("section 0", "part 0"),
        ("section 2", "part 2"),
        ("section 4", "annex 4"),
        ("4 days", "9 days"),
    ):
        extracted = extracted.replace(word, other)
    lines = told(score(leaf("a", gold, extracted), leaf("b", {"x": gold[:120]}, {"x": 1})), verbosity=2, width=100)
    text = squeezed([" ".join(lines)])[0]
    assert "more difference" not in text
    assert text.count("→annex]") == 1
    assert f'x "{gold[:120]}"→1' in text


def test_tb_short_stays_in_a_narrow_window() -> None:
    one = score(leaf("name", "Müller & Söhne Maschinenbau GmbH", "Mueller & Soehne Maschinenbau GmbH"))
    (line,) = told(one, width=44, brief=True)
    assert len(line) <= 44


def test_a_field_that_fails_alone_is_shown() -> None:
    rows = [{"a": 1}]
    lines = told(
        score(
            leaf("rows[0].a", 1, 1),
            fields=(leaf("rows", rows, [*rows, {"a": None}], metric="array", reason="1 invented"),),
        )
    )
    assert lines[0].split()[:3] == ["rows", "array", "mismatch"]


def test_tb_short_shows_fields_that_count_first() -> None:
    lines = told(score(*ITEMS, fields=FIELDS), brief=True, breaches=breaches("fields.note"))
    assert [each.split()[0] for each in lines] == ["note", "items[0].price", "items[1].price"]


def test_tb_short_keeps_unreadable_outputs_to_a_line() -> None:
    failure = Failure(kind=FailureKind.TRAILING_COMMA, message="a comma before }", line=3, column=9)
    assert told(score(failure=failure), output='{\n "a": 1,\n "b": 22,\n}', brief=True) == [
        "  trailing_comma at line 3, column 9: a comma before }"
    ]


@pytest.mark.parametrize(
    ("look", "shown", "more"),
    [
        pytest.param(
            {"brief": True},
            8,
            "… 192 more failing fields (-vv shows all)",
            id="tb-short",
        ),
        pytest.param({}, 25, "… 175 more failing fields (-v shows more, -vv all)", id="plain"),
        pytest.param({"verbosity": 1}, 100, "… 100 more failing fields (-vv shows all)", id="v"),
    ],
)
def test_long_lists_of_fields_are_cut_and_say_so(look: dict[str, Any], shown: int, more: str) -> None:
    lines = told(score(*(leaf(f"f{i}", "x", "y") for i in range(200))), **look)
    assert lines[shown].strip() == more


def test_vv_shows_all_fields() -> None:
    lines = told(score(*(leaf(f"f{i}", "x", "y") for i in range(200))), verbosity=2)
    assert len(lines) == 201


def test_known_failures_and_passes_are_only_counted() -> None:
    one = score(
        leaf("items[0].tax", 1, 2),
        leaf("items[1].tax", 1, 1),
        leaf("a", 1, 1),
        leaf("b", 1, 2, status="skipped"),
        vacuous=3,
    )
    assert told(one, known=["items[].tax"]) == ["  1 value matches, 1 known failure, 1 skipped, 3 absent on both sides"]


def test_known_failures_that_pass_are_told() -> None:
    lines = told(score(leaf("a", 1, 1), leaf("b", 1, 1)), known=["b"])
    assert lines == ["  1 value matches, known failures that pass now: b (take out of known_failures)"]


def test_only_known_failures_of_which_nothing_fails_are_told_to_pass() -> None:
    one = score(leaf("v.a", 1, 1), leaf("v.b", 1, 2), leaf("w.a", 1, 1), leaf("w.b", 1, 1))
    assert told(one, known=["v", "w", "gone"]) == [
        "  0 values match, 1 known failure, known failures that pass now: w (take out of known_failures)"
    ]


def test_a_failed_gate_tells_its_arithmetic() -> None:
    failed = {"coverage": "structure coverage 0.947 < 0.95"}
    assert told(score(failed=failed))[0] == "  coverage gate: structure coverage 0.947 < 0.95"


def test_places_stand_below_their_field() -> None:
    lines = told(score(leaf("a", "x", "y")), places={"a": "gold at line 3, column 2"})
    assert lines[1].strip() == "gold at line 3, column 2"


def test_an_unusable_output_is_shown_around_the_place() -> None:
    failure = Failure(kind=FailureKind.TRAILING_COMMA, message="a comma before }", line=3, column=9)
    assert told(score(failure=failure), output='{\n "a": 1,\n "b": 22,\n}') == [
        "  trailing_comma at line 3, column 9: a comma before }",
        r'  output (22 characters): "{\n "a": 1,\n "b": 22,\n}"',
    ]


@pytest.mark.parametrize(
    ("output", "line"),
    [
        pytest.param("I cannot do that", '  output (16 characters): "I cannot do that"', id="text"),
        pytest.param(42, "  output: 42", id="value"),
    ],
)
def test_an_unusable_output_without_a_place_is_shown(output: object, line: str) -> None:
    failure = Failure(kind=FailureKind.NO_JSON, message="no JSON", line=None, column=None)
    assert told(score(failure=failure), output=output) == ["  no_json: no JSON", line]


def test_of_a_long_unusable_output_the_part_around_the_place_is_shown() -> None:
    failure = Failure(kind=FailureKind.MALFORMED_JSON, message="bad", line=3, column=5_001)
    output = "a\nb\n" + "x" * 5_000 + "here" + "y" * 5_000
    lines = told(score(failure=failure), output=output, width=80)
    assert "xhere" in lines[-1]
    assert max(map(len, lines)) <= 80


def result(*attempts: Attempt, **keys: Any) -> CaseResult:
    base = {"nodeid": "n", "case_id": "c", "file": "f", "variant": Variant(), "outcome": Outcome.FAILED, **keys}
    return CaseResult(attempts=attempts, **base)


def attempt(index: int, outcome: Outcome, **keys: Any) -> Attempt:
    return Attempt(index=index, outcome=outcome, score=score(leaf(f"f{index}", "x", "y")), **keys)


def test_a_case_tells_its_breaches_first() -> None:
    breach = Breach(what="pass_rate", message="pass_rate 0.5 is below 1, by 0.5")
    lines = case_lines(result(attempt(0, Outcome.FAILED), breaches=(breach,)), DiffOptions())
    assert text_of(lines[0]) == "  pass_rate 0.5 is below 1, by 0.5"


@pytest.mark.parametrize(("verbosity", "repeats"), [(0, ["repeat 2 of 3 (2 not green):"]), (1, ["repeat 2 of 3 (2 not green):", "repeat 3 of 3 (2 not green):"])])  # fmt: skip
def test_of_several_repeats_the_first_bad_one_is_shown_and_all_with_v(verbosity: int, repeats: list[str]) -> None:
    attempts = (attempt(0, Outcome.PASSED), attempt(1, Outcome.FAILED), attempt(2, Outcome.FAILED))
    lines = [text_of(each) for each in case_lines(result(*attempts, needed=2), DiffOptions(verbosity=verbosity))]
    assert lines[0] == "1 of 3 repeats passed, 2 needed"
    assert [each for each in lines if each.startswith("repeat ")] == repeats


def test_what_broke_is_told() -> None:
    broken = Attempt(index=0, outcome=Outcome.BROKEN, error="ValueError: \x1b[31mno\nmore")
    lines = [text_of(each) for each in case_lines(result(broken), DiffOptions())]
    assert lines == ["  ValueError: \\x1b[31mno", "  more"]


def test_huge_values_without_fields_are_not_diffed() -> None:
    lines = told(score(leaf("free", [list(range(300))] * 100, [list(range(301))] * 100)))
    assert "too large to be compared inside" in "".join(lines)


def named(kind: str, text: str, *paths: str) -> NamedMistake:
    return NamedMistake(kind, tuple(map(FieldPath.parse, paths)), text)


def test_the_mistake_is_named_beside_the_values() -> None:
    mistakes = (named("wrong_digits", "the digits 0 and 9 were swapped", "total"),)
    one = score(leaf("total", 1109, 1190, metric="number"), leaf("a", 1, 1), mistakes=mistakes)
    assert squeezed(told(one))[0] == (
        "total number mismatch gold 1109 extracted 1190 off by +7.30% the digits 0 and 9 were swapped"
    )


def test_a_mistake_says_more_than_the_reason_of_the_metric() -> None:
    one = score(
        leaf("a", "final", "ﬁnal", reason="texts differ only in compatibility forms"),
        mistakes=(named("marks", "a ligature", "a"),),
    )
    assert "a ligature" in told(one)[0]
    assert not any("differ only" in each for each in told(one))


def test_a_mistake_of_several_fields_is_one_line() -> None:
    text = "the columns `net` and `gross` were swapped in 2 rows"
    paths = ("items[0].net", "items[0].gross", "items[1].net", "items[1].gross")
    leaves = [leaf(path, number, number + 1) for number, path in enumerate(paths)]
    one = score(*leaves, leaf("total", 5, 7), mistakes=(named("swapped_fields", text, *paths),))
    assert squeezed(told(one)) == [
        f"items swapped fields mismatch {text}",
        "total text mismatch gold 5 extracted 7 off by +40.00%",
        "0 values match",
    ]
    assert len(told(one, verbosity=2)) >= 6


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        ("missing", "nothing was extracted", ""),
        (
            "missing",
            "nothing was extracted; the gold's value is not found in the document",
            "the gold's value is not found in the document",
        ),
        ("missing_row", "row 0 is missing", ""),
        ("affix", "“No.:” before the value was kept", "“No.:” before the value was kept"),
    ],
)
def test_a_mistake_is_not_said_twice(kind: str, text: str, shown: str) -> None:
    one = score(leaf("a", "x"), mistakes=(named(kind, text, "a"),))
    assert squeezed(told(one))[0] == f'a text omission gold "x" {shown}'.strip()


def breaches(*names: str) -> list[Breach]:
    return [Breach(what=name, message=f"{name} is missed") for name in names]


ITEMS = (leaf("items[0].price", 1, 2), leaf("items[1].price", 3, 4), leaf("note", "x", "y"), leaf("total", 1, 1))
FIELDS = (leaf("items", [1], [2]), leaf("note", "x", "y", passed=True), leaf("total", 1, 1))


def shown_paths(*missed: str) -> list[str]:
    lines = squeezed(told(score(*ITEMS, fields=FIELDS), breaches=breaches(*missed)))
    return [each.split()[0] for each in lines if "failed field" not in each][:-1]


@pytest.mark.parametrize(
    ("missed", "counted", "rest"),
    [
        pytest.param(["pass_rate"], ["items[0].price", "items[1].price"], ["note"], id="fields-that-failed"),
        pytest.param(["fields.note"], ["note"], ["items[0].price", "items[1].price"], id="one-field"),
        pytest.param(["fields.items[].price"], ["items[0].price", "items[1].price"], ["note"], id="a-column"),
        pytest.param(["fields.items"], ["items[0].price", "items[1].price"], ["note"], id="an-array"),
        pytest.param(["absent.note"], ["note"], ["items[0].price", "items[1].price"], id="absent"),
        pytest.param(["max_cost_usd"], [], ["items[0].price", "items[1].price", "note"], id="cost"),
        pytest.param(["rules.total == 1"], [], ["items[0].price", "items[1].price", "note"], id="a-rule"),
        pytest.param(["pass_rate", "fields.note"], ["items[0].price", "items[1].price", "note"], [], id="both"),
        pytest.param(["pass_rate", "f1"], ["items[0].price", "items[1].price", "note"], [], id="all-values"),
        pytest.param([], ["items[0].price", "items[1].price", "note"], [], id="no-bound"),
    ],
)
def test_values_that_count_toward_no_missed_bound_stand_last(
    missed: list[str], counted: list[str], rest: list[str]
) -> None:
    assert shown_paths(*missed) == [*counted, *rest]


def test_fields_told_in_one_line_count_by_their_own_places() -> None:
    values = {"buyer": "Ann", "seller": "Bo", "city": "Rome", "town": "Bern"}
    swapped = {"buyer": "Bo", "seller": "Ann", "city": "Bern", "town": "Rome"}
    names = ("buyer", "seller"), ("city", "town")
    one = score(
        *(leaf(name, values[name], swapped[name]) for name in values),
        mistakes=tuple(named("swapped_fields", f"{pair[0]} and {pair[1]} are swapped", *pair) for pair in names),
    )
    lines = squeezed(told(one, breaches=breaches("fields.town")))
    assert lines[:2] == [
        "$ swapped fields mismatch city and town are swapped",
        "$ swapped fields mismatch buyer and seller are swapped",
    ]


def test_many_failed_fields_take_time_that_grows_with_their_number() -> None:
    def seconds(count: int) -> float:
        fields = [leaf(f"f{index}", 1, 2) for index in range(count)]
        one = score(*fields, fields=fields)
        return cpu_seconds(lambda: told(one, breaches=breaches("pass_rate")))

    assert seconds(1_600) < 25 * seconds(200)  # 64 times as long where each finding asks each failed field


def test_failed_fields_are_named_with_their_wrong_values() -> None:
    lines = told(score(*ITEMS, fields=FIELDS), breaches=breaches("pass_rate"))
    assert lines[0] == "  1 failed field: items (2 wrong values)"


def test_failed_fields_of_one_value_each_are_not_named_twice() -> None:
    one = score(leaf("a", 1, 2), fields=(leaf("a", 1, 2),))
    assert "failed field" not in "".join(told(one, breaches=breaches("pass_rate")))


def test_of_many_failed_fields_the_first_are_named() -> None:
    fields = [leaf(f"f{i}", [1], [2]) for i in range(7)]
    one = score(*(leaf(f"f{i}[0]", 1, 2) for i in range(7)), fields=tuple(fields))
    assert told(one, breaches=breaches("pass_rate"))[0].endswith("f4 (1 wrong value) and 2 more")


def test_a_known_failure_is_no_failed_field() -> None:
    lines = told(score(*ITEMS, fields=FIELDS), breaches=breaches("pass_rate"), known=["items[].price"])
    assert not any("failed field" in each for each in lines)


def test_more_wrong_values_than_are_named_are_counted() -> None:
    leaves = [leaf(f"rows[{index}]", index, 1000 * index) for index in range(1, 1202)]
    one = score(*leaves, mistakes=(named("power_of_ten", "1,000 times the gold", "rows[1]"),))
    lines = summary_lines([result(Attempt(index=0, outcome=Outcome.FAILED, score=one))] * 2, width=200)
    assert "kinds of mistakes: 402 (not named), 2 power of ten" in [text_of(each) for each in lines]
