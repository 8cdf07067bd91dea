"""What calls of models took: their number, tokens and cost."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_extract.core.case_result import CaseResult
from pytest_extract.lazy import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Calls, tokens and cost, of an extractor or a judge.

    `cost_usd` counts priced calls only; `unpriced` is the number of the others. Recorded outputs cost nothing.
    """

    calls: int = 0
    recorded: int = 0
    unpriced: int = 0
    cost_usd: float = 0.0
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
                cost_usd=sum(attempt.cost_usd or 0.0 for attempt in live),
                prompt_tokens=sum(usage.prompt_tokens or 0 for usage in usages),
                completion_tokens=sum(usage.completion_tokens or 0 for usage in usages),
            )
        return total

    def __add__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls + other.calls,
            recorded=self.recorded + other.recorded,
            unpriced=self.unpriced + other.unpriced,
            cost_usd=self.cost_usd + other.cost_usd,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )

    def __sub__(self, other: Spending) -> Spending:
        return Spending(
            calls=self.calls - other.calls,
            recorded=self.recorded - other.recorded,
            unpriced=self.unpriced - other.unpriced,
            cost_usd=self.cost_usd - other.cost_usd,
            prompt_tokens=self.prompt_tokens - other.prompt_tokens,
            completion_tokens=self.completion_tokens - other.completion_tokens,
        )

    @property
    def tokens(self) -> int:
        """Tokens of prompts and completions together."""
        return self.prompt_tokens + self.completion_tokens

    @property
    def cost_text(self) -> str:
        """The cost as text; `unknown` if no call has a known price."""
        if self.calls and self.unpriced == self.calls:
            return "unknown"
        return f"${self.cost_usd:,.4f}"
