"""What must hold for one pair of values under one compiled schema; each law is a function that raises `Broken`."""

from __future__ import annotations

import json
import marshal
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pytest_extract import MISSING, Alignment, Question, Scorer, Verdict
from pytest_extract.core.case_result import Attempt, Breach, CaseResult, Outcome, Variant
from pytest_extract.core.result_json import from_json
from pytest_extract.core.results import Answer, Judge, ScoreRecord, Status
from pytest_extract.core.scorer import Score
from pytest_extract.core.values import iter_leaves
from pytest_extract.report.diff import DiffOptions, score_lines
from pytest_extract.report.exports import csv_table
from pytest_extract.report.html.page import page
from pytest_extract.report.lines import text_of
from pytest_extract.report.markdown import markdown
from pytest_extract.report.run_report import RunReport
from pytest_extract.report.summary import summary_lines
from pytest_extract.results import dump_result, load_result
from tests.fuzz.generate import Setup, shuffled_keys, shuffled_rows

Json = Any
COUNTED = ("pass_rate", "mean_score", "precision", "recall", "f1")
NOT_REFLEXIVE = frozenset({"oneof", "numeric", "number_exact", "number_tolerance", "integer_exact"})
"""Metrics under which a value may documentedly differ from itself: `oneof` ignores the gold; the published numbers
find the text "nan" (struct-extract-eval: any text) unlike itself."""
PYTHON_TEXT = frozenset({"string_exact", "string_case_insensitive", "string_fuzzy", "token_f1"})
"""Metrics that documentedly compare the Python text of a value, in which the order of keys shows."""


class Broken(Exception):
    """A law that does not hold."""


@dataclass(frozen=True)
class Pair:
    """One pair with what its laws need: `score` is that of `gold` against `extracted`."""

    setup: Setup
    scorer: Scorer
    gold: Json
    extracted: Json
    judge: Judge | None
    score: Score
    seed: int

    def again(self, gold: Json, extracted: Json) -> Score:
        return self.scorer.score(gold, extracted, judge=self.judge)


def frozen(value: Json) -> object:
    """Return something that differs once the value was changed."""
    try:
        return marshal.dumps(None if value is MISSING else value, 2)
    except ValueError:  # nested too deep for marshal
        return None


def judge_of(kind: str | None) -> Judge | None:
    """Return a judge whose answers hang on the question's content alone."""
    if kind is None:
        return None

    def answer(question: Question) -> Answer:
        rng = random.Random(question.key)
        if kind == "hostile" and rng.random() < 0.5:
            wrong: list[Any] = [None, 7, Verdict(float("nan")), Verdict(2.0), Verdict(True), Alignment(((0, 99),)), Alignment(((-1, 0), (0, 0), (0, 1)))]  # fmt: skip
            return rng.choice(wrong)
        if question.kind == "equal":
            return Verdict(1.0 if kind == "yes" else rng.choice((0.0, 0.3, 0.7, 1.0)), "so \x1b[31m it \u202e is")
        rows, columns = list(range(len(question.gold))), list(range(len(question.extracted)))
        rng.shuffle(columns)
        pairs = tuple(zip(rows, columns, strict=False))[: rng.randint(0, len(rows))]
        return Alignment(pairs)

    def judge(questions: Any) -> list[Answer]:
        return [answer(question) for question in questions]

    return judge


def number_in_range(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise Broken(f"{name} is {value!r}")


def range_law(pair: Pair) -> None:
    """Every score, measure and factor is a number in [0, 1], and every pairing names each row once."""
    score = pair.score
    for result in (*score.fields, *score.leaves):
        number_in_range(f"score of {result.path}", result.score)
        if not isinstance(result.passed, bool) or not isinstance(result.status, Status):
            raise Broken(f"{result.path}: passed {result.passed!r}, status {result.status!r}")
    for name, value in (*score.measures.items(), *score.ungated.items()):
        number_in_range(name, value)
    gates = score.gates
    for gate in (gates.parse, gates.root, gates.schema, gates.coverage):
        number_in_range(f"factor of {gate.name}", gate.factor)
    for array in score.arrays:
        for name in ("precision", "recall", "f1"):
            number_in_range(f"{name} of {array.path}", getattr(array, name))
        rows = [i for i, _ in array.pairs] + list(array.missing)
        columns = [j for _, j in array.pairs] + list(array.extra)
        if len(set(rows)) != len(rows) or len(set(columns)) != len(columns) or min([*rows, *columns, 0]) < 0:
            raise Broken(f"{array.path}: pairs {array.pairs}, missing {array.missing}, extra {array.extra}")
    if score.vacuous < 0:
        raise Broken(f"vacuous is {score.vacuous}")


def _strange(value: Json) -> bool:
    """Whether a value holds NaN, which documentedly differs from itself, or is nested deeper than any document."""
    return any(
        len(path) > 50 or (isinstance(part, float) and math.isnan(part))
        for path, part in iter_leaves(value, empty_lists=True, containers=True)
    )


def _key_names(schema: Json) -> set[str]:
    """Return the properties that rows are aligned by, anywhere in a schema or in overrides."""
    keys = [one.get("key") for one in _parts(schema) if isinstance(one, dict)]
    return {name for key in keys for name in (key if isinstance(key, list) else [key]) if isinstance(name, str)}


def _without_key(gold: Json, names: set[str]) -> bool:
    """Whether some list has a row that a key cannot name: it has no such property, or no scalar in it."""
    rows = [row for one in _parts(gold) if isinstance(one, list) for row in one]
    keys = [row.get(name) if isinstance(row, dict) else None for row in rows for name in names]
    return any(key is None or isinstance(key, bool | dict | list) for key in keys)


def _declared(value: Json, schema: Json) -> bool:
    """Whether a schema plainly declares every key of a value, by `properties` and `items` alone."""
    if isinstance(value, dict):
        below = schema.get("properties") if isinstance(schema, dict) else None
        return isinstance(below, dict) and all(key in below and _declared(v, below[key]) for key, v in value.items())
    if isinstance(value, list):
        items = schema.get("items") if isinstance(schema, dict) and "prefixItems" not in schema else None
        return all(_declared(item, items) for item in value)
    return True


def _parts(value: Json) -> Iterator[Json]:
    """Yield a value and all values in it."""
    return (part for _, part in iter_leaves(value, containers=True))


def _odd_names(value: Json) -> bool:
    """Whether SOB's published paths can name two places of a value alike: the later one counts then, as published."""
    return any(
        isinstance(one, dict) and any(not name or "." in name or "[" in name for name in one) for one in _parts(value)
    )


def _names_not_reflexive(node: Json) -> bool:
    """Whether a part of a schema names, in either dialect, a metric under which a value may differ from itself."""
    if not isinstance(node, dict):
        return False
    named = node.get("x-eval-compare")
    names = {named} if isinstance(named, str) else {*named} if isinstance(named, dict) else set()
    return node.get("metric_id") in NOT_REFLEXIVE or bool(NOT_REFLEXIVE & names)


def _rows_unlike_themselves(schema: Json) -> bool:
    """Whether whole containers are compared by a metric that finds a container unlike itself."""
    containers = (
        node for node in _parts(schema) if isinstance(node, dict) and ("properties" in node or "items" in node)
    )
    return any(map(_names_not_reflexive, containers))


def _may_differ_from_itself(pair: Pair, score: Score) -> bool:
    """Whether the documentation says that this gold need not score 1 against itself."""
    schema, low = pair.setup.schema, [each for each in (*score.fields, *score.leaves) if each.score < 1.0]
    if any(result.metric in NOT_REFLEXIVE for result in low):
        return True
    of_lists = [result for result in low if result.metric == "array_llm"]
    if any(result.gold == [] for result in of_lists):
        return True  # published: of a value that need not be a list, an empty gold list recalls nothing
    if of_lists and any(map(_names_not_reflexive, _parts(schema))):
        return True  # a row that differs from itself is paired with nothing
    published = pair.scorer.semantics == "struct-extract-eval"
    if published and (not _declared(pair.gold, schema) or _rows_unlike_themselves(schema)):
        return True  # a key that the schema does not declare is invented, whatever the gold holds
    names = _key_names([schema, pair.setup.options.get("overrides")])
    return bool(names) and (published or _without_key(pair.gold, names))


def _perfect(pair: Pair, score: Score, what: str, *, weighted: bool = False) -> None:
    """Raise where a result is not perfect; `weighted`: where all of them have a weight."""
    counted = [result for result in score.fields if result.status is not Status.SKIPPED]
    leaves = [result for result in score.leaves if result.status is not Status.SKIPPED]
    bad = [result for result in (*leaves, *counted) if not (result.passed and abs(result.score - 1.0) < 1e-9)]
    low = {}
    if not bad and score.gates.structural and any(r.weight for r in counted) and any(r.weight for r in leaves):
        low = {name: score.measures[name] for name in COUNTED if score.measures[name] < 1 - 1e-9}
    if not (bad or low) or _may_differ_from_itself(pair, score):
        return
    if weighted and any(result.weight == 0 for result in (*score.fields, *score.leaves)):
        return
    if not bad:
        raise Broken(f"{what}: every result passes, but {low}")
    first = bad[0]
    raise Broken(f"{what}: {first.path} by {first.metric}: {first.status}, score {first.score}: {first.reason}")


def _unlike_itself(pair: Pair) -> bool:
    """Whether a gold is strange; the published tolerance finds an infinity unlike itself, too."""
    infinite = pair.scorer.semantics != "default" and any(
        isinstance(part, float) and math.isinf(part) for part in _parts(pair.gold)
    )
    return infinite or _strange(pair.gold)


def self_law(pair: Pair) -> None:
    """A value scores 1 against itself."""
    if not _unlike_itself(pair):
        _perfect(pair, pair.again(pair.gold, pair.gold), "gold against itself")


def shuffled_self_law(pair: Pair) -> None:
    """Where the order of rows does not count, a value scores 1 against its rows in another order.

    Fields of weight 0 do not take part in pairing, so that they may differ. Nor does a judge that pairs rows inside of
    rows: of two pairings that are as good without it, it is asked about the one that was chosen.
    """
    if "overrides" in pair.setup.options or _unlike_itself(pair) or pair.setup.judge == "hostile":
        return
    free = pair.scorer.semantics == "default"
    other = shuffled_rows(pair.gold, pair.setup.schema, free, random.Random(pair.seed))
    if frozen(other) != frozen(pair.gold):
        _perfect(pair, pair.again(pair.gold, other), "gold against its rows in another order", weighted=True)


def _seen(score: Score) -> list[tuple[object, ...]]:
    return sorted(
        (str(r.path), str(r.status), round(r.score, 9), r.passed, r.metric) for r in (*score.fields, *score.leaves)
    )


def keys_law(pair: Pair) -> None:
    """The order of the keys of objects changes no result and no measure."""
    rng = random.Random(pair.seed)
    missing = pair.extracted is MISSING
    other = pair.again(shuffled_keys(pair.gold, rng), MISSING if missing else shuffled_keys(pair.extracted, rng))
    one = pair.score
    texts = any(
        r.metric in PYTHON_TEXT and (isinstance(r.gold, dict | list) or isinstance(r.extracted, dict | list))
        for r in (*one.leaves, *one.fields)
    )
    if texts:
        return
    before, after = _seen(one), _seen(other)
    if before != after:
        gone = [r for r in before if r not in after][:1]
        new = [r for r in after if r not in before][:1]
        raise Broken(f"keys in another order: {gone} became {new}")
    names = COUNTED if _odd_names([pair.gold, None if missing else pair.extracted]) else tuple(one.measures)
    for name in names:
        if abs(other.measures[name] - (value := one.measures[name])) > 1e-9:
            raise Broken(f"keys in another order: {name} {value} became {other.measures[name]}")


def text_law(pair: Pair) -> None:
    """An output as JSON text scores as the value does, and a damaged text never raises."""
    try:
        _, text = (json.dumps(value, allow_nan=False) for value in (pair.gold, pair.extracted))
    except (TypeError, ValueError, RecursionError):
        return
    rng = random.Random(pair.seed)
    if isinstance(pair.extracted, dict | list) and not _strange(pair.extracted):
        score = pair.scorer.score_text(pair.gold, text, judge=pair.judge)
        if _seen(score) != _seen(pair.score):
            raise Broken("the output as a text scores otherwise than as a value")
    place = rng.randrange(len(text) + 1)
    damaged = rng.choice((text[:place], text[:place] + rng.choice(',}]"\\{`x\x00') + text[place:], f"```json\n{text}", f"Sure: {text} ok {text}"))  # fmt: skip
    score = pair.scorer.score_text(pair.gold, damaged, repair=rng.random() < 0.5, judge=pair.judge)
    for name, value in score.measures.items():
        number_in_range(name, value)
    score.to_dict()


def as_result(pair: Pair) -> CaseResult:
    score = from_json(ScoreRecord, pair.score.to_dict())
    rate = score.measures["pass_rate"]
    breach = Breach(what="pass_rate", message=f"pass_rate {rate:.3g} is below 1", bound=1.0, value=rate)
    breaches = () if rate == 1 else (breach,)
    outcome = Outcome.PASSED if rate == 1 else Outcome.FAILED
    output = None if pair.extracted is MISSING else pair.extracted
    attempt = Attempt(index=0, outcome=outcome, score=score, output=output, breaches=breaches)
    return CaseResult(
        nodeid=f"f.extract.yaml::{pair.seed}", case_id=str(pair.seed), file="f.extract.yaml", variant=Variant(model="m"),
        outcome=outcome, attempts=(attempt,), breaches=breaches,
    )  # fmt: skip


def diff_law(pair: Pair) -> None:
    """The diff of any two values can be told, and no character of it acts on a terminal."""
    rng = random.Random(pair.seed)
    look = DiffOptions(verbosity=rng.randint(0, 2), width=rng.choice((30, 80, 200)))
    for each in score_lines(pair.score.record(), look):
        if not text_of(each).isprintable():
            raise Broken(f"a line of the diff is not printable: {text_of(each)!r}")


def file_law(pair: Pair) -> None:
    """A result comes back from a line of the results file as it was written."""
    line = dump_result(as_result(pair))
    json.loads(line, parse_constant=_no_constant)
    if dump_result(load_result(line)) != line:
        raise Broken("a result does not come back from the results file as it was")


def _no_constant(name: str) -> None:
    raise Broken(f"{name} in the results file")


def report_law(pair: Pair) -> None:
    """Page, Markdown, CSV and summary can be made of any result."""
    result = load_result(dump_result(as_result(pair)))
    run = RunReport(results=[result])
    page(run)
    markdown(run)
    csv_table(run)
    for each in summary_lines(run.results, verbosity=2):
        if not text_of(each).isprintable():
            raise Broken(f"a line of the summary is not printable: {text_of(each)!r}")


LAWS: dict[str, tuple[Callable[[Pair], None], float]] = {
    "range": (range_law, 1.0),
    "self": (self_law, 0.4),
    "shuffled self": (shuffled_self_law, 0.4),
    "keys": (keys_law, 0.25),
    "text": (text_law, 0.15),
    "diff": (diff_law, 0.3),
    "file": (file_law, 0.05),
    "report": (report_law, 0.01),
}
"""Law and the share of pairs that it is tried on: the costly ones on fewer, so that a million pairs take no hour."""
