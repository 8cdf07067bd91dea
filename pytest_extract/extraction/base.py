"""The output of an extractor (`Extraction`), and the conversion of everything that an extractor may return."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Final

from pytest_extract.core.arguments import json_argument, json_output
from pytest_extract.core.case_result import Usage
from pytest_extract.core.parse.answers import finish_of
from pytest_extract.core.results import DECLINED, Failure, FailureKind
from pytest_extract.core.values import Json
from pytest_extract.errors import ConfigError, ExtractError, nearest

if TYPE_CHECKING:
    from pytest_extract.core.output_shape import ReportedMetadata


@dataclass(frozen=True, slots=True)
class Extraction:
    """An output with what is known about the call that made it.

    output: text, or a value that is JSON (of the types in `core.python_values.plain_json`), before any parsing.
    usage: tokens (`Usage`, or a mapping with its names); latency_s: seconds; cost_usd: None when unknown, never 0 then.
    estimated_usd: what a budget counts where the cost is unknown; None if there is no estimate either.
    finish_reason: that of the provider; `length` marks an output that was cut off, `error` an outage: no output at all.
    recorded: replayed from a recording, so tokens, cost and latency are those of the recorded call; other_code: which
    another version of the extractor's code has made.
    failure: set if the provider declined (refusal, context length, page limit) or returned nothing.
    adjustments: what of the request was changed for the model (a temperature that it does not take).
    notes: remarks for readers of the result (a redacted recording).
    extractor: of a replayed output, the digest of the code that made it, if the recording has it.
    build: the model that served the call, as its provider names it (a version, a fingerprint): a change of it is told.
    confidence: by value a number from 0 to 1, as an object that is nested as the output or has paths for keys
    (`{"total": 0.93, "items[0].price": 0.7}`); a single number is that of the whole output.
    citations: by value, in the same way, a list of citations: quotes, or objects with `page`, `quote` and `box`.
    """

    output: Any
    _: KW_ONLY
    usage: Usage | Mapping[str, int | None] | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    estimated_usd: float | None = None
    finish_reason: str | None = None
    recorded: bool = False
    other_code: bool = False
    failure: Failure | None = None
    adjustments: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    extractor: str | None = None
    build: str | None = None
    confidence: Any = None
    citations: Any = None

    @property
    def reported(self) -> ReportedMetadata | None:
        """Confidence and citations as they are scored; None where the extractor returned neither."""
        if self.confidence is None and self.citations is None:
            return None
        from pytest_extract.core.output_shape import ReportedMetadata

        return ReportedMetadata(self.confidence, self.citations)


class ProviderOutage(ExtractError):
    """An extractor returned what came before its provider broke down: the case is broken, whatever stands in it."""


class ExtractionFailure(ExtractError):
    """Raised by an extractor if a model or its provider declined: the case has failed, and is not broken.

    kind: `page_limit`, `context_length`, `refusal` or `schema_rejected`; message: that of the provider.
    usage, cost_usd: what the call took; a request that is declined is rarely billed, so 0 where nothing is given.
    """

    def __init__(
        self,
        kind: FailureKind | str,
        message: str,
        *,
        usage: Usage | Mapping[str, int | None] | None = None,
        cost_usd: float | None = 0.0,
    ) -> None:
        super().__init__(message)
        if kind not in DECLINED:
            raise ConfigError(
                f"ExtractionFailure has no kind {str(kind)!r}{nearest(kind, DECLINED)}; "
                "an output that cannot be used is returned as it is; any other exception says that the extractor broke"
            )
        self.kind = FailureKind(kind)
        self.message = message
        self.usage = usage
        self.cost_usd = cost_usd


def as_extraction(returned: Any, latency_s: float | None = None, *, gold: Json = None) -> Extraction:
    """Make an `Extraction` of whatever an extractor returned; a latency that it did not report is filled in.

    Values become plain JSON, so that a live and a replayed output are alike. Raises ConfigError on an output of a type
    that JSON does not have, on the response of a model's client (unless `gold` is one), and on a usage, cost or latency
    that is none: it would fail later, in every sum. Raises ProviderOutage where the finish reason tells of one.
    """
    given = returned if isinstance(returned, Extraction) else Extraction(returned)
    _refuse_outage(given)
    return dataclasses.replace(
        given,
        output=_answer(given.output, gold),
        usage=usage_of(given.usage),
        cost_usd=_amount("cost_usd", given.cost_usd),
        estimated_usd=_amount("estimated_usd", given.estimated_usd),
        latency_s=latency_s if given.latency_s is None else _amount("latency_s", given.latency_s),
        finish_reason=None if given.finish_reason is None else str(given.finish_reason),
        build=None if given.build is None else str(given.build),
        confidence=_reported("confidence", given.confidence, dict | int | float),
        citations=_reported("citations", given.citations, dict | list),
    )


def _refuse_outage(extraction: Extraction) -> None:
    """Raise ProviderOutage where the provider broke down while it answered."""
    finish, failure = finish_of(extraction.finish_reason), extraction.failure
    if finish.outage:
        raise ProviderOutage(f"the provider broke down while it answered (finish_reason={finish.reason})")
    if failure is not None and failure.kind is FailureKind.EXTRACTOR_ERROR:
        raise ProviderOutage(failure.message)


def _reported(name: str, value: Any, kinds: Any) -> Any:
    """Return what an extractor reports beside its output as plain JSON."""
    if value is None:
        return None
    plain = json_argument(f"Extraction({name}=...)", value, strict=True)
    if isinstance(plain, kinds) and not isinstance(plain, bool):
        return plain
    wanted = {
        "confidence": "a mapping of value to number from 0 to 1, or one number",
        "citations": "a mapping of value to list of citations, or a list of them",
    }
    raise ConfigError(f"Extraction({name}=...) takes {wanted[name]}, not {value!r:.60}")


def _amount(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, bool) and hasattr(value, "__float__"):  # a Decimal, too, and what numpy has
        amount = float(value)
        if math.isfinite(amount) and amount >= 0:
            return amount
    raise ConfigError(f"Extraction({name}=...) takes a number, 0 or more, not {value!r:.60}")


def _answer(output: Any, gold: Json) -> Any:
    from pytest_extract.core.parse.answers import response_in

    answer = response_in(output)
    if answer is not None and response_in(gold) is None:
        raise ConfigError(f"the extractor returned a response as a client gives it; return the answer in it: {answer}")
    return json_output(output)


_USAGE_NAMES: Final[Mapping[str, str]] = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "total_tokens": "total_tokens",
}
"""What clients call the tokens that are counted; their details are others."""


def usage_of(usage: Any) -> Usage | None:
    """Return `usage` as `Usage`: itself, or what a mapping or a client's usage object has of `_USAGE_NAMES`."""
    if usage is None or isinstance(usage, Usage):
        return usage
    if isinstance(usage, Mapping):
        given: Mapping[str, Any] = usage
    else:
        given = {name: getattr(usage, name) for name in _USAGE_NAMES if hasattr(usage, name)}
        if not given:
            names = ", ".join(_USAGE_NAMES)
            raise ConfigError(f"Extraction(usage=...) takes a mapping with {names}, not {type(usage).__name__}")
    if given and not _USAGE_NAMES.keys() & given.keys():
        name = str(next(iter(given)))
        raise ConfigError(f"Extraction(usage=...) has no {name!r}{nearest(name, _USAGE_NAMES)}")
    known = {name: _count(name, given[name]) for name in _USAGE_NAMES if given.get(name) is not None}
    return Usage(**{_USAGE_NAMES[name]: count for name, count in known.items()})


def _count(name: str, value: Any) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ConfigError(f"Extraction(usage=...): {name} must be a whole number, 0 or more, not {value!r:.60}")
