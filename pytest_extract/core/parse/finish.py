"""Why an answer ended, in the words of the services: before its time, or because it was done."""

from __future__ import annotations

from typing import Final

CUT: Final = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "max_completion_tokens",
        "max_length",
        "model_length",
        "token_limit",
        "error_limit",
        "model_context_window_exceeded",
        "context_window_exceeded",
        "incomplete",
    }
)
"""The answer was longer than it may be."""
REFUSED: Final = frozenset(
    {
        "content_filter",
        "content_filtered",
        "refusal",
        "safety",
        "prohibited_content",
        "recitation",
        "blocklist",
        "spii",
        "language",
        "sensitive",
        "guardrail_intervened",
        "model_armor",
        "error_toxic",
        "image_safety",
    }
)
"""The model, or a filter behind it, did not want to give it."""
OUTAGE: Final = frozenset(
    {
        "error",
        "network_error",
        "server_error",
        "engine_error",
        "insufficient_system_resource",
        "insufficient_system_resources",
        "abort",
        "aborted",
        "cancelled",
        "canceled",
        "timeout",
        "time_limit",
    }
)
"""The service broke down while it answered: nothing is known about the model."""
EARLY: Final = CUT | REFUSED | OUTAGE


def plain_reason(finish_reason: str | None) -> str:
    """Return a reason as the sets above spell it: `FinishReason.MAX_TOKENS` is `max_tokens`; empty where none is."""
    return (finish_reason or "").rpartition(".")[2].strip().lower().replace("-", "_")
