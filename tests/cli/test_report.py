"""`pytest-extract report` and `leaderboard`, from results files."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_extract.core.aggregate import DEEPJSON
from pytest_extract.core.aggregate.slices import natural_key
from pytest_extract.core.case_result import Attempt, Origin, Outcome, Usage
from pytest_extract.report.formats import FORMATS, report_file
from pytest_extract.results import dump_result, write_results
from tests.commands import write
from tests.core.aggregate.test_run import RUN, result, score
from tests.report.runs import GOLD, broken, scored, wrong

SHAPE = {"fields": 3, "breadth": 2, "depth": 4, "arrays": 1, "array_items": 5, "leaves": 6, "values": 6}
PAID = Attempt(
    index=0, outcome=Outcome.PASSED, score=score(1.0), cost_usd=0.25, usage=Usage(prompt_tokens=7, completion_tokens=2)
)


def of_variant(model, runs):
    named = [replace(each, variant=replace(each.variant, model=model)) for each in runs]
    return [replace(each, nodeid=f"{each.nodeid}[{model}]", shape={**SHAPE, **each.shape}) for each in named]


def better(model):
    return [replace(each, attempts=(PAID,), outcome=Outcome.PASSED) for each in of_variant(model, RUN)]


TAGGED = [
    scored("a", GOLD, model="m", tags={"domain": "finance"}),
    scored("b", wrong(total=1), model="m", tags={"domain": "finance"}),
    scored("c", GOLD, model="n", tags={"domain": "sport"}),
]


@pytest.fixture
def call(run):
    """Run a command on `run.jsonl` (one variant), `told.jsonl` (two cases), `tagged.jsonl` and more, with status 0."""
    write_results("run.jsonl", of_variant("m/one", RUN))
    write_results("told.jsonl", [scored("a", GOLD), scored("b", wrong(total=1))])
    write_results("tagged.jsonl", TAGGED)
    write({"empty.jsonl": "", "broken.jsonl": "{\n{}\n", "file": ""})

    def call(command, results=None, status=0):
        if results is not None:
            write_results("r.jsonl", results)
        return run(command, status=status)

    return call


def test_report_tells_what_every_system_reports(call):
    ended = call("report run.jsonl")
    assert "m/one: 5 cases: 3 scored, 1 in error, 1 not run" in ended.out
    for row in (
        "measure mean 95 % weighted 95 %",
        "pass_rate 0.5333 0 - 1 0.4667 0 - 1",
        "field values right match mism. missing invented undec. score f1",
        "a 3 33.3 % 1 2 0 0 0 0.7333 0.7333",
        "outputs valid pass rate fields on valid",
        "all 3 of 4 25 % 1 of 4 33.3 %",
        "not valid: no_json 1",
        "Long Context Extraction 0.5333 0 - 1 0.4667 0 - 1",
        "overall 0.28: mean of 7 columns 0.4667, coverage 60 %",
        "3-4 (medium) 0 0 0",
        "5+ (hard) 0.6 0.6 0.6",
    ):
        assert row in ended.rows


def test_a_rate_of_nothing_valid_is_undefined_and_not_zero(call):
    nothing_valid = [result("e", score(0.0, failure="no_json"), outcome=Outcome.FAILED)]
    assert "all 0 of 1 0 % 0 of 1 -" in call("report r.jsonl", nothing_valid).rows


FILES = {
    "out/r.html": "<!doctype html>",
    "out/r.md": "<!-- pytest-extract -->\n## ❌ Failed\n",
    "out/r.csv": "case,file,model,",
    "out/r.jsonl": '{"format"',
    "out/r.parquet": "PAR1",
    "agent:report": "# Failed: 1 of 2 cases failed\n",
    "gitlab:report": '[\n {\n  "description"',
}


@pytest.mark.parametrize(("name", "beginning"), FILES.items())
def test_report_as_a_file(call, name, beginning):
    ended = call(f"report told.jsonl --output {name}")
    path = Path(name.rpartition(":")[2])
    assert (ended.out, ended.err) == ("", f"pytest-extract report: reports: {path}\n")
    assert path.read_bytes().startswith(beginning.encode())
    assert [report_file(each).format for each in FILES] == [*FORMATS]


def test_report_as_json_has_the_values_of_its_tables(call):
    (variant,) = call("report run.jsonl --json").json
    measures, fields, outputs, *_, depths = variant.pop("tables")
    assert variant == {"variant": "m/one", "cases": 5, "scored": 3, "in error": 1, "not run": 1}
    f1 = next(row for row in measures["rows"] if row["measure"] == "f1")
    assert (f1["mean"], f1["weighted"]) == pytest.approx(((1 + 0.6 + 0) / 3, (1 + 3 * 0.6 + 0) / 6))
    rates = {"valid": [3, 4], "pass rate": 0.25, "fields": [1, 4], "on valid": pytest.approx(1 / 3)}
    assert (outputs["rows"], outputs["notes"]) == ([{"outputs": "all", **rates}], ["not valid: no_json 1"])
    assert depths["rows"][1] == {"depth": "5+ (hard)", **dict.fromkeys(DEEPJSON, pytest.approx(0.6))}
    assert [fields["rows"][0][name] for name in ("match", "mismatch", "right")] == [1, 2, pytest.approx(1 / 3)]


def test_a_run_that_only_broke_is_reported(call):
    assert call("report r.jsonl", [result("a", outcome=Outcome.ERROR)]).out.startswith("1 case: 0 scored, 1 in error\n")
    assert "(no model)" in call("leaderboard r.jsonl").out


def test_verbose_lists_every_field_and_hostile_names_are_tame(call):
    one = score(1.0)
    names = ["a\x1b[31m", *(f"f{index}" for index in range(29))]
    wide = replace(one, leaves=tuple(one.leaves[0]._replace(pattern=name) for name in names))
    short = call("report r.jsonl", [replace(result("x", wide), nodeid="\x1b]0;x", shape=SHAPE)])
    assert "and 10 more fields; -v lists all" in short.out
    assert "\x1b" not in short.out
    assert "f28" in call("report r.jsonl -v").out


def test_the_leaderboard_ranks_variants_of_several_files(call, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    ended = call("leaderboard run.jsonl r.jsonl", better("m/two"))
    assert ended.lines[0] == "m/two is first, tied with m/one"
    assert [row for row in ended.rows if "m/" in row][1:] == [
        "1 m/two 100 % 41.6 - 100 % 2 1 5 5 0 0 0.25 -",
        "2 m/one 53.3 % 5.1 - 95.8 % 1 0.5333 5 2 1 1 - -",
        "1 m/two 1 100 % 1 1 1 1 1 1 1",
        "2 m/one 0.28 60 % 0.4667 0.4667 0.4667 0.4667 0.4667 0.4667 0.4667",
        "1 m/two 5 of 5 100 % 5 of 5 100 %",
        "2 m/one 3 of 4 25 % 1 of 4 33.3 %",
    ]
    (board,) = call("leaderboard --json run.jsonl r.jsonl").json
    assert [row["tied with"] for row in board["tables"][0]["rows"]] == [["m/one"], ["m/two"]]


ONE = of_variant("m/one", RUN)


@pytest.mark.parametrize(
    ("files", "rows"),
    [
        ({"again": [*ONE, replace(ONE[0], attempts=(), outcome=Outcome.ERROR)]}, [("m/one", 5, 2)]),
        ({"run": ONE, "two": better("m/one")}, [("m/one (two)", 5, 5), ("m/one (run)", 5, 3)]),
        ({"run": ONE, "./run": ONE}, [("m/one", 5, 3)]),
        ({"one": ONE[:2], "two": ONE[2:]}, [("m/one", 5, 3)]),
    ],
    ids=["a case twice counts once", "the same cases are runs of their own", "one file twice", "parts of one run"],
)
def test_files_with_the_same_variant(call, files, rows):
    for name, results in files.items():
        write_results(f"{name}.jsonl", results)
    named = " ".join(f"{name}.jsonl" for name in files)
    ended = call(f"leaderboard --json {named}")
    ((ranking, *_),) = (board["tables"] for board in ended.json)
    assert [(row["variant"], row["cases"]) for row in ranking["rows"]] == [row[:2] for row in rows]
    reported = call(f"report {named}").out
    assert all(f"{variant}: {cases} cases: {scored} scored" in reported for variant, cases, scored in rows)


SYSTEM = "domain cases passed"


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        (
            "--by domain",
            [
                f"{SYSTEM} valid pass rate fields on valid f1",
                "finance, m 2 1 2 of 2 83.3 % 5 of 6 83.3 % 0.9167",
                "sport, n 1 1 1 of 1 100 % 3 of 3 100 % 1",
            ],
        ),
        ("--by domain --as sob", [f"{SYSTEM} value faith. json path struct. types perfect", "sport, n" + " 1" * 9]),
        ("--by domain --as deepjsoneval", [f"{SYSTEM} syntax key_match strict", "sport, n 1 1 1 1 1"]),
        ("--by domain --as struct-extract-eval", [f"{SYSTEM} precision recall f1", "sport, n 1 1 1 1 1"]),
        ("--by field", ["total, m 2 50 % 1 1 0 0 0 0.5 0.5"]),
        ("--by type", ["number, m 6 83.3 % 5 1 0 0 0 0.8333 0.8333"]),
        ("--by failure", ["failure count", "wrong value, m 1", "outputs in all, m 2", "outputs in all, n 1"]),
    ],
)
def test_report_by_a_tag_or_what_a_value_is(call, words, rows):
    found = call(f"report tagged.jsonl {words}").rows
    assert [row for row in found if row in rows] == rows


@pytest.mark.parametrize("tag", ["cases", "f1"])
def test_a_tag_named_as_a_column_hides_no_slice(call, tag):
    (by,) = call(f"report r.jsonl --by {tag} --json", [scored("a", GOLD, model="m", tags={tag: "x"})]).json
    row = by["tables"][0]["rows"][0]
    assert (row["slice"], row["cases"], row["f1"]) == (["x", "m"], 1, 1)


def test_report_by_a_size_has_the_total_and_the_correlation_of_each_variant(call):
    outputs = {"a": GOLD, "b": wrong(total=1), "c": wrong(total=1, vendor="x")}
    runs = [
        replace(scored(name, output, model="@m_1", tags={"n": size}), shape={**SHAPE, "values": 7**size})
        for size, (name, output) in enumerate(outputs.items(), start=1)
    ]
    rows = call("report r.jsonl --by n --by output-size", runs).rows
    assert rows[5] == "(all) 3 1 3 of 3 66.7 % 6 of 9 66.7 % 0.8333"
    assert rows[-1] == "rank correlation of output-size with the pass rate of a case: -1.00"
    more = [replace(each, variant=replace(each.variant, model="n"), nodeid=f"{each.nodeid}[n]") for each in runs]
    call("report r.jsonl --by output-size -o r.md", [*runs, *more])
    assert "1.00 (&#64;m&#95;1), -1.00 (n)</code>." in Path("r.md").read_text(encoding="utf-8")


def test_leaderboard_by_a_tag_ranks_each_slice(call):
    found = call("leaderboard tagged.jsonl --by domain --json").json
    ranked = [(board["by"], board["slice"], board["tables"][0]["rows"]) for board in found]
    slices = [(by, label, row["variant"], row["cases"]) for by, label, rows in ranked for row in rows]
    assert slices == [("domain", "finance", "m", 2), ("domain", "sport", "n", 1)]
    out = call("leaderboard tagged.jsonl --by domain").out
    assert -1 < out.index("domain finance: 2 results") < out.index("domain sport: 1 result")
    twice = call("leaderboard tagged.jsonl --by domain --by domain --json").json
    assert twice == [*found, *found]


def test_files_have_the_slices_in_the_numbers_of_the_system(call):
    call("report tagged.jsonl -o r.csv --by domain --by failure")
    rows = list(csv.DictReader(Path("r.csv").read_text(encoding="utf-8").splitlines()))
    assert list(rows[0])[-2:] == ["domain", "failure"]
    wrong_rows = {(row["domain"], row["failure"]) for row in rows if row["status"] == "mismatch"}
    assert wrong_rows == {("finance", "wrong value")}
    for words, sign in (
        ("-o r.md --by domain", "| <code>finance, m</code> | 2 | 1 | 2 of 2 | 83.3 % |"),
        ("-o r.md --by domain --as deepjsoneval", "<code>key&#95;match</code> |"),
        ("-o r.html --by domain --as deepjsoneval", '"key_match"'),
    ):
        call(f"report tagged.jsonl {words}")
        assert sign in Path(words.split()[1]).read_text(encoding="utf-8")


def test_slices_count_what_broke_and_the_cases_that_the_report_counts(call):
    rows = call("report r.jsonl --by modality", [scored("a", GOLD), broken("b", "down"), broken("c", "down")]).rows
    assert rows[1:] == [
        "modality cases passed error valid pass rate fields on valid f1",
        "text 3 1 2 1 of 1 100 % 3 of 3 100 % 1",
    ]
    made = [
        replace(each, origin=Origin.SYNTHETIC, nodeid=f"made {each.nodeid}", case_id=f"made-{each.case_id}")
        for each in RUN
    ]
    depth = call("report r.jsonl --by depth", [*of_variant("m", RUN), *of_variant("m", made)])
    origin = call("report r.jsonl --by origin")
    assert ("left out" in depth.err, "left out" in origin.err) == (True, False)
    counted, every = (next(row for row in each.rows if row.startswith("(all)")).split()[1] for each in (depth, origin))
    assert 2 * int(counted) == int(every)


def test_slices_are_sorted_by_their_numbers_of_any_length():
    labels = ["9" * 5_000, "10", "2", "1,000"]
    assert sorted(labels, key=natural_key) == ["2", "10", "1,000", "9" * 5_000]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("report none.jsonl", "none.jsonl: cannot be read"),
        ("report empty.jsonl", "no result in empty.jsonl"),
        ("leaderboard broken.jsonl", "broken.jsonl:1: not JSON"),
        ("leaderboard run.jsonl --as sob --samples 0", "--samples must be 1 or more, not 0"),
        ("report told.jsonl -o file/r.html", "r.html: Not a directory; name a file that can be written"),
        ("report tagged.jsonl --as sob", "give --by, or leave --as out"),
        ("report tagged.jsonl --by domian", "no case has the tag 'domian'; did you mean 'domain'?"),
        ("leaderboard tagged.jsonl --by domian", "no case has the tag 'domian'; did you mean 'domain'?"),
        ("leaderboard tagged.jsonl --by field", "--by field splits values"),
    ],
)
def test_what_cannot_be_reported_is_told(call, command, message):
    assert message in call(command, status=2).err


REMOVED = object()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("score measures", REMOVED),
        ("score measures strict", REMOVED),
        ("score measures f1", "high"),
        ("score fields", REMOVED),
        ("score leaves", [{"path": "a"}]),
        ("score leaves", [None]),
        ("score gates schema", REMOVED),
        ("score failure", 3),
        ("shape fields", "many"),
        ("modality", None),
    ],
)
def test_an_edited_file_is_told(call, place, value):
    record = json.loads(dump_result(replace(RUN[0], shape=SHAPE)))
    part = record["attempts"][0] if place.startswith("score") else record
    *way, key = place.split()
    for step in way:
        part = part[step]
    if value is REMOVED:
        del part[key]
    else:
        part[key] = value
    write({"r.jsonl": f"{json.dumps(record)}\n"})
    told = call("report r.jsonl", status=2).err
    assert re.search(r"r\.jsonl:1: not a whole result|was the file edited", told)


def test_a_torn_last_line_is_told(call):
    with Path("run.jsonl").open("a", encoding="utf-8") as out:
        out.write('{"format": 1, "nodeid')
    assert "the last line is cut off" in call("report run.jsonl").err


def test_only_runs_of_one_variant_are_shown_over_time(call):
    for name, model in (("monday", "m/one"), ("tuesday", "m/one"), ("other", "m/two")):
        write_results(f"{name}.jsonl", of_variant(model, RUN))
    for names, over_time in (("monday tuesday", True), ("monday other", False), ("monday tuesday other", False)):
        call(f"report {names.replace(' ', '.jsonl ')}.jsonl -o page.html")
        assert ("Score over runs" in Path("page.html").read_text(encoding="utf-8")) is over_time
