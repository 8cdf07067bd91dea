"""Questions, and a model that answers them by a rule: it reads the prompt as a model would."""

from __future__ import annotations

import json

from pytest_extract.core.results import Question
from pytest_extract.core.values import FieldPath
from tests.llm_server import answer


def equal(gold, extracted, instructions=""):
    return Question(kind="equal", path=FieldPath(("a",)), gold=gold, extracted=extracted, instructions=instructions)


def align(gold, extracted, metrics=None):
    return Question(kind="align", path=FieldPath(("rows",)), gold=gold, extracted=extracted, metrics=metrics or {})


def data_of(body):
    """Entries of the data block of a request, by id."""
    user = body["messages"][1]["content"]
    block = user.split("\n<data ", 1)[1].split(">\n", 1)[1].rsplit("\n</data ", 1)[0]
    return {entry["id"]: entry for entry in map(json.loads, block.splitlines())}


def asked_of(body):
    """Entries of the question block of a request, by id."""
    user = body["messages"][1]["content"]
    lines = user.removeprefix("Questions:\n").split("\n\n<data ", 1)[0].splitlines()
    return {entry["id"]: entry for entry in map(json.loads, lines)}


def entry_for(name, item):
    """Same text but for case: 1. Rows: paired by equality."""
    if isinstance(item["gold"], list):
        pairs = [[i, item["extracted"].index(row)] for i, row in enumerate(item["gold"]) if row in item["extracted"]]
        return {"id": name, "pairs": pairs, "reason": "equal rows"}
    same = str(item["gold"]).lower() == str(item["extracted"]).lower()
    return {"id": name, "score": int(same), "reason": "by letters"}


def by_rule(body):
    """A model that answers everything."""
    return answer(json.dumps({"answers": [entry_for(name, item) for name, item in data_of(body).items()]}))
