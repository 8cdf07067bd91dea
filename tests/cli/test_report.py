"""`pytest-extract report` and `leaderboard`, from results files."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_extract.cli import main
from pytest_extract.core.case_result import Attempt, Origin, Outcome, Usage
from pytest_extract.report.formats import FORMATS, report_file
from pytest_extract.results import dump_result, write_results
from tests.core.aggregate.test_run import RUN, result, score
from tests.report.runs import GOLD, broken, scored, wrong

SHAPE = {"fields": 3, "breadth": 2, "depth": 4, "arrays": 1, "array_items": 5, "leaves": 6, "values": 6}


def of_variant(model, runs):
    named = (
        replace(each, nodeid=f"{each.nodeid}[{model}]", variant=replace(each.variant, model=model)) for each in runs
    )
    return [replace(each, shape={**SHAPE, **each.shape}) for each in named]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "run.jsonl"
    write_results(path, of_variant("m/one", RUN))
    return path


def call(capsys, *args):
    assert main([str(arg) for arg in args]) == 0
    return capsys.readouterr()


def test_report_tells_what_every_system_reports(file, capsys):
    out = call(capsys, "report", file).out
    assert "m/one: 5 cases: 3 scored, 1 broken, 1 not run" in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for words in (
        "measure mean 95 % weighted 95 %",
        "pass_rate 0.5333 0 - 1 0.4667 0 - 1",
        "field values right match mism. omit. halluc. undec. score f1",
        "a 3 33.3 % 1 2 0 0 0 0.7333 0.7333",
        "outputs valid pass rate fields on valid",
        "all 3 of 4 25 % 1 of 4 33.3 %",
        "not valid: no_json 1",
        "Long Context Extraction 0.5333 0 - 1 0.4667 0 - 1",
        "overall 0.28: mean of 7 columns 0.4667, coverage 60 %",
        "3-4 (medium) 0 0 0",
        "5+ (hard) 0.6 0.6 0.6",
    ):
        assert words in lines


def test_a_rate_of_nothing_valid_is_undefined_and_not_zero(tmp_path, capsys):
    path = tmp_path / "broken.jsonl"
    write_results(path, [result("e", score(0.0, failure="no_json"), outcome=Outcome.FAILED)])
    out = " ".join(call(capsys, "report", path).out.split())
    assert "all 0 of 1 0 % 0 of 1 -" in out
    (found,) = json.loads(call(capsys, "report", path, "--json").out)
    assert found["extract_bench"]["accuracy_on_valid"] is None
    assert (found["extract_bench"]["passed"], found["extract_bench"]["fields"]) == (0, 1)


@pytest.fixture
def told(tmp_path):
    path = tmp_path / "told.jsonl"
    write_results(path, [scored("a", GOLD), scored("b", wrong(total=1))])
    return path


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("r.html", "<!doctype html>"),
        ("r.md", "<!-- pytest-extract -->\n## ❌ Failed\n"),
        ("r.csv", "case,file,model,"),
        ("r.jsonl", '{"format"'),
        ("r.parquet", "PAR1"),
        ("agent:report", "# Failed: 1 of 2 cases failed\n"),
        ("gitlab:report", '[\n {\n  "description"'),
    ],
)
def test_report_as_a_file(told, tmp_path, capsys, monkeypatch, name, beginning):
    monkeypatch.chdir(tmp_path)
    said = call(capsys, "report", told, "--output", name.replace("r.", "out/r."))
    path = Path(name.replace("r.", "out/r.").rpartition(":")[2])
    assert (said.out, said.err) == ("", f"pytest-extract report: reports: {path}\n")
    assert path.read_bytes().startswith(beginning.encode())


def test_every_format_is_tested_as_a_file():
    (names,) = (mark.args[1] for mark in test_report_as_a_file.pytestmark)
    assert [report_file(name).format for name, _ in names] == [*FORMATS]


def test_a_report_that_cannot_be_written_is_told(told, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["report", str(told), "-o", str(tmp_path / "file" / "r.html")]) == 2
    assert "r.html: Not a directory; name a file that can be written" in capsys.readouterr().err


def test_report_as_json(file, capsys):
    (variant,) = json.loads(call(capsys, "report", file, "--json", "--samples", 50).out)
    assert variant["variant"] == "m/one"
    assert variant["measures"]["f1"]["plain"]["mean"] == pytest.approx((1 + 0.6 + 0) / 3)
    assert variant["measures"]["f1"]["weighted"]["mean"] == pytest.approx((1 + 3 * 0.6 + 0) / 6)
    assert variant["extract_bench"]["failures"] == {"no_json": 1}
    assert set(variant["sob"]["plain"]["category_scores"]) == set(variant["sob"]["weighted"]["category_scores"])
    assert variant["deepjsoneval"]["hard"]["strict"] == pytest.approx(0.6)
    assert variant["fields"]["a"] == {
        "match": 1, "mismatch": 2, "omission": 0, "hallucination": 0, "undecided": 0, "total": 3, "records": 2,
        "mean_score": pytest.approx(2.2 / 3), "precision": pytest.approx(2.2 / 3), "recall": pytest.approx(2.2 / 3),
        "f1": pytest.approx(2.2 / 3),
    }  # fmt: skip
    assert variant["complexity"][1] == {
        "case": "b[m/one]", "outcome": "passed", "complexity": "hard", "modality": "text", **SHAPE, "depth": 5,
    }  # fmt: skip


def test_a_run_that_only_broke_is_reported(tmp_path, capsys):
    write_results(tmp_path / "r.jsonl", [result("a", outcome=Outcome.BROKEN)])
    assert call(capsys, "report", tmp_path / "r.jsonl").out.startswith("1 case: 0 scored, 1 broken\n")
    assert "(no model)" in call(capsys, "leaderboard", tmp_path / "r.jsonl").out


def test_verbose_lists_every_field(tmp_path, capsys):
    one = score(1.0)
    wide = replace(one, leaves=tuple(one.leaves[0]._replace(pattern=f"f{index}") for index in range(30)))
    write_results(tmp_path / "r.jsonl", [result("a", wide)])
    assert "and 10 more fields; -v lists all" in call(capsys, "report", tmp_path / "r.jsonl").out
    assert "f29" in call(capsys, "report", tmp_path / "r.jsonl", "-v").out


def test_hostile_names_are_tame(tmp_path, capsys):
    one = score(0.5)
    odd = replace(one, leaves=(one.leaves[0]._replace(pattern="a\x1b[31m"),))
    write_results(tmp_path / "r.jsonl", [replace(result("x", odd), nodeid="\x1b]0;x", shape=SHAPE)])
    assert "\x1b" not in call(capsys, "report", tmp_path / "r.jsonl").out


def test_the_leaderboard_ranks_variants_of_several_files(tmp_path, file, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    paid = Attempt(
        index=0,
        outcome=Outcome.PASSED,
        score=score(1.0),
        cost_usd=0.25,
        usage=Usage(prompt_tokens=7, completion_tokens=2),
    )
    better = [replace(each, attempts=(paid,), outcome=Outcome.PASSED) for each in of_variant("m/two", RUN)]
    write_results(tmp_path / "two.jsonl", better)
    out = call(capsys, "leaderboard", file, tmp_path / "two.jsonl").out
    rows = [line.split() for line in out.splitlines() if "m/" in line]
    assert out.startswith("m/two is first, tied with m/one\n")
    assert rows[1] == ["1", "m/two", "100", "%", "41.6", "-", "100", "%", "2", "1", "5", "5", "0", "0", "0.25", "-"]
    assert rows[2][:4] == ["2", "m/one", "53.3", "%"]
    assert rows[3] == ["1", "m/two", "1", "100", "%", *["1"] * 7]
    assert rows[4][:3] == ["2", "m/one", "0.28"]
    assert rows[5] == ["1", "m/two", "5", "of", "5", "100", "%", "5", "of", "5", "100", "%"]
    assert rows[6] == ["2", "m/one", "3", "of", "4", "25", "%", "1", "of", "4", "33.3", "%"]
    first, second = json.loads(call(capsys, "leaderboard", "--json", file, tmp_path / "two.jsonl").out)
    assert (first["variant"], first["overall"], first["cost_usd"], first["tokens"]) == ("m/two", 1.0, 1.25, 45)
    assert (first["rank"], first["fields_right"]["mean"], first["tied_with"]) == (1, 1.0, ["m/one"])
    assert (second["coverage"], second["raw"]) == (0.6, pytest.approx(7 / 15))
    assert (second["extract_bench"]["passed"], second["extract_bench"]["fields"]) == (1, 4)


def test_a_case_that_stands_twice_in_a_file_counts_once_and_is_told(tmp_path, capsys):
    again = [*RUN, replace(RUN[0], attempts=(), outcome=Outcome.BROKEN)]
    write_results(tmp_path / "two.jsonl", of_variant("m/one", again))
    told = call(capsys, "leaderboard", tmp_path / "two.jsonl", "--json")
    (row,) = json.loads(told.out)
    assert (row["cases"], row["scored"]) == (5, 2)
    assert "1 result of a case and variant that a later line of the file has again" in told.err


def test_files_with_the_same_variant_are_runs_of_their_own(tmp_path, file, capsys):
    attempt = Attempt(index=0, outcome=Outcome.PASSED, score=score(1.0))
    better = [replace(each, attempts=(attempt,), outcome=Outcome.PASSED) for each in of_variant("m/one", RUN)]
    write_results(tmp_path / "two.jsonl", better)
    told = call(capsys, "leaderboard", file, tmp_path / "two.jsonl", "--json")
    assert [(row["variant"], row["cases"], row["scored"]) for row in json.loads(told.out)] == [
        ("m/one (two)", 5, 5),
        ("m/one (run)", 5, 3),
    ]
    assert told.err == ""
    same = call(capsys, "leaderboard", file, file, "--json")
    assert [row["variant"] for row in json.loads(same.out)] == ["m/one"]
    out = call(capsys, "report", file, tmp_path / "two.jsonl").out
    assert "m/one (two): 5 cases: 5 scored" in out


def test_files_with_other_cases_are_parts_of_one_run(tmp_path, capsys):
    for name, part in (("one", RUN[:2]), ("two", RUN[2:])):
        write_results(tmp_path / f"{name}.jsonl", of_variant("m/one", part))
    told = call(capsys, "leaderboard", tmp_path / "one.jsonl", tmp_path / "two.jsonl", "--json")
    assert [(row["variant"], row["cases"]) for row in json.loads(told.out)] == [("m/one", 5)]


@pytest.fixture
def tagged(tmp_path):
    path = tmp_path / "tagged.jsonl"
    one, two = {"tags": {"domain": "finance"}}, {"tags": {"domain": "sport"}}
    write_results(
        path,
        [
            scored("a", GOLD, model="m", **one),
            scored("b", wrong(total=1), model="m", **one),
            scored("c", GOLD, model="n", **two),
        ],
    )
    return path


def rows_of(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_report_by_a_tag_pools_the_fields_of_each_slice(tagged, capsys):
    rows = rows_of(call(capsys, "report", tagged, "--by", "domain").out)
    assert rows == [
        "by domain",
        "domain cases passed valid pass rate fields on valid f1",
        "finance, m 2 1 2 of 2 83.3 % 5 of 6 83.3 % 0.9167",
        "sport, n 1 1 1 of 1 100 % 3 of 3 100 % 1",
    ]


def test_report_by_a_tag_has_the_total_of_each_variant(tmp_path, capsys):
    path = tmp_path / "sizes.jsonl"
    outputs = {"a": GOLD, "b": wrong(total=1), "c": wrong(total=1, vendor="x")}
    sized = enumerate(outputs.items(), start=1)
    runs = [scored(name, output, model="@m_1", tags={"n": size}) for size, (name, output) in sized]
    runs = [replace(each, shape={**SHAPE, "values": 7 ** each.tags["n"]}) for each in runs]
    write_results(path, runs)
    rows = rows_of(call(capsys, "report", path, "--by", "n", "--by", "output-size").out)
    assert rows[5] == "(all) 3 1 3 of 3 66.7 % 6 of 9 66.7 % 0.8333"
    assert rows[-1] == "rank correlation of output-size with the pass rate of a case: -1.00"
    first, _ = json.loads(call(capsys, "report", path, "--by", "n", "--by", "output-size", "--json").out)
    assert [(each["variant"], each["extract_bench"]["passed"]) for each in first["totals"]] == [("@m_1", 6)]
    more = [replace(each, variant=replace(each.variant, model="n"), nodeid=f"{each.nodeid}[n]") for each in runs]
    write_results(path, [*runs, *more])
    call(capsys, "report", path, "--by", "output-size", "-o", tmp_path / "r.md")
    assert "1.00 (&#64;m&#95;1), -1.00 (n)</code>." in (tmp_path / "r.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("system", "heads"),
    [
        ("sob", "domain cases passed value faith. json path struct. types perfect"),
        ("deepjsoneval", "domain cases passed syntax key_match strict"),
        ("struct-extract-eval", "domain cases passed precision recall f1"),
    ],
)
def test_report_by_a_tag_in_the_numbers_of_a_system(tagged, capsys, system, heads):
    rows = rows_of(call(capsys, "report", tagged, "--by", "domain", "--as", system).out)
    assert rows[1] == heads
    assert rows[3].split()[:4] == ["sport,", "n", "1", "1"]
    assert set(rows[3].split()[4:]) == {"1"}


def test_report_by_values_and_failures(tagged, capsys):
    rows = rows_of(call(capsys, "report", tagged, "--by", "field", "--by", "failure", "--by", "type").out)
    assert "total, m 2 50 % 1 1 0 0 0 0.5 0.5" in rows
    assert rows[rows.index("by failure") :][1:5] == [
        "failure count", "wrong value, m 1", "outputs in all, m 2", "outputs in all, n 1",
    ]  # fmt: skip
    assert "number, m 6 83.3 % 5 1 0 0 0 0.8333 0.8333" in rows
    found = json.loads(call(capsys, "report", tagged, "--by", "domain", "--by", "failure", "--json").out)
    assert [(table["by"], table["kind"]) for table in found] == [("domain", "case"), ("failure", "failure")]
    first = found[0]["rows"][0]
    assert (first["slice"], first["variant"], first["passed"], first["extract_bench"]["pass_rate"]) == (
        "finance", "m", 1, pytest.approx(5 / 6),
    )  # fmt: skip
    assert found[1]["rows"] == [{"slice": "wrong value", "variant": "m", "count": 1}]


def test_leaderboard_by_a_tag_ranks_each_slice(tagged, capsys):
    found = json.loads(call(capsys, "leaderboard", tagged, "--by", "domain", "--json").out)
    assert [(row["by"], row["slice"], row["variant"], row["cases"]) for row in found] == [
        ("domain", "finance", "m", 2),
        ("domain", "sport", "n", 1),
    ]
    out = call(capsys, "leaderboard", tagged, "--by", "domain").out
    assert out.index("domain finance: 2 results") < out.index("domain sport: 1 result")


def test_csv_and_markdown_by_a_tag(tagged, tmp_path, capsys):
    path = tmp_path / "r.csv"
    call(capsys, "report", tagged, "-o", path, "--by", "domain", "--by", "failure")
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert list(rows[0])[-2:] == ["domain", "failure"]
    assert {(row["domain"], row["failure"]) for row in rows if row["status"] == "mismatch"} == {
        ("finance", "wrong value")
    }
    call(capsys, "report", tagged, "-o", f"markdown:{path}", "--by", "domain")
    assert "| <code>finance, m</code> | 2 | 1 | 2 of 2 | 83.3 % |" in path.read_text(encoding="utf-8")


def test_reports_have_the_slices_in_the_numbers_of_the_system(tagged, tmp_path, capsys):
    for name, sign in (("html", '"key_match"'), ("md", "<code>key&#95;match</code> |")):
        path = tmp_path / f"r.{name}"
        call(capsys, "report", tagged, "-o", path, "--by", "domain", "--as", "deepjsoneval")
        assert sign in path.read_text(encoding="utf-8")
    assert main(["report", str(tagged), "--as", "sob"]) == 2
    assert "give --by, or leave --as out" in capsys.readouterr().err


def test_slices_count_what_broke_and_what_did_not_run(tmp_path, capsys):
    write_results(tmp_path / "r.jsonl", [scored("a", GOLD), broken("b", "down"), broken("c", "down")])
    rows = rows_of(call(capsys, "report", tmp_path / "r.jsonl", "--by", "modality").out)
    assert rows[1:] == [
        "modality cases passed broken valid pass rate fields on valid f1",
        "text 3 1 2 1 of 1 100 % 3 of 3 100 % 1",
    ]


@pytest.mark.parametrize("command", ["report", "leaderboard"])
def test_a_tag_that_no_case_has_is_an_error(tagged, capsys, command):
    assert main([command, str(tagged), "--by", "domian"]) == 2
    assert "no case has the tag 'domian'; did you mean 'domain'?" in capsys.readouterr().err


def test_a_leaderboard_ranks_no_values(tagged, capsys):
    assert main(["leaderboard", str(tagged), "--by", "field"]) == 2
    assert "--by field splits values" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["report", "none.jsonl"], "none.jsonl: cannot be read"),
        (["report", "empty.jsonl"], "no result in empty.jsonl"),
        (["leaderboard", "broken.jsonl"], "broken.jsonl:1: not JSON"),
        (["report", "empty.jsonl", "--samples", "0"], "--samples must be 1 or more, not 0"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, capsys, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text("{\n{}\n", encoding="utf-8")
    assert main(args) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["attempts"][0]["score"].pop("measures"),
        lambda record: record["attempts"][0]["score"].pop("fields"),
        lambda record: record["attempts"][0]["score"]["measures"].pop("strict"),
        lambda record: record["attempts"][0]["score"]["measures"].update(f1="high"),
        lambda record: record["attempts"][0]["score"]["leaves"].append({"path": "a"}),
        lambda record: record["attempts"][0]["score"]["leaves"].append(None),
        lambda record: record["attempts"][0]["score"]["gates"].pop("schema"),
        lambda record: record["attempts"][0]["score"].update(failure=3),
        lambda record: record["shape"].update(fields="many"),
        lambda record: record.update(modality=None),
    ],
    ids=["measures", "fields", "no-measure", "measure", "row", "no-row", "gate", "failure", "shape", "modality"],
)
def test_an_edited_file_is_told(tmp_path, capsys, change):
    record = json.loads(dump_result(replace(RUN[0], shape=SHAPE)))
    change(record)
    (tmp_path / "r.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert main(["report", str(tmp_path / "r.jsonl")]) == 2
    assert re.search(r"r\.jsonl:1: not a whole result|was the file edited", capsys.readouterr().err)


def test_a_torn_last_line_is_told(file, capsys):
    with file.open("a", encoding="utf-8") as out:
        out.write('{"format": 1, "nodeid')
    assert "the last line is cut off" in call(capsys, "report", file).err


def test_the_leaderboard_and_the_report_estimate_the_same(file, capsys):
    (row,) = json.loads(call(capsys, "leaderboard", "--json", file).out)
    (whole,) = json.loads(call(capsys, "report", "--json", file).out)
    for name in ("pass_rate", "f1"):
        assert row[name] == whole["measures"][name]["plain"]
    assert (row["overall"], row["coverage"]) == (whole["sob"]["overall"], whole["sob"]["coverage"])


def test_only_runs_of_one_variant_are_shown_over_time(tmp_path, capsys):
    for name, model in (("monday", "m/one"), ("tuesday", "m/one"), ("other", "m/two")):
        write_results(tmp_path / f"{name}.jsonl", of_variant(model, RUN))
    pages = {}
    for names in (("monday", "tuesday"), ("monday", "other"), ("monday", "tuesday", "other")):
        page = tmp_path / "page.html"
        call(capsys, "report", *(tmp_path / f"{name}.jsonl" for name in names), "-o", page)
        pages[names] = page.read_text(encoding="utf-8")
    assert ["Score over runs" in page for page in pages.values()] == [True, False, False]


def test_slices_count_the_cases_that_the_report_counts(tmp_path, capsys):
    made = [
        replace(each, origin=Origin.SYNTHETIC, nodeid=f"made {each.nodeid}", case_id=f"made-{each.case_id}")
        for each in RUN
    ]
    write_results(tmp_path / "run.jsonl", [*of_variant("m", RUN), *of_variant("m", made)])
    total = {}
    for option in ("depth", "origin"):
        shown = call(capsys, "report", tmp_path / "run.jsonl", f"--by={option}")
        total[option] = next(line.split()[1] for line in shown.out.splitlines() if line.strip().startswith("(all)"))
        assert ("left out" in shown.err) == (option == "depth")
    assert 2 * int(total["depth"]) == int(total["origin"])
