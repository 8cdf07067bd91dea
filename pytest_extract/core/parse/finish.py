"""Why an answer ended, in the words of the services: before its time, or because it was done."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_CUT: Final = r"\w*length|max_\w*tokens|\w*context_window_exceeded|(?:token|error)_limit|incomplete"
_REFUSED: Final = (
    r"content_filter(?:ed)?|prohibited_content|refusal|(?:image_)?safety|recitation|blocklist|spii|language|sensitive"
    r"|guardrail_intervened|model_armor|error_toxic"
)
_OUTAGE: Final = r"(?:\w+_)?error|insufficient_system_resources?|abort(?:ed)?|cancell?ed|timeout|time_limit"


class Finish(NamedTuple):
    """Why an answer ended: `reason` as `FinishReason.MAX_TOKENS` is spelled here, `max_tokens`; empty where none is."""

    reason: str

    @property
    def cut(self) -> bool:
        """The answer was longer than it may be."""
        return self._is(_CUT)

    @property
    def refused(self) -> bool:
        """The model, or a filter behind it, did not want to give it."""
        return self._is(_REFUSED)

    @property
    def outage(self) -> bool:
        """The service broke down while it answered: nothing is known about the model."""
        return self._is(_OUTAGE)

    @property
    def early(self) -> bool:
        """Whatever came is not the whole answer."""
        return self.cut or self.refused or self.outage

    def _is(self, words: str) -> bool:
        return re.fullmatch(words, self.reason) is not None


def finish_of(finish_reason: str | None) -> Finish:
    """Read a provider's reason."""
    return Finish((finish_reason or "").rpartition(".")[2].strip().lower().replace("-", "_"))
