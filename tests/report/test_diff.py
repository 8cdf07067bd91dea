"""The lines of a case that is not green: a line for each finding, in the window, nothing said twice."""

import re

import pytest

from pytest_extract.core.case_result import Attempt, Breach, Outcome
from pytest_extract.core.results import Failure, FailureKind, NamedMistake
from pytest_extract.core.values import FieldPath
from pytest_extract.report.diff import DiffOptions, case_lines, score_lines
from pytest_extract.report.lines import text_width
from tests.cpu_time import cpu_seconds
from tests.records import field_result as leaf
from tests.records import score_record as score
from tests.report.runs import case as read_case
from tests.report.runs import texts


def told(one, *, verbosity=0, width=160, brief=False, **keys):
    return texts(score_lines(one, DiffOptions(verbosity=verbosity, width=width, brief=brief), **keys))


def squeezed(lines):
    return [re.sub(r"\s+", " ", each).strip() for each in lines]


def paths(lines):
    return [each.split()[0] for each in lines]


def named(kind, text, *paths):
    return NamedMistake(kind, tuple(map(FieldPath.parse, paths)), text)


LINES = {
    'a text missing gold "x"': leaf("a", "x"),
    'a text invented extracted "x"': leaf("a", extracted="x"),
    "a number(rel=0.01) mismatch gold 12.5 extracted 12.05 off by 0.45, relative error 0.036": leaf(
        "a", 12.5, 12.05, metric="number", params={"rel": 0.01, "abs": None}
    ),
    'r[2].x text mismatch gold "ab c" extracted "ab d" ab [c→d] matched with r[5].x': leaf(
        "r[2].x", "ab c", "ab d", matched="r[5].x"
    ),
    'a text judge error gold "x" extracted "y" timed out': leaf(
        "a", "x", "y", status="judge_error", reason="timed out"
    ),
    'a text mismatch gold "x" extracted "y" no \\x1b[31mdate': leaf("a", "x", "y", reason="no \x1b[31mdate"),
    "a text mismatch gold {a: [1, 2], b: 2} extracted {a: [1, 3], c: 4} c invented 4; b lost 2; a[1] 2→3": leaf(
        "a", {"a": [1, 2], "b": 2}, {"a": [1, 3], "c": 4}
    ),
    # Nothing is said twice.
    'a text mismatch gold "x" extracted 7 a string expected': leaf("a", "x", 7, reason="a string expected"),
    'a text mismatch gold "x" extracted "z"': leaf("a", "x", "z"),
    "a text mismatch gold [1] extracted [2] [0] 1→2": leaf("a", [1], [2]),
    "a text mismatch gold {x: 1} extracted [1] expected an object": leaf(
        "a", {"x": 1}, [1], reason="expected an object"
    ),
}


@pytest.mark.parametrize("line", LINES)
def test_a_field_s_line(line):
    assert squeezed(told(score(LINES[line], leaf("same", 1, 1)))) == [line, "1 value matches"]


@pytest.mark.parametrize(
    ("leaves", "lines"),
    [
        (
            [leaf("v.name", "A"), leaf("v.city", "B")],
            ['v object missing gold {name: "A", city: "B"} whole object, 2 fields'],
        ),
        (
            [leaf("r[2].p", 1), leaf("r[2].q", "a"), leaf("r[-1].p", extracted=5, matched="r[7].p")],
            [
                'r[2] row missing gold {p: 1, q: "a"} whole row, 2 fields',
                "r[-1].p text invented extracted 5 stands at r[7].p",
            ],
        ),
        (  # of the list that is the whole output
            [leaf("[0].p", "a", "b"), leaf("[1].p", "b", "a")],
            ["$ order mismatch 2 rows in another order: 0 at 1, 1 at 0"],
        ),
        (  # a key with brackets is no row
            [leaf('["odd[3]"].p', 1, "1"), leaf('["odd[3]"].q', 1)],
            [
                '["odd[3]"].p text mismatch gold 1 extracted "1" string where gold has integer',
                '["odd[3]"].q text missing gold 1',
            ],
        ),
    ],
)
def test_wholes_are_one_line_but_with_vv(leaves, lines):
    assert squeezed(told(score(*leaves))) == [*lines, "0 values match"]
    assert len(told(score(*leaves), verbosity=2)) > len(leaves)


def test_characters_that_look_alike_are_named():
    lines = told(score(leaf("a", "Alpha AG", "\u0410lpha AG")), width=100)
    assert lines[1].strip() == "gold has U+0041 LATIN CAPITAL LETTER A, extracted U+0410 CYRILLIC CAPITAL LETTER A"


@pytest.mark.parametrize(
    ("kind", "text", "end"),
    [
        ("affix", "“No.:” was kept", " “No.:” was kept"),
        ("missing", "nothing was extracted", ""),  # is not told twice
        ("missing_row", "row 0 is missing", ""),
        ("missing", "nothing was extracted; the gold's value is in no document", " the gold's value is in no document"),
    ],
)
def test_a_named_mistake_is_told_once(kind, text, end):
    one = score(leaf("a", "x"), mistakes=(named(kind, text, "a"),))
    assert squeezed(told(one))[0] == f'a text missing gold "x"{end}'


def test_the_worst_stands_first_then_the_heaviest_then_document_order():
    values = ("x1", "x2")
    leaves = (leaf("a", *values, score=0.5), leaf("b", *values), leaf("c", *values, weight=3.0), leaf("d", *values))
    assert paths(told(score(*leaves)))[:4] == ["c", "b", "d", "a"]


# --- the window

LONG = "income_statement.operating_income[14].segment_name"
COLUMNS = (
    leaf("total", 1, 2, metric="number_tolerance", params={"tolerance": 0.001}),
    leaf(LONG, "HDD", "SSD", metric="string_case_insensitive"),
    leaf("rows[1].name", "文書番号" * 9, "文書号番" * 9),
    leaf("客戶.名稱", "甲", "乙"),
)


def test_columns_hold_where_they_fit_and_flow_where_they_do_not():
    wide, narrow = told(score(*COLUMNS), width=100), told(score(*COLUMNS), width=80)
    heads = [each for each in wide if "mismatch" in each]
    assert paths(heads) == ["total", LONG, "rows[1].name", "客戶.名稱"]
    assert len({text_width(each[: each.index("mismatch")]) for each in heads}) == 1
    assert max(map(text_width, wide)) <= 100
    assert narrow[0] == "  total  number_tolerance(tolerance=0.001)  mismatch  gold 1  extracted 2"
    assert narrow[2:4] == [f"  {LONG}  string_case_insensitive", '      mismatch  gold "HDD"  extracted "SSD"']
    assert max(map(text_width, narrow)) <= 80


def test_a_path_wider_than_the_window_is_broken():
    path = "a" * 60 + "." + "b" * 60
    lines = told(score(leaf(path, 1, 2), leaf("total", 3, 4)), width=80)
    assert "".join(lines[:2]).replace(" ", "") == path
    assert lines[2].split()[:2] == ["text", "mismatch"]


def test_values_too_long_for_one_line_stand_one_below_the_other():
    gold = "The quick brown fox jumps over the lazy dog"
    extracted = gold.replace("jumps", "jumped")
    head, *values, marked, _ = told(score(leaf("vendor.name", gold, extracted)), width=80)
    assert (head, values) == (
        "  vendor.name  text  mismatch",
        [f'      gold      "{gold}"', f'      extracted "{extracted}"'],
    )
    assert marked == "      The quick brown fox jump[s→ed] over the lazy dog"


def test_of_long_texts_the_part_that_differs_is_shown_and_all_with_vv():
    gold = "".join(f"word{i} " for i in range(500))
    one = score(leaf("a", gold, gold.replace("word250 ", "ward250 ")))
    lines = told(one, width=80)
    assert all("50 word251" in each for each in lines[1:4])
    assert "w[o→a]rd250" in lines[3]
    assert max(map(len, lines)) <= 80
    _, whole, _, *marked, _ = told(one, verbosity=2, width=80)
    assert whole == f'      gold      "{gold}"'
    assert any("w[o→a]rd250" in each for each in marked)
    assert max(map(len, marked)) <= 80
    assert len(marked) <= 5
    inside = told(score(leaf("b", {"x": "y" * 200}, {"x": 1})), verbosity=2, width=400)
    assert f'x "{"y" * 200}"→1' in "".join(inside)


def test_vv_marks_all_changes_of_a_text():
    gold = "".join(f"in section {i} the buyer shall pay within {i} days of the delivery; " for i in range(5))
    extracted = gold.replace("section 0", "part 0").replace("section 2", "part 2").replace("section 4", "annex 4")
    text = " ".join(told(score(leaf("a", gold, extracted.replace("4 days", "9 days"))), verbosity=2, width=100))
    assert "more difference" not in text
    assert text.count("→annex]") == 1


def test_huge_values_without_fields_are_not_diffed():
    lines = told(score(leaf("free", [list(range(300))] * 100, [list(range(301))] * 100)))
    assert "too large to be compared inside" in "".join(lines)


# --- --tb=short


def test_tb_short_has_a_line_for_each_field():
    one = score(
        leaf("total", 450_000_000, 45_000_000, metric="number", reason="off by 405,000,000, relative error 0.9"),
        leaf("vendor.name", "ACME GmbH", "ACME Gmbh"),
        leaf("iban", "DE02"),
        leaf("note", extracted="paid"),
        leaf("items[2].p", 1),
        leaf("items[2].q", "a"),
        leaf("summary", "The quick brown fox jumps over the dog", "The quick brown fox jumped over the dog"),
        leaf("same", "x", "y", status="judge_error", reason="timed out"),
        mistakes=(named("power_of_ten", "1/10 of the gold", "total"),),
    )
    lines = told(one, width=80, brief=True)
    assert squeezed(lines) == [
        "total number mismatch gold 450000000 extracted 45000000 1/10 …",
        'vendor.name text mismatch gold "ACME GmbH" extracted "ACME Gmbh" …',
        'iban text missing gold "DE02"',
        'note text invented extracted "paid"',
        'items[2] row missing gold {p: 1, q: "a"} whole row, 2 fields',
        'summary text mismatch gold "…n fox jumps over the…" extracted …',
        'same text judge error gold "x" extracted "y" timed out',
    ]
    assert lines[2].index("gold ") == lines[3].index("extracted ")
    assert "[H→h]" in told(one, width=120, brief=True)[1]
    assert max(map(len, told(one, width=44, brief=True))) <= 44


@pytest.mark.parametrize(
    ("look", "shown", "more"),
    [
        ({"brief": True}, 8, "… 192 more failing fields (-v shows more, -vv all)"),
        ({}, 25, "… 175 more failing fields (-v shows more, -vv all)"),
        ({"verbosity": 1}, 100, "… 100 more failing fields (-vv shows all)"),
        ({"verbosity": 2}, 200, "0 values match"),
    ],
)
def test_long_lists_of_fields_are_cut_and_say_so(look, shown, more):
    lines = told(score(*(leaf(f"f{i}", "x", "y") for i in range(200))), **look)
    assert lines[shown].strip() == more


# --- what is counted, and what counts

ITEMS = (leaf("items[0].price", 1, 2), leaf("note", "x", "y"), leaf("items[1].price", 3, 4), leaf("total", 1, 1))
FIELDS = (leaf("items", [1], [2]), leaf("note", "x", "y", passed=True), leaf("total", 1, 1))
ROWS = ["items[0].price", "items[1].price"]


def breaches(*names):
    return [Breach(what=name, message=f"{name} is missed") for name in names]


@pytest.mark.parametrize(
    ("leaves", "known", "counts"),
    [
        ([leaf("i[0].t", 1, 2), leaf("i[1].t", 1, 1), leaf("a", 1, 1)], ["i[].t"], "1 value matches, 1 known failure"),
        (
            [leaf("v.a", 1, 1), leaf("v.b", 1, 2), leaf("w.a", 1, 1), leaf("w.b", 1, 1)],
            ["v", "w", "gone"],
            "0 values match, 1 known failure, known failures that pass now: w (take out of known_failures)",
        ),
    ],
)
def test_what_has_no_line_is_counted(leaves, known, counts):
    assert told(score(*leaves), known=known) == [f"  {counts}"]


@pytest.mark.parametrize(
    ("missed", "order"),
    [
        (["pass_rate"], [*ROWS, "note"]),
        (["fields.note"], ["note", *ROWS]),
        (["fields.items[].price"], [*ROWS, "note"]),
        (["fields.items"], [*ROWS, "note"]),
        (["absent.note"], ["note", *ROWS]),
        (["max_cost_usd", "rules.total == 1"], [ROWS[0], "note", ROWS[1]]),
        (["pass_rate", "fields.note"], [ROWS[0], "note", ROWS[1]]),
        (["f1"], [ROWS[0], "note", ROWS[1]]),
        ([], [ROWS[0], "note", ROWS[1]]),
    ],
)
def test_values_that_count_toward_no_missed_bound_stand_last(missed, order):
    lines = told(score(*ITEMS, fields=FIELDS), breaches=breaches(*missed))
    assert [each for each in paths(lines[:-1]) if each != "1"] == order


def test_fields_told_in_one_line_count_by_their_own_places():
    values = {"buyer": "Ann", "seller": "Bo", "city": "Rome", "town": "Bern"}
    found = {"buyer": "Bo", "seller": "Ann", "city": "Bern", "town": "Rome"}
    pairs = ("buyer", "seller"), ("city", "town")
    swaps = (named("swapped_fields", f"{one} and {other} are swapped", one, other) for one, other in pairs)
    one = score(*(leaf(name, values[name], found[name]) for name in values), mistakes=tuple(swaps))
    swapped = [f"$ swapped fields mismatch {each} are swapped" for each in ("city and town", "buyer and seller")]
    assert squeezed(told(one, breaches=breaches("fields.town"))) == [*swapped, "0 values match"]


def test_failed_fields_are_named_with_their_wrong_values():
    def first(one, **keys):
        return told(one, breaches=breaches("pass_rate"), **keys)[0].strip()

    assert first(score(*ITEMS, fields=FIELDS)) == "1 failed field: items (2 wrong values)"
    assert first(score(*ITEMS, fields=FIELDS), known=["items[].price"]).startswith("note ")
    assert first(score(leaf("a", 1, 2), fields=(leaf("a", 1, 2),))).startswith("a ")  # not named twice
    many = score(*(leaf(f"f{i}[0]", 1, 2) for i in range(7)), fields=tuple(leaf(f"f{i}", [1], [2]) for i in range(7)))
    assert first(many).endswith("f4 (1 wrong value) and 2 more")
    alone = leaf("rows", [{"a": 1}], [{"a": 1}, {"a": None}], metric="array", reason="1 invented")
    assert first(score(leaf("rows[0].a", 1, 1), fields=(alone,))).startswith("rows")


def test_many_failed_fields_take_time_that_grows_with_their_number():
    def seconds(count):
        fields = [leaf(f"f{index}", 1, 2) for index in range(count)]
        one = score(*fields, fields=fields)
        return cpu_seconds(lambda: told(one, breaches=breaches("pass_rate")))

    assert seconds(1_600) < 25 * seconds(200)  # 64 times as long where each finding asks each failed field


# --- gates, places, outputs


def test_a_gate_tells_its_arithmetic_and_a_place_stands_below_its_field():
    one = score(leaf("a", "x", "y"), failed={"coverage": "structure coverage 0.947 < 0.95"})
    lines = told(one, places={"a": "gold at line 3, column 2"})
    assert lines[0] == "  coverage gate: structure coverage 0.947 < 0.95"
    assert lines[2].strip() == "gold at line 3, column 2"


COMMA = Failure(kind=FailureKind.TRAILING_COMMA, message="a comma before }", line=3, column=9)
NO_JSON = Failure(kind=FailureKind.NO_JSON, message="no JSON", line=None, column=None)
OUTPUT = '{\n "a": 1,\n "b": 22,\n}'
AT_COMMA = "  trailing_comma at line 3, column 9: a comma before }"


@pytest.mark.parametrize(
    ("failure", "output", "brief", "lines"),
    [
        (COMMA, OUTPUT, False, [AT_COMMA, r'  output (22 characters): "{\n "a": 1,\n "b": 22,\n}"']),
        (COMMA, OUTPUT, True, [AT_COMMA]),
        (NO_JSON, "I cannot", False, ["  no_json: no JSON", '  output (8 characters): "I cannot"']),
        (NO_JSON, 42, False, ["  no_json: no JSON", "  output: 42"]),
    ],
)
def test_an_unusable_output_is_shown(failure, output, brief, lines):
    assert told(score(failure=failure), output=output, brief=brief) == lines


def test_of_a_long_unusable_output_the_part_around_the_place_is_shown():
    failure = Failure(kind=FailureKind.MALFORMED_JSON, message="bad", line=3, column=5_001)
    output = "a\nb\n" + "x" * 5_000 + "here" + "y" * 5_000
    lines = told(score(failure=failure), output=output, width=80)
    assert "xhere" in lines[-1]
    assert max(map(len, lines)) <= 80


# --- a case


def case(*outcomes, error=None, **keys):
    one = None if error else score(leaf("f", "x", "y"))
    attempts = (Attempt(index=at, outcome=each, score=one, error=error) for at, each in enumerate(outcomes))
    return read_case("c", Outcome.FAILED, *attempts, **keys)


def test_a_case_tells_its_breaches_first_or_what_broke():
    lines = texts(case_lines(case(Outcome.FAILED, breaches=tuple(breaches("f1"))), DiffOptions()))
    assert lines[0] == "  f1 is missed"
    broken = case(Outcome.ERROR, error="ValueError: \x1b[31mno\nmore")
    assert texts(case_lines(broken, DiffOptions())) == ["  ValueError: \\x1b[31mno", "  more"]


@pytest.mark.parametrize(("verbosity", "shown"), [(0, [2]), (1, [2, 3])])
def test_of_several_repeats_the_first_bad_one_is_shown_and_all_with_v(verbosity, shown):
    repeats = case(Outcome.PASSED, Outcome.FAILED, Outcome.FAILED, needed=2)
    first, *lines = texts(case_lines(repeats, DiffOptions(verbosity=verbosity)))
    assert first == "1 of 3 repeats passed, 2 needed"
    heads = [each for each in lines if each.startswith("repeat ")]
    assert heads == [f"repeat {number} of 3 (2 not green):" for number in shown]
