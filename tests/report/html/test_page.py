"""The page of a run as text: what browsers are told, what is escaped, what is cut and said to be."""

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_extract.core.case_result import Attempt, Breach, Outcome, Spending
from pytest_extract.core.results import Failure, FailureKind
from pytest_extract.core.scorer import compile_schema
from pytest_extract.regression.facts import Rules
from pytest_extract.regression.gate import evaluate_base
from pytest_extract.report.html import page as page_module
from pytest_extract.report.html.page import anchor, document_text, script_data
from tests.records import field_result, score_record
from tests.report.html.data import shown
from tests.report.runs import GOLD, TEXT, broken, case, scored, wrong


class Tags(HTMLParser):
    """Collects attributes, and the elements that are open."""

    def __init__(self, text):
        super().__init__()
        self.attributes = []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        if tag not in {"meta", "link", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def failed(score=None, *, output=None, name="a", **keys):
    """Make a result of a score made by hand."""
    score = score or score_record(measures={"pass_rate": 0.0}, **keys)
    return case(name, Outcome.FAILED, Attempt(index=0, outcome=Outcome.FAILED, score=score, output=output))


# --- nothing but what is ours


def test_only_the_page_s_own_style_and_script_are_allowed():
    text = shown(scored("a", GOLD)).text
    (policy,) = re.findall(r'content="(default-src [^"]*)"', text)
    for tag in ("style", "script"):
        (content,) = re.findall(rf'<{tag}(?: type="module")?>(.*?)</{tag}>', text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in html.unescape(policy)
    assert html.unescape(policy).startswith("default-src 'none';")
    attributes = Tags(text).attributes
    assert not [name for name, _ in attributes if name.startswith("on") or name == "style"]
    links = {value for name, value in attributes if name in {"src", "href"} and not (value or "").startswith("#")}
    assert links <= {"data:,"}


@given(st.text())
def test_data_ends_no_script_and_offsets_stay(text):
    safe = script_data([text])
    assert "<" not in safe
    assert "\u2028" not in safe
    safe.encode("utf-8")
    document = document_text(text)
    assert len(document) == len(text)
    assert all(other in (char, "\N{REPLACEMENT CHARACTER}") for char, other in zip(text, document, strict=True))


@settings(max_examples=40)
@given(st.text(min_size=1), st.text())
def test_whatever_a_case_is_called_the_page_is_well_formed(name, value):
    results = [scored(name, wrong(vendor=value), tags={name: value}), scored(value, GOLD, tags={name: "other"})]
    data = shown(*results, broken(value, name), mistakes=[value], facts={"command": value}, by=[name])
    assert Tags(data.text).open == []
    assert len(data.rows) == 3
    data.text.encode("utf-8")


def test_a_fragment_stays_the_same_and_is_nobody_else_s():
    one, again, other = scored("Acme & Co", GOLD), scored("Acme & Co", wrong(total=1)), scored("acme co", GOLD)
    assert anchor(one) == anchor(again) == "acme-co-2a447263"
    assert anchor(one) != anchor(other)
    assert anchor(scored("\ud800", GOLD)).startswith("case-")
    assert len(anchor(scored("x" * 1_000, GOLD))) < 64


# --- a case


def test_a_failing_field_has_both_values_with_their_differences():
    data = shown(scored("a", wrong(vendor="ACME Gmbh")))
    assert [data.field[key] for key in "psmgx"] == ["vendor", "mismatch", "text", '"ACME GmbH"', '"ACME Gmbh"']
    assert data.field["n"][0] == ["ACME Gmb", ["[H→h]", "mark"]]
    assert data.attempt["counts"] == "5 values match."
    assert [match[0] for match in data.attempt["matches"]][:2] == ["total", "items[0].name"]


def test_a_named_mistake_stands_at_its_field_and_in_the_filter():
    result = scored("a", wrong(total=-907.2))
    ((mistake,),) = [score.mistakes for score in result.scores]
    data = shown(result, scored("b", GOLD))
    assert data.field["n"][0] == [[mistake.text, "mark"]]
    assert data.rows[0].statuses == sorted(["mismatch", mistake.kind.replace("_", " ")])
    assert data.parts("overview", "kinds") == [[[mistake.kind.replace("_", " "), "1"]]]


def test_fields_told_in_one_line_have_no_values_and_their_own_past():
    scorer = compile_schema({"type": "object", "properties": dict.fromkeys("abcd", TEXT)})
    gold = {"a": "Alice", "b": "Bonn Ltd", "c": "Paris", "d": "Dora"}
    before = {**gold, "c": "Dora", "d": "Paris"}
    models = {"base": before, "new": {**before, "a": "Bonn Ltd", "b": "Alice"}}
    results = [scored("x", output, gold=gold, scorer=scorer, model=model) for model, output in models.items()]
    data = shown(*results, judged=evaluate_base(results, "base", Rules()))
    assert data.rows[0].variant == "new"
    fields = data.attempt["fields"]
    assert [(each["m"], each.get("w")) for each in fields] == [("swapped fields", w) for w in ("right before", None)]
    assert not any({"g", "x"} & field.keys() for field in fields)


def test_a_green_case_shows_what_failed_in_it_and_known_failures_are_told_apart():
    lenient = scored("a", wrong(vendor="ACME"), breaches=())
    assert shown(case("a", Outcome.PASSED, *lenient.attempts)).field["p"] == "vendor"
    known = shown(scored("a", wrong(total=1), known=("total",))).attempt
    assert ([field["p"] for field in known["known"]], known["fields"]) == (["total"], [])


def test_repeats_are_told_one_by_one():
    bad, good = scored("a", wrong(total=1)).attempts[0], scored("a", GOLD).attempts[0]
    data = shown(case("a", Outcome.FAILED, good, bad, bad, needed=2))
    (body,) = data.bodies
    assert body["repeats"] == "1 of 3 repeats passed, 2 needed."
    assert [attempt["title"] for attempt in body["attempts"]] == ["Repeat 1 of 3: failed"] * 2  # both made as the first
    assert "unsteady" in data.told


def test_an_output_that_cannot_be_scored_is_shown_with_the_place(monkeypatch):
    comma = Failure(kind=FailureKind.TRAILING_COMMA, message="a comma too many", line=2, column=7)
    output = '{\n  "a": 1,\n}'
    data = shown(failed(failure=comma, output=output))
    assert data.attempt["gates"] == [["trailing_comma at line 2, column 7", "a comma too many"]]
    assert data.attempt["output"] == {"text": output, "at": 2 + 6}
    assert "unusable outputs: 1 trailing_comma" in data.told
    monkeypatch.setattr(page_module, "_MOST_OUTPUT", 20)
    far = Failure(kind=FailureKind.MALFORMED_JSON, message="x", line=1, column=501)
    found = shown(failed(failure=far, output="a" * 500 + "B" + "c" * 499)).attempt["output"]
    assert found["text"][found["at"]] == "B"
    assert (len(found["text"]), found["left"]) == (20, "980 more characters in the results file")


def test_rows_are_shown_as_they_were_matched():
    def rows(*items):
        (table,) = shown(scored("a", wrong(items=[*items]))).attempt["rows"]
        return dict(table)

    bolt, nut = GOLD["items"]
    table = rows(nut, {"name": "Bolt", "price": 9.5})
    assert (table["p"], table["c"], table["n"]) == ("items", ["name", "price"], "1 more row")
    assert table["r"] == [[0, 1, [["match", '"Bolt"', '"Bolt"'], ["mismatch", "2.5", "9.5"]]]]
    assert rows(bolt)["r"][0][:2] == [1, None]
    assert rows(bolt, nut, {"name": "Cog", "price": 3})["r"][0][:2] == [None, 2]


def test_what_has_no_room_in_a_case_is_counted(monkeypatch):
    for name in ("_MOST_ARRAYS", "_MOST_SENTENCES", "_MOST_VARIANTS", "MOST_FIELDS", "MOST_MATCHES"):
        monkeypatch.setattr(page_module, name, 2)
    fields = (("list{}[0].name", "b"), ("known{}", "b"), ("right{}", "a"))
    leaves = [field_result(path.format(index), "a", value) for path, value in fields for index in range(3)]
    texts = ("one", "two", "three")
    bounds = tuple(Breach(what="f1", message=text) for text in texts)
    attempt = replace(failed(score_record(*leaves)).attempts[0], notes=texts, breaches=bounds)
    known = tuple(f"known{index}" for index in range(3))
    cases = [case("a", Outcome.FAILED, attempt, attempt, model=f"m{index}", known=known) for index in range(3)]
    data = shown(*cases)
    found = data.attempt
    assert found["notes"] == ["Note: one", "Note: two", "… and 1 more note"]
    assert found["bounds"] == ["one", "two", "… and 1 more bound"]
    more = "… 1 more list with wrong rows; the results file has them."
    assert (len(found["rows"]), found["more_rows"]) == (2, more)
    assert [len(found["known"]), found["all_known"], len(found["matches"]), found["all_matches"]] == [2, 3, 2, 3]
    assert "… and 1 more variant" in data.bodies[0]["variants"]["notes"]


# --- the list, the filter, the heat map


def test_cases_have_what_the_filter_asks_for():
    many = {f"t{index}": "x" for index in range(24)}  # the same in each case, so nobody asks for them
    data = shown(
        scored("a", wrong(total=1), tags={**many, "domain": "mail"}, model="m"),
        scored("b", GOLD, tags={**many, "domain": "scan"}, model="n"),
    )
    first, second = data.rows
    assert (first.name, first.outcome, first.variant, first.tags["domain"]) == ("a", "failed", "m", "mail")
    assert (first.statuses, first.gist) == (["mismatch"], "pass_rate 0.667 is below 1")
    assert (second.statuses, second.rate, second.fields) == ([], 1.0, [])
    assert ["domain", ["mail", "scan"]] in data.filters["tags"]


def test_cases_alike_stand_in_the_order_of_their_names():
    names = ["case-1", "case-2", "case-10"]
    assert shown(*(scored(name, GOLD) for name in reversed(names))).names == names


def test_the_heat_map_has_a_letter_for_each_field():
    data = shown(
        scored("a", wrong(total=1, vendor=None)),
        scored("b", wrong(items=[{"name": "Bolt", "price": 7}, GOLD["items"][1]])),
        scored("c", GOLD),
        failed(failure="no_json", name="d"),
    )
    heat = {row.name: dict(zip(data.patterns, row.heat, strict=True)) for row in data.rows}
    assert heat["a"] == {"vendor": "O", "total": "X", "items[].price": "m"}
    assert heat["b"] == {"vendor": "m", "total": "m", "items[].price": "x"}
    assert ({*heat["c"].values()}, {*heat["d"].values()}) == ({"m"}, {"!"})


# --- what has no room


def test_what_is_left_out_is_said(monkeypatch):
    def limit(name, most):
        monkeypatch.setattr(page_module, name, most)

    both = scored("a", wrong(vendor="x", total=1))
    with monkeypatch.context():
        limit("MOST_FIELDS", 1)
        limit("HEAT_COLUMNS", 1)
        data = shown(both)
        assert data.attempt["more"] == "… 1 more failing field; the results file has them."
        assert len(data.attempt["fields"]) == 1
        assert "1 of 2 fields that fail are in the heat map" in data.told
    half = len(json.dumps(shown(both).bodies[0])) // 2
    limit("MOST_CHARACTERS", 2 * half)
    data = shown(failed(both.attempts[0].score, output='{"total": 1}'), scored("b", GOLD))
    assert "matches" in data.attempt
    assert data.attempt["output"] == {"text": '{"total": 1}'}
    assert all("matches" not in attempt for attempt in data.bodies[1]["attempts"])
    assert "fields that match are listed in 1 of 2 cases, and counted in the others" in data.told
    limit("MOST_CHARACTERS", 1)
    data = shown(scored("a", GOLD), scored("b", wrong(vendor="x")))
    assert "1 of 2 cases have room for their fields, what is not green first" in data.told
    assert data.names == ["b", "a"]
    assert "attempts" in data.bodies[0]
    assert data.bodies[1]["note"].startswith("The page is full")


def test_ten_thousand_cases_take_little_room():
    results = [scored(f"c{index}", wrong(total=index)) for index in range(50)] + [scored("fine", GOLD)] * 50
    size = len(shown(*results).text.encode()) - len(shown(*results[:1]).text.encode())
    assert size / 99 * 10_000 < 30_000_000


# --- the run


def test_models_costs_and_facts_are_told():
    facts = {"command": "pytest -q", "revision": "0123456789ab"}
    small = scored("a", GOLD, model="small", cost_usd=0.25)
    data = shown(small, judge=Spending(calls=3, cost_usd=0.5), facts=facts, mistakes=["a.yaml:1: no key"])
    told = data.told
    assert ["cost", "$0.2500"] in data.bodies[0]["facts"]
    for part in ("pre a.yaml:1: no key", "judge 3 calls", "cost of the judge $0.5000", "model small"):
        assert part in told
    assert "command pytest -q revision 0123456789ab" in told
    assert "models large, small" in shown(small, scored("b", GOLD, model="large")).told


@pytest.mark.parametrize(
    ("result", "keys", "step"),
    [
        (scored("a", wrong(total=1)), {}, "Look at `total` first: 1 of 1 values wrong in 1 case."),
        (broken("a", "RuntimeError"), {}, "Fix the errors of 1 case (of the extractor, its model or the judge)"),
        (scored("a", GOLD), {"mistakes": ["x"]}, "Correct the case files with mistakes"),
        (case("a", Outcome.NOT_RUN, why="spent"), {}, "Raise `--extract-budget` for the 1 case that did not run."),
        (scored("a", GOLD), {}, ""),
    ],
)
def test_what_to_do_is_told(result, keys, step):
    steps = shown(result, **keys).head["steps"]
    assert bool(steps) == bool(step)
    assert not steps or step in shown(result, **keys).told


def test_pass_rates_are_plotted_by_size_from_twenty_cases_on():
    results = [
        scored(f"c{size}", wrong(total=size) if size > 5 else GOLD, shape={"values": size, "fields": 3, "depth": 2})
        for size in range(5, 205, 10)
    ]
    (plot,) = shown(*results).parts("plots", "plot")
    assert plot["title"] == "Pass rate by output size"
    assert plot["text"] == "20 cases; rank correlation -0.38"
    assert "c55: 55, 66.7 %" in [point[3] for point in plot["points"]]
    alike = scored("d", wrong(total=1), shape={"values": 70})
    assert [shown(*results[1:], *more).parts("plots", "plot") for more in ((), (alike,))] == [[], []]


def test_runs_are_plotted():
    runs = [scored("a", wrong(total=1), model="m (one)"), scored("a", GOLD, model="m (two)")]
    (plot,) = shown(*runs, runs=["m (one)", "m (two)"]).parts("ranking", "plot")
    assert plot["title"] == "Score over runs"
    one, two = [1, pytest.approx(2 / 3), 0, "m (one): pass_rate 0.6667"], [2, 1.0, 0, "m (two): pass_rate 1"]
    assert plot["points"][:2] == [one, two]
    assert shown(*runs).parts("ranking", "plot") == []


def test_variants_are_ranked_first_and_never_pooled():
    right = [scored(f"c{index}", GOLD, model="small", cost_usd=0.001) for index in range(12)]
    bad = [scored(f"c{index}", wrong(total=1, vendor="x"), model="large", cost_usd=0.02) for index in range(12)]
    data = shown(*right, *bad, gate="none")
    assert (data.head["text"], next(iter(data.sections))) == ("small is best, beyond noise", "ranking")
    (table,) = data.parts("ranking", "table")
    small, large = ([*row[:2], *row[5:7]] for row in table["rows"])
    assert (small, large) == ([" 1 small", "100 %", "12", "12"], [" 2 large", "33.3 %", "12", "0"])
    (plot,) = data.parts("ranking", "plot")
    assert [point[:2] for point in plot["points"]] == [[1000.0, 1.0], [20000.0, pytest.approx(1 / 3)]]
    (fields,) = data.parts("fields", "fields")
    assert fields["heads"] == ["field", "wrong in large", "wrong in small", "cases", "how"]
    for body in data.bodies:
        assert body["variants"]["heads"] == ["field", "gold", "small: passed", "large: failed"]
        assert ["total", "907.2", "✓", "1"] in body["variants"]["rows"]


def test_a_run_without_results_has_a_page():
    assert "<title>! Nothing run: no case was run</title>" in shown().text
    assert Tags(shown().text).open == []
