"""`pytest-extract agree` on two sets of golds: what agrees, and what is disputed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_extract.cases.edit import GoldReview, read_reviews, write_review
from tests.commands import write

STRING = {"type": "string"}
ITEMS = {"type": "array", "items": {"type": "object", "properties": {"name": STRING}}}
REVIEW = Path("A/one.review.json")


@pytest.fixture
def agree(run):
    write({"s.json": {"properties": {"vendor": STRING, "total": {"type": "number"}, "items": ITEMS}}})

    def agree(words, status=1):
        ended = run(f"agree {words} --schema s.json")
        assert ended.status == status, ended.err
        return ended

    return agree


def test_agreement_field_by_field_and_disputes(agree):
    for name, total, rows in (("A", 1, "xy"), ("B", 1.0, "yz")):
        write({f"{name}/one.json": {"vendor": "ACME", "total": total, "items": [{"name": row} for row in rows]}})
    assert agree("A B").lines[0].startswith("1 gold: 3 of 5 values agree")
    assert not REVIEW.exists()
    before = Path("A/one.json").read_bytes()
    agree("A B --dispute")
    assert Path("A/one.json").read_bytes() == before
    review = read_reviews(REVIEW)["$"]
    assert (review.reviewed, {each.why for each in review.open.values()}) == (False, {"two reviewers disagree"})
    agree("A A", status=0)


def test_no_dispute_is_written_where_a_gold_cannot_be_read(agree):
    for name in "AB":
        write({f"{name}/one.json": {"vendor": name}, f"{name}/two.json": "{"})
    agree("A B --dispute", status=2)
    assert not REVIEW.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("golds nowhere", "nowhere is not there: give two golds, or two folders of golds"),
        ("golds golds/one.json", "golds/one.json is no folder: give two golds, or two folders of golds"),
        ("golds/one.json golds/one.json", "have no value that s.json compares: give other golds"),
    ],
)
def test_where_there_is_nothing_to_compare(agree, words, message):
    write({"golds/one.json": {}})
    assert message in agree(words, status=2).err


def test_values_of_one_gold_alone_and_skipped_ones(agree):
    properties = {"a": STRING | {"x-eval-compare": "exact"}, "b": STRING | {"x-eval-skip": True}}
    write({"s.json": {"properties": properties, "x-eval-nulls": "absent"}})
    write({"A.json": {"a": "x", "b": "1"}, "B.json": {"a": "x", "b": "2"}, "C.json": {"a": "x", "c": "x"}})
    assert agree("A.json B.json", status=0).out.startswith("1 gold: 1 of 1 values agree")
    assert agree("A.json C.json").out.startswith("1 gold: 1 of 2 values agree")


def test_nearly_all_is_told_from_all(agree):
    rows = [{"name": f"n{number}"} for number in range(2_999)]
    write({f"{name}.json": {"vendor": name, "items": rows} for name in "AB"})
    lines = agree("A.json B.json").lines
    assert lines[0] == "1 gold: 2,999 of 3,000 values agree (> 99.9 %)"
    assert [line.split(maxsplit=4)[4] for line in lines[1:3]] == ["0 %", "100 %"]


def test_what_reviewers_no_longer_dispute_is_closed(agree, run):
    write({"B/one.json": {"vendor": "Acme", "total": 2}, "C/one.json": {"vendor": "ACME", "total": 3}})

    def disputed(total, vendor, other="B"):
        write({"A/one.json": {"vendor": vendor, "total": total}})
        run(f"agree A {other} --schema s.json --dispute")
        review = read_reviews(REVIEW)["$"]
        return review.reviewed, [*review.open]

    assert disputed(1, "ACME") == (False, ["vendor", "total"])
    assert disputed(2, "ACME") == (False, ["vendor"])
    assert disputed(2, "Acme", "C") == (False, ["vendor", "total"])  # those with C stand beside those with B
    assert disputed(2, "Acme") == (False, ["vendor", "total"])
    assert disputed(3, "ACME", "C") == (True, [])
    write_review(Path("A/one.json"), "$", GoldReview(reviewed=False, sources=("m1", "m2"), agreed=2))
    assert disputed(1, "ACME", "C") == (False, ["total"])
    assert disputed(3, "ACME", "C") == (False, [])  # still a draft


def test_texts_for_a_judge_are_disputed_and_golds_of_one_reviewer_named(agree):
    write({"s.json": {"properties": {"vendor": STRING | {"evaluation_config": "string_semantic"}}}})
    golds = {"A/gold/1": "ACME", "B/gold/1": "the vendor", "A/gold/2": "x", "B/gold/3": "x"}
    write({f"{name}.json": {"vendor": vendor} for name, vendor in golds.items()})
    told = agree("A/gold B/gold --dispute")
    assert told.out.startswith("1 gold: 0 of 1 values agree")
    alone = [line.partition(": the other")[0] for line in told.err.splitlines()]
    assert alone == ["pytest-extract agree: A/gold/2.json", "pytest-extract agree: B/gold/3.json"]
    (field,) = read_reviews(Path("A/gold/1.review.json"))["$"].open.values()
    assert [each.sources for each in field.candidates] == [("A/gold",), ("B/gold",)]
