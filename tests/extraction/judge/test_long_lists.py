"""Long lists, aligned by a model in several calls over real HTTP: bounded, deterministic, one to one, complete."""

from __future__ import annotations

import json
import random
import threading

import pytest

from pytest_extract.core.engine.context import NoAnswer
from pytest_extract.extraction.judges import MOST_CHARACTERS, MOST_ROWS, LlmJudge
from pytest_extract.extraction.litellm import Retry
from tests.extraction.judge.questions import align, data_of
from tests.llm_server import MODEL, answer, server_error, truncated


def pairing(pairs_of):
    """A model that pairs the rows of each question so."""

    def reply(body):
        entries = [{"id": name, "pairs": pairs_of(item), "reason": "so"} for name, item in data_of(body).items()]
        return answer(json.dumps({"answers": entries}))

    return reply


@pairing
def by_identity(item):
    """Pair rows with one `id`, the first that is free, whatever else is in them."""
    free = {index: row["id"] for index, row in enumerate(item["extracted"])}
    pairs = []
    for i, row in enumerate(item["gold"]):
        found = next((j for j, own in free.items() if own == row["id"]), None)
        if found is not None:
            pairs.append([i, found])
            del free[found]
    return pairs


@pytest.fixture
def judge(llm_server):
    llm_server.otherwise = by_identity
    return LlmJudge(MODEL, retry=Retry(attempts=3, timeout_s=20))


def rows_of(count, seed=1):
    source = random.Random(seed)

    def title():
        words = ("model", "law", "field", "river", "proof")
        return " ".join(f"{source.choice(words)}{source.randrange(99)}" for _ in range(5))

    return [{"id": f"c{number}", "title": title(), "year": 1980 + number % 40} for number in range(count)]


def asked_rows(llm_server):
    return [item for body in llm_server.bodies for item in data_of(body).values()]


def paired_ids(judge, gold, extracted):
    (got,) = judge([align(gold, extracted)])
    return {(gold[i]["id"], extracted[j]["id"]) for i, j in got.pairs}


def test_a_list_of_309_rows_is_several_calls_of_bounded_size_and_one_alignment(judge, llm_server):
    gold = rows_of(309)
    invented = [{"id": f"new{n}", "title": "?"} for n in range(7)]
    extracted = [*({**row, "year": row["year"] + 1} for row in gold[5:]), *invented]
    random.Random(2).shuffle(extracted)
    (got,) = judge([align(gold, extracted)])
    assert {(gold[i]["id"], extracted[j]["id"]) for i, j in got.pairs} == {(row["id"],) * 2 for row in gold[5:]}
    assert got.missed == (0, 1, 2, 3, 4)
    assert sorted(extracted[j]["id"] for j in got.spurious) == [row["id"] for row in invented]
    asked = asked_rows(llm_server)
    assert len(asked) >= 7
    assert all(max(len(item["gold"]), len(item["extracted"])) <= MOST_ROWS for item in asked)
    assert LlmJudge(MODEL)([align(gold, extracted)]) == [got]
    prompts = [json.dumps([item["gold"], item["extracted"]]) for item in asked_rows(llm_server)]
    assert sorted(prompts[: len(asked)]) == sorted(prompts[len(asked) :]), "the calls hang on nothing but the lists"


def test_long_rows_are_cut_by_their_characters(judge, llm_server):
    gold = [{"id": n, "text": f"{n} " * 2_000} for n in range(20)]
    assert paired_ids(judge, gold, gold[::-1]) == {(n, n) for n in range(20)}
    sizes = [len(json.dumps([item["gold"], item["extracted"]])) for item in asked_rows(llm_server)]
    assert len(sizes) > 1
    assert max(sizes) <= MOST_CHARACTERS + 100


def test_rows_whose_letters_lead_astray_meet_in_a_later_round(judge):
    gold = rows_of(120)
    # ten rows carry the texts of rows that are far away: by their letters they belong to other gold rows
    swapped = {n: n + 60 for n in range(10)} | {n + 60: n for n in range(10)}
    extracted = [{**gold[swapped.get(n, n)], "id": row["id"]} for n, row in enumerate(gold)]
    assert paired_ids(judge, gold, extracted) == {(row["id"], row["id"]) for row in gold}


@pytest.mark.parametrize(("height", "width"), [(3, 400), (400, 3), (60, 51)])
def test_sides_of_unlike_length(judge, llm_server, height, width):
    gold, extracted = rows_of(height), rows_of(width, seed=3)
    assert paired_ids(judge, gold, extracted) == {(row["id"], row["id"]) for row in gold[:width]}
    assert max(len(item["extracted"]) for item in asked_rows(llm_server)) <= MOST_ROWS


def test_a_side_that_is_empty_is_no_question_to_a_model_and_lists_that_fit_are_one(judge, llm_server):
    rows = rows_of(60)
    missed, spurious = judge([align(rows, []), align([], rows)])
    assert (missed.pairs, len(missed.missed), spurious.pairs, len(spurious.spurious)) == ((), 60, (), 60)
    assert llm_server.requests == []
    assert len(paired_ids(judge, rows[:50], rows[1:50])) == 49
    assert len(llm_server.requests) == 1


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


def test_values_without_a_letter_in_common_are_asked_too(judge, llm_server):
    llm_server.otherwise = pairing(lambda item: [[n, n] for n in range(min(len(item["gold"]), len(item["extracted"])))])
    (got,) = judge([align(["a"] * 60, ["b"] * 60)])
    assert len(got.pairs) == 60


def test_rows_of_one_identity_are_never_paired_twice(judge):
    gold = [{"id": "rent", "month": n % 12} for n in range(130)]
    (got,) = judge([align(gold, gold[::-1][:110])])
    assert [len(got.pairs), *(len({pair[side] for pair in got.pairs}) for side in (0, 1))] == [110, 110, 110]


def test_a_part_without_an_answer_leaves_the_whole_list_undecided(llm_server):
    llm_server.otherwise = truncated('{"answers": [')
    (got,) = LlmJudge(MODEL, retry=Retry(attempts=1))([align(rows_of(80), rows_of(80, seed=4))])
    assert isinstance(got, NoAnswer)
    assert got.reason.startswith("one of the 2 calls for this long list was not answered: ")
