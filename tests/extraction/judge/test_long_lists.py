"""Long lists, aligned by a model in several calls over real HTTP: bounded, deterministic, one to one, complete."""

from __future__ import annotations

import json
import random
import threading

import pytest

from pytest_extract.core.results import Alignment
from pytest_extract.extraction.judges import MOST_CHARACTERS, MOST_ROWS, LlmJudge, UnansweredQuestion
from pytest_extract.extraction.litellm import Retry
from tests.extraction.judge.questions import align, data_of
from tests.llm_server import MODEL, answer, llm_server, server_error, truncated

__all__ = ["llm_server"]


def by_identity(body):
    """A model that pairs rows with one `id`, the first that is free, whatever else is in them."""
    entries = []
    for name, item in data_of(body).items():
        free = {index: row["id"] for index, row in enumerate(item["extracted"])}
        pairs = []
        for i, row in enumerate(item["gold"]):
            found = next((j for j, own in free.items() if own == row["id"]), None)
            if found is not None:
                pairs.append([i, found])
                del free[found]
        entries.append({"id": name, "pairs": pairs, "reason": "one id"})
    return answer(json.dumps({"answers": entries}))


@pytest.fixture
def judge(llm_server):
    llm_server.otherwise = by_identity
    return LlmJudge(MODEL, retry=Retry(attempts=3, timeout_s=20), sleep=lambda _: None)


def citation(number, source):
    words = " ".join(
        source.choice(("model", "law", "field", "river", "proof")) + str(source.randrange(99)) for _ in "12345"
    )
    return {"id": f"c{number}", "title": words, "year": 1980 + number % 40}


def rows_of(count, seed=1):
    source = random.Random(seed)
    return [citation(number, source) for number in range(count)]


def asked_rows(llm_server):
    return [item for body in llm_server.bodies for item in data_of(body).values()]


def ids_of(question, got):
    return {(question.gold[i]["id"], question.extracted[j]["id"]) for i, j in got.pairs}


def test_a_list_of_309_rows_is_several_calls_of_bounded_size_and_one_alignment(judge, llm_server):
    gold = rows_of(309)
    extracted = [{**row, "year": row["year"] + 1} for row in gold[5:]] + [
        {"id": f"new{n}", "title": "?"} for n in range(7)
    ]
    random.Random(2).shuffle(extracted)
    question = align(gold, extracted)
    (got,) = judge([question])
    assert ids_of(question, got) == {(row["id"], row["id"]) for row in gold[5:]}
    assert got.missed == (0, 1, 2, 3, 4)
    assert sorted(extracted[j]["id"] for j in got.spurious) == sorted(f"new{n}" for n in range(7))
    assert len(llm_server.requests) >= 7
    for item in asked_rows(llm_server):
        assert max(len(item["gold"]), len(item["extracted"])) <= MOST_ROWS
    requests = len(llm_server.requests)
    assert LlmJudge(MODEL)([question]) == [got]
    first, second = asked_rows(llm_server)[:requests], asked_rows(llm_server)[requests:]
    prompts = [sorted(json.dumps([item["gold"], item["extracted"]]) for item in items) for items in (first, second)]
    assert prompts[0] == prompts[1], "the calls hang on nothing but the lists"


def test_long_rows_are_cut_by_their_characters(judge, llm_server):
    gold = [{"id": n, "text": f"{n} " * 2_000} for n in range(20)]
    question = align(gold, gold[::-1])
    (got,) = judge([question])
    assert ids_of(question, got) == {(n, n) for n in range(20)}
    assert len(llm_server.requests) > 1
    for item in asked_rows(llm_server):
        assert len(json.dumps([item["gold"], item["extracted"]])) <= MOST_CHARACTERS + 100


def test_rows_whose_letters_lead_astray_meet_in_a_later_round(judge):
    gold = rows_of(120)
    texts = [(row["title"], row["year"]) for row in gold]
    # ten rows carry the texts of rows that are far away: by their letters they belong to other gold rows
    swapped = {n: n + 60 for n in range(10)} | {n + 60: n for n in range(10)}
    extracted = [
        {"id": row["id"], "title": texts[swapped.get(n, n)][0], "year": texts[swapped.get(n, n)][1]}
        for n, row in enumerate(gold)
    ]
    question = align(gold, extracted)
    (got,) = judge([question])
    assert ids_of(question, got) == {(row["id"], row["id"]) for row in gold}


@pytest.mark.parametrize(("height", "width"), [(3, 400), (400, 3), (60, 51)])
def test_sides_of_unlike_length(judge, llm_server, height, width):
    gold, extracted = rows_of(height), rows_of(width, seed=3)
    question = align(gold, extracted)
    (got,) = judge([question])
    assert ids_of(question, got) == {(row["id"], row["id"]) for row in gold[:width]}
    assert max(len(item["extracted"]) for item in asked_rows(llm_server)) <= MOST_ROWS


def test_a_long_side_and_an_empty_one_are_no_question_to_a_model(judge, llm_server):
    rows = rows_of(60)
    missed, spurious = judge([align(rows, []), align([], rows)])
    assert (missed.pairs, len(missed.missed), spurious.pairs, len(spurious.spurious)) == ((), 60, (), 60)
    assert llm_server.requests == []


def test_long_lists_are_asked_beside_each_other(llm_server):
    both = {name: threading.Event() for name in ("a", "b")}

    def when_both_are_asked(body):
        (item,) = data_of(body).values()
        both[item["gold"][0]["list"]].set()
        return by_identity(body) if all(asked.wait(20) for asked in both.values()) else server_error()

    llm_server.otherwise = when_both_are_asked
    questions = [align(rows := [{"list": name, **row} for row in rows_of(60)], rows) for name in both]
    judge = LlmJudge(MODEL, slots=threading.BoundedSemaphore(50), retry=Retry(attempts=1))
    assert [len(got.pairs) for got in judge(questions)] == [60, 60]


def test_values_without_a_letter_in_common_are_asked_too(llm_server):
    def all_pairs(body):
        entries = []
        for name, item in data_of(body).items():
            size = min(len(item["gold"]), len(item["extracted"]))
            entries.append({"id": name, "pairs": [[n, n] for n in range(size)], "reason": "in order"})
        return answer(json.dumps({"answers": entries}))

    llm_server.otherwise = all_pairs
    (got,) = LlmJudge(MODEL)([align(["a"] * 60, ["b"] * 60)])
    assert len(got.pairs) == 60


def test_rows_of_one_identity_are_never_paired_twice(judge):
    gold = [{"id": "rent", "month": n % 12} for n in range(130)]
    question = align(gold, gold[::-1][:110])
    (got,) = judge([question])
    assert len(got.pairs) == 110
    assert len({i for i, _ in got.pairs}) == len({j for _, j in got.pairs}) == 110


def test_a_part_without_an_answer_leaves_the_whole_list_undecided(llm_server):
    llm_server.otherwise = truncated('{"answers": [')
    (got,) = LlmJudge(MODEL, retry=Retry(attempts=1), sleep=lambda _: None)([align(rows_of(80), rows_of(80, seed=4))])
    assert isinstance(got, UnansweredQuestion)
    assert got.reason.startswith("one of the 2 calls for this long list was not answered: ")


def test_lists_that_fit_are_one_call(judge, llm_server):
    gold = rows_of(50)
    (got,) = judge([align(gold, gold[1:])])
    assert isinstance(got, Alignment)
    assert len(llm_server.requests) == 1
