"""What calls of models took: their number, tokens and cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from pytest_extract.core.case_result import Attempt, CaseResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Calls, tokens and cost, of an extractor or a judge.

    `cost_usd` counts priced calls only; `unpriced` is the number of the others, and `uncounted` that of those among
    them whose provider did not report all tokens. `estimated_usd` is what a budget counts for the latter (a judge's),
    None where one of them has no price. Recorded outputs cost nothing.
    """

    calls: int = 0
    recorded: int = 0
    unpriced: int = 0
    uncounted: int = 0
    cost_usd: float = 0.0
    estimated_usd: float | None = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @classmethod
    def of(cls, results: Iterable[CaseResult]) -> Spending:
        """Add up all attempts."""
        total = cls()
        for result in results:
            live = [attempt for attempt in result.attempts if not attempt.recorded]
            usages = [attempt.usage for attempt in result.attempts if attempt.usage is not None]
            total += cls(
                calls=len(live),
                recorded=len(result.attempts) - len(live),
                unpriced=sum(attempt.cost_usd is None for attempt in live),
                uncounted=sum(_is_uncounted(attempt) for attempt in live) if result.variant.model is not None else 0,
                cost_usd=sum(attempt.cost_usd or 0.0 for attempt in live),
                prompt_tokens=sum(usage.prompt_tokens or 0 for usage in usages),
                completion_tokens=sum(usage.completion_tokens or 0 for usage in usages),
            )
        return total

    def __add__(self, other: Spending) -> Spending:
        return self._with(other, 1)

    def __sub__(self, other: Spending) -> Spending:
        return self._with(other, -1)

    def _with(self, other: Spending, sign: int) -> Spending:
        totals: dict[str, Any] = {}
        for name in (each.name for each in fields(self)):
            one, more = getattr(self, name), getattr(other, name)
            totals[name] = None if one is None or more is None else one + sign * more
        return Spending(**totals)

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost_text(self) -> str:
        """The cost as text; `unknown` if no call has a known price, `-` without a call: recorded outputs had a cost."""
        if self.unpriced == self.calls:
            return "unknown" if self.calls else "-"
        return f"${self.cost_usd:,.4f}"

    @property
    def unknown(self) -> list[tuple[int, str]]:
        """The calls of unknown cost: their number, and what is missing."""
        kinds = (self.unpriced - self.uncounted, "without a known price"), (self.uncounted, "without reported tokens")
        return [(count, what) for count, what in kinds if count]


def _is_uncounted(attempt: Attempt) -> bool:
    """Whether a call of a model gave an answer whose tokens are not known."""
    known = attempt.usage is not None and attempt.usage.complete
    return attempt.cost_usd is None and attempt.score is not None and not known
