"""Digests of what judges are asked."""

from __future__ import annotations

import json

from pytest_extract.core.results import Question
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.digest import sha256
from pytest_extract.extraction.judge.answers import UnansweredQuestion


def pair_key(gold: Json, extracted: Json) -> str:
    """Digest of a pair of values, whatever was asked about them."""
    return sha256(canonical_json([gold, extracted]))


def question_key(question: Question) -> str | UnansweredQuestion:
    """Return `Question.key`; `UnansweredQuestion` where no prompt can hold a value (too deep, too long a number)."""
    try:
        json.dumps([question.gold, question.extracted])  # as a prompt has to; the key alone could be had
    except RecursionError:
        return UnansweredQuestion("the values are nested too deeply to ask a judge about them")
    except ValueError as error:
        return UnansweredQuestion(f"the values cannot be written down for a judge: {error}")
    return question.key
