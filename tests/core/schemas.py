"""JSON Schemas in few words, for the tests of the core."""

from __future__ import annotations

from pytest_extract.core.scorer import compile_schema

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}
EXACT = {**TEXT, "x-eval-compare": "exact"}
JUDGED = {**TEXT, "x-eval-compare": "string_semantic"}


def obj(**properties):
    return {"type": "object", "properties": properties}


def array(items, **more):
    return {"type": "array", "items": items, **more}


def table(**columns):
    return array(obj(**columns))


def metric(name, kind="string", **more):
    """A value of a type that is compared by a metric."""
    return {"type": kind, "evaluation_config": {"metrics": [{"metric_id": name, **more}]}}


def scored(schema, gold, extracted, *, how=None, **options):
    """Score without gates, under our own semantics; `how`: keywords of `compile_schema`."""
    return compile_schema(schema, **{"semantics": "default", **(how or {})}).score(
        gold, extracted, gates={"schema": False}, **options
    )


SHORT = {"omission": "missing", "hallucination": "invented"}


def told(results):
    """Tell places and statuses in one text, with the score where it is neither that of right nor of wrong."""
    texts = []
    for result in results:
        score = "" if result.score == result.passed else f" {result.score:.3g}"
        texts.append(f"{result.path} {SHORT.get(result.status, result.status)}{score}")
    return ", ".join(texts)
