"""The judge rules that vectors name, as judges (`shared/vectors/README.md`)."""

from __future__ import annotations

import json

from pytest_extract.core.results import Alignment, JudgeAnswer


def text_of(value):
    return value if isinstance(value, str) else canonical(value)


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def folded_equality(gold, extracted):
    one, other = (" ".join(text_of(value).casefold().split()) for value in (gold, extracted))
    return 1.0 if one == other else 0.0


def token_jaccard(gold, extracted):
    one, other = (set(text_of(value).casefold().split()) for value in (gold, extracted))
    return len(one & other) / len(one | other) if one | other else 1.0


def canonical_multiset(gold, extracted):
    waiting = [canonical(item) for item in extracted]
    pairs = []
    for index, item in enumerate(map(canonical, gold)):
        if item in waiting:
            pairs.append((index, waiting.index(item)))
            waiting[waiting.index(item)] = None
    return Alignment(tuple(pairs))


STRINGS = {"folded_equality": folded_equality, "token_jaccard": token_jaccard}


def extract_bench_judge(rules):
    """A vector's rules; those that stand for a model out of order decide nothing."""

    def answer(question):
        if question.kind == "align":
            usable = rules["array"] == "canonical_multiset"
            return canonical_multiset(question.gold, question.extracted) if usable else None
        rule = STRINGS.get(rules["string"])
        return None if rule is None else JudgeAnswer(rule(question.gold, question.extracted))

    return lambda questions: [answer(question) for question in questions]


def xeval_judge(questions):
    """Folded equality of two texts; whatever is no text stays undecided."""
    return [
        JudgeAnswer(folded_equality(question.gold, question.extracted))
        if isinstance(question.gold, str) and isinstance(question.extracted, str)
        else None
        for question in questions
    ]
