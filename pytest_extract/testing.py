"""Extraction checks for plain Python tests: `assert_extraction(...)` and `assert output == Gold(...)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from pytest_extract.core.case_result import Breach
from pytest_extract.core.judges import WITHOUT_JUDGE
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, ExtractError
from pytest_extract.report.diff import DiffOptions, score_lines
from pytest_extract.report.lines import printed, safe_prose, text_of

if TYPE_CHECKING:
    from pytest_extract.core.scorer import Keywords, Score

__all__ = ["Gold", "assert_extraction"]


def assert_extraction(
    output: object,
    *,
    gold: Json,
    schema: Json,
    thresholds: Mapping[str, Any] | None = None,
    **keywords: Unpack[Keywords],
) -> Score:
    """Hold an output against gold as a case would; return its `Score`.

    `output` is whatever an extractor may return: text, a JSON value, a pydantic model or an `Extraction`. The keywords
    mean what they mean in a case file; `extensions` are the project's own metrics and the like (in a test: the fixture
    `extract_extensions`). Raises AssertionError with the field-by-field diff; ConfigError or SchemaError
    for a mistake in the arguments.
    """
    __tracebackhide__ = True
    try:
        expected = Gold(gold, schema=schema, thresholds=thresholds, **keywords)
        score, breaches = expected.check(output)
    except ExtractError as error:  # a mistake in the call: where we found it is of no interest
        raise error.with_traceback(None) from None
    if breaches:
        raise AssertionError("\n".join(["the extraction is not good enough", *diff_of_score(score, breaches, output)]))
    return score


class Gold:
    """A gold value that an output is equal to when it is good enough: `assert output == Gold(gold, schema=schema)`.

    The keywords are those of `assert_extraction`; a failing `==` in an assert shows the field-by-field diff.
    """

    __hash__ = None  # type: ignore[assignment]  # equal to many different things

    def __init__(
        self, value: Json, *, schema: Json, thresholds: Mapping[str, Any] | None = None, **keywords: Unpack[Keywords]
    ) -> None:
        from pytest_extract.cases.model import Thresholds, checked_argument
        from pytest_extract.cases.schemas import field_problem, schema_problems
        from pytest_extract.core.arguments import json_argument
        from pytest_extract.core.gates import GateConfig
        from pytest_extract.core.scorer import compile_schema, split_keywords
        from pytest_extract.core.validate import Validator

        self.value = json_argument("gold", value)
        keywords["accept"] = checked_argument("accept", keywords.get("accept"))
        keywords["absent"] = checked_argument("absent", keywords.get("absent"))
        gates = GateConfig.from_json(checked_argument("gates", keywords.get("gates")))
        if gates.grounded:
            raise ConfigError("gates.grounded needs a document: a case has one, this call has not")
        keywords["gates"] = gates
        compiling, self._options = split_keywords({"as_published": False, **keywords})
        self._thresholds = Thresholds.of(checked_argument("thresholds", thresholds))
        self._scorer = compile_schema(schema, **compiling)
        absent, bounded = self._options.absent or {}, self._thresholds.fields
        problems = [  # a bound on a field that nothing can be held against would pass whatever is extracted
            field_problem(field, self._scorer.program, self.value, bounded=field in bounded, absence=absent.get(field))
            for field in (*(self._options.accept or {}), *absent, *bounded)
        ]
        if gates.schema:  # by a schema that is none, and a gold that breaks it, nothing would
            unsound = schema_problems(self._scorer.schema, Validator(self._scorer.schema))
            problems += (f"the schema is no valid JSON Schema at {each.pointer}: {each.message}" for each in unsound)
            problems += () if unsound else (self._scorer.gold_problem(self.value, self._options),)
        if told := [problem for problem in problems if problem is not None]:
            raise ConfigError("\n".join(told))

    def __repr__(self) -> str:
        return f"Gold({self.value!r})"

    def __eq__(self, output: object) -> bool:
        return not self.check(output)[1]

    def check(self, output: object) -> tuple[Score, tuple[Breach, ...]]:
        """Score an output; return the score and every bound that it misses."""
        from pytest_extract.extraction.call import as_extraction
        from pytest_extract.run_case import Requirements, judged, score_extraction, with_bounded_measures

        extraction = as_extraction(output, gold=self.value)
        score = score_extraction(self._scorer, self.value, extraction, self._options)
        score = with_bounded_measures(score, self.value, self._thresholds)
        bounds = Requirements(
            thresholds=self._thresholds, absent=self._options.absent or {}, rules=self._options.rules_gate
        )
        _, breaches, undecided = judged(bounds, score, cost_usd=extraction.cost_usd, latency_s=extraction.latency_s)
        if undecided is None:
            return score, breaches
        hint = "; give `judge=`" if undecided.startswith(WITHOUT_JUDGE) else ""
        return score, (Breach(what="judge", message=f"{undecided}{hint}"),)


def diff_of_score(score: Score, breaches: Sequence[Breach], output: object, *, verbosity: int = 0) -> list[str]:
    """Return the diff of a score as plain lines: bounds missed, then one line per failing field."""
    lines = score_lines(score.record(), DiffOptions(verbosity=verbosity, width=110), output=output, breaches=breaches)
    return [f"  {safe_prose(breach.message)}" for breach in breaches] + [text_of(printed(each)) for each in lines]
