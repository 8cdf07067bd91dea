"""What an extractor gives back, and what is made of the things that it may return."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pytest_extract.core.case_result import Usage
from pytest_extract.core.results import Failure
from pytest_extract.errors import ConfigError, nearest


@dataclass(frozen=True, slots=True)
class Extraction:
    """An output with what is known about the call that made it.

    output: text, a JSON value or a pydantic model, before any parsing.
    usage: tokens (`Usage`, or a mapping with its names); latency_s: seconds; cost_usd: None when unknown, never 0 then.
    finish_reason: as the provider says it; `length` marks an output that was cut off.
    recorded: replayed from a recording, so tokens, cost and latency are those of the recorded call.
    failure: set where the provider declined (refusal, context length, page limit) or said nothing.
    notes: what a reader of the result should know (a redacted recording).
    extractor: of a replayed output, the digest of the code that made it, where the recording tells.
    """

    output: Any
    _: KW_ONLY
    usage: Usage | Mapping[str, int | None] | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    finish_reason: str | None = None
    recorded: bool = False
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    extractor: str | None = None


def as_extraction(returned: Any, latency_s: float | None = None) -> Extraction:
    """Make an `Extraction` of whatever an extractor returned; a latency that it did not report is filled in.

    Pydantic models become plain JSON values (aliases as in their JSON Schema), so that a live and a replayed output
    are alike. Raises ConfigError on a usage, cost or latency that is none: it would fail later, in every sum.
    """
    given = returned if isinstance(returned, Extraction) else Extraction(returned)
    return dataclasses.replace(
        given,
        output=plain_output(given.output),
        usage=usage_of(given.usage),
        cost_usd=_amount("cost_usd", given.cost_usd),
        latency_s=latency_s if given.latency_s is None else _amount("latency_s", given.latency_s),
        finish_reason=None if given.finish_reason is None else str(given.finish_reason),
    )


def _amount(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, bool) and hasattr(value, "__float__"):  # a Decimal, too, and what numpy has
        amount = float(value)
        if math.isfinite(amount) and amount >= 0:
            return amount
    raise ConfigError(f"Extraction({name}=...) takes a number, 0 or more, not {value!r:.60}")


def plain_output(output: Any) -> Any:
    """Return a pydantic model (or a list of them) as a JSON value; anything else unchanged."""
    if isinstance(output, list):
        return [plain_output(item) for item in output] if any(_is_model(item) for item in output) else output
    return output.model_dump(mode="json", by_alias=True) if _is_model(output) else output


def _is_model(value: Any) -> bool:
    return not isinstance(value, type) and callable(getattr(value, "model_dump", None))


def usage_of(usage: Any) -> Usage | None:
    """Return `usage` as `Usage`: itself, from a mapping, or from a client's usage object (`prompt_tokens`, ...)."""
    if usage is None or isinstance(usage, Usage):
        return usage
    names = [field.name for field in dataclasses.fields(Usage)]
    if isinstance(usage, Mapping):
        unknown = [name for name in usage if name not in names]
        if unknown:
            raise ConfigError(f"Extraction(usage=...) has no {unknown[0]!r}{nearest(unknown[0], names)}")
        return Usage(**{name: _count(name, value) for name, value in usage.items()})
    if not any(hasattr(usage, name) for name in names):
        raise ConfigError(f"Extraction(usage=...) takes a mapping with {', '.join(names)}, not {type(usage).__name__}")
    return Usage(**{name: _count(name, getattr(usage, name, None)) for name in names})


def _count(name: str, value: Any) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ConfigError(f"Extraction(usage=...): {name} must be a whole number, 0 or more, not {value!r:.60}")
