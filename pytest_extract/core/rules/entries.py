"""The form of a rule in a case or a schema: a text, or a mapping. Nothing here knows fields or the grammar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from pytest_extract.core.values import Json, short_repr
from pytest_extract.errors import nearest

Severity: TypeAlias = Literal["error", "warning"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning")
RULE_KEYS: Final = ("rule", "name", "each", "rel", "abs", "severity")


def entry_problems(entry: Json) -> Iterator[tuple[str | None, str]]:
    """Yield what is wrong with the form of one rule: the key that holds it, and a sentence."""
    if isinstance(entry, str):
        return
    if not isinstance(entry, Mapping):
        yield None, f"must be a rule such as 'start <= end', or a mapping with `rule`, not {short_repr(entry)}"
        return
    for key in entry:
        if key not in RULE_KEYS:
            yield key, f"a rule has no key {key!r}{nearest(key, RULE_KEYS)}"
    for key in ("rule", "name", "each"):
        if (key in entry or key == "rule") and not (isinstance(entry.get(key), str) and entry[key].strip()):
            wanted = "needs `rule`, its text" if key not in entry else f"`{key}` must be a text"
            yield (key if key in entry else None), wanted
    for key in ("rel", "abs"):
        value = entry.get(key, 0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e300:
            yield key, f"`{key}` must be a number, 0 or more, not {short_repr(value)}"
    if entry.get("severity", "error") not in SEVERITIES:
        yield "severity", f"`severity` must be error or warning, not {short_repr(entry['severity'])}"
