"""Metrics that a judge decides. What is equal without asking is decided here."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from pytest_extract.core.metrics import base as check
from pytest_extract.core.metrics import equality
from pytest_extract.core.metrics.base import BoundMetric, Example, MetricSpec, Param, Params, SemanticsName
from pytest_extract.core.metrics.exact import Key
from pytest_extract.core.values import Json, canonical_json

_PLACES = {"{gold}": "the gold value", "{predicted}": "the extracted value", "{structured_output_schema}": "the answer"}


def plain_key(value: Json) -> Hashable:
    """Return what needs no judge where it is the same: the text after NFC, casefold and white space folding."""
    return equality.fold_case(_text_for_judge(value))


def form_key(value: Json) -> Hashable:
    """Return `plain_key` that leaves two Unicode forms of a text to the judge.

    Under the semantics extract-bench: there the judge is asked for every pair, and the published numbers hold
    judges that tell "e" + accent from "é". Case and white space no judge tells apart.
    """
    return " ".join(_text_for_judge(value).casefold().split())


def semantic_key(value: Json) -> Hashable:
    """Return `plain_key` of a text, and type and content of another value.

    For `semantic`: struct-extract-eval's judge is asked about 1 and "1".
    """
    return ("text", plain_key(value)) if isinstance(value, str) else equality.typed_key(value)


def _text_for_judge(value: Json) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _judged(
    key: Key = plain_key, published: Key = form_key, *, aligns: bool = False
) -> Callable[[Params, SemanticsName], BoundMetric]:
    """Return what makes a metric that asks where keys differ; `published`: the key under extract-bench."""

    def make(params: Params, semantics: SemanticsName) -> BoundMetric:
        own = published if semantics == "extract-bench" else key
        template = params.get("prompt_template") or ""
        for place, words in _PLACES.items():  # the judge's prompt fills them
            template = template.replace(place, words)
        return BoundMetric(
            compare=lambda gold, extracted: 1.0 if own(gold) == own(extracted) else 0.0,
            params={name: value for name, value in params.items() if value is not None},
            threshold=float(params["pass_threshold"]),
            judged=True,
            aligns=aligns,
            instructions="\n".join(part for part in (template, params["additional_instructions"]) if part),
            judge=params["judge"] or "",
            options={name: params[name] for name in _OPTIONS if params.get(name) is not None},
            key=own,
        )

    return make


def _check_template(value: Json) -> str | None:
    if not isinstance(value, str) or not all(place in value for place in _PLACES):
        return f"must be a text that holds {', '.join(_PLACES)}"
    return None


_OPTIONS = ("model", "temperature", "max_tokens")
_ADDITIONAL = Param(
    name="additional_instructions", check=check.text, doc="what the judge is told about this field, in your words"
)
_JUDGE = Param(
    name="judge", check=check.text, doc="name of a judge of the project's own (`extend.judge`) that decides this field"
)


def _pass_threshold(default: float) -> Param:
    return Param(
        name="pass_threshold", check=check.numeric(0, 1), default=default, doc="lowest score of the judge that passes"
    )


_EXTRACT_BENCH = (
    _pass_threshold(0.7),
    _ADDITIONAL,
    _JUDGE,
    Param(
        name="prompt_template",
        check=_check_template,
        doc="ExtractBench's own prompt, with its three places; its words reach the judge as instructions",
    ),
    Param(name="model", check=check.text, doc="model that judges this field in place of --extract-judge-model's"),
    Param(name="temperature", check=check.number(0), doc="temperature that it is asked with; without it, 0"),
    Param(name="max_tokens", check=check.integer(1), doc="longest answer, in tokens; it holds for a whole call"),
)
_SAME = (
    Example("Acme  GmbH", "ACME GmbH", 1.0),
    Example(42, "42", 1.0),
    Example("Acme GmbH", "Acme", 0.0),
)

SPECS = (
    MetricSpec(
        name="string_semantic",
        make=_judged(),
        doc="ExtractBench: the judge says how far two values mean the same. Equal after NFC, casefold and white "
        "space folding scores 1 without asking; the examples show this check, where 0 means that the judge is asked.",
        params=_EXTRACT_BENCH,
        examples=_SAME,
    ),
    MetricSpec(
        name="string_llm",
        make=_judged(),
        doc="ExtractBench: as `string_semantic`, meant for `additional_instructions` or your own `prompt_template`.",
        params=_EXTRACT_BENCH,
        examples=_SAME,
    ),
    MetricSpec(
        name="semantic",
        make=_judged(semantic_key, semantic_key),
        doc="struct-extract-eval: the judge says whether two values mean the same; passes at 1. Texts equal after NFC, "
        "casefold and white space folding, and other values that are the same, score 1 without asking.",
        params=(_pass_threshold(1.0), _ADDITIONAL, _JUDGE),
        examples=(_SAME[0], _SAME[2], Example(1, "1", 0.0)),
    ),
    MetricSpec(
        name="array_llm",
        make=_judged(aligns=True),
        doc="ExtractBench: the judge pairs the items of two lists. Lists that are equal are paired without asking.",
        params=_EXTRACT_BENCH,
        examples=(Example([{"a": 1}], [{"a": 1}], 1.0), Example([{"a": 1}], [{"a": 2}], 0.0)),
    ),
)
