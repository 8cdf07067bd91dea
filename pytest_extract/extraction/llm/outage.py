"""No more calls of a model where the next would fail as the last ones did: no key, no such model, an unknown host."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from pytest_extract.core.values import Json
from pytest_extract.extraction.llm.adjustments import Adjustments
from pytest_extract.extraction.llm.errors import permanent_cause, summary
from pytest_extract.lazy import lazy_pattern

_KEY: Final = lazy_pattern(r"\b[A-Z][A-Z0-9_]*_API_KEY\b")
_MOST: Final = 3
"""Equal permanent errors of a model after which it is called no more."""
_ATTEMPTS_TO_REACH: Final = 3
"""Attempts of a call to a host that has answered none yet."""


class Outage:
    """The permanent errors of one extractor or judge so far, and the options that models refuse.

    What the first of equal errors says is said for all of them: requests differ in their number, and the cause is one.
    Calls in several threads share it without a lock (an extractor can be pickled): a lost count costs one more call.
    """

    def __init__(self) -> None:
        self._errors: dict[str, tuple[str | None, str, int]] = {}
        self._answered: set[str] = set()
        self._adjustments: dict[str, Adjustments] = {}

    def over(self, model: str) -> str | None:
        """Return why a model is called no more; None while it is."""
        _, message, count = self._errors.get(model, (None, "", 0))
        return message if count >= _MOST else None

    def attempts(self, model: str, error: Exception, most: int) -> int:
        """Return how often a call may be tried that met an error; a host that has answered is worth the full number."""
        reached = model in self._answered or permanent_cause(error) != "unreachable"
        return most if reached else min(most, _ATTEMPTS_TO_REACH)

    def answered(self, model: str) -> None:
        """Forget the errors of a model that has answered."""
        self._answered.add(model)
        self._errors.pop(model, None)

    def adjustments(self, model: str) -> Adjustments:
        """Return what has to be changed of a request for a model, as far as it has answered."""
        return self._adjustments.get(model, {})

    def adjust(self, model: str, adjustments: Adjustments) -> None:
        """Remember the changes with which a model has answered: the next call is spared the error."""
        self._adjustments[model] = adjustments

    def failed(self, model: str, error: Exception, told: str) -> str:
        """Count an error and return what to say of it: `told`, or for one that is no news what the first said."""
        cause = permanent_cause(error)
        if cause is None:
            return told
        before, message, count = self._errors.get(model, (None, "", 0))
        if before != cause:
            count, message = 0, f"{told}\nno call of this model can succeed: after {_MOST} such errors none is made"
        self._errors[model] = cause, message, count + 1
        return message


def reason(litellm: Any, model: str, error: Exception, options: Mapping[str, Json]) -> str:
    """Say what an error means: first the key that is not set, where litellm names one, then the error itself."""
    asked = permanent_cause(error) in {"credentials", "unreachable"}
    missing = _missing_keys(litellm, model, error, options) if asked else []
    if not missing:
        return summary(error)
    keys = " or ".join(missing)
    return f"{keys} is not set ({summary(error)})"


def _missing_keys(litellm: Any, model: str, error: Exception, options: Mapping[str, Json]) -> list[str]:
    """Return the variables that should hold the model's key; none where a key is given or nobody knows which it is."""
    if options.get("api_key"):
        return []
    try:
        missing = list(litellm.validate_environment(model)["missing_keys"])
    except Exception:  # noqa: BLE001  # it asks many providers' code; the error itself is told anyway
        return []
    if missing:
        return missing if all(_KEY.fullmatch(name) for name in missing) else []
    named = dict.fromkeys(_KEY.findall(str(error)))  # litellm takes an empty variable for one that is set
    return [name for name in named if os.environ.get(name) == ""]
