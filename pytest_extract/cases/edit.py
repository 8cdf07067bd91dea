"""Put another value into a JSON or YAML text and touch nothing else: only what differs is written anew.

A value that changed keeps its quoting, a mapping or list that gained or lost a part is written anew as a whole in the
style it had; comments, order, spacing and line ends everywhere else stay. The result is read again before it is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from pytest_extract.cases.positions import Steps, TextError
from pytest_extract.cases.sources import Source, parse_source
from pytest_extract.cases.spans import Span, spans_of
from pytest_extract.core.values import Json, canonical_json
from pytest_extract.errors import CaseFileError, StoreError

_PLAIN = re.compile(r"[A-Za-z_](?:[\w ./+()%@-]*[\w./+()%@])?")
_TOLD: Final = ("null", "true", "false")
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_INDENT = re.compile(r"\n([ \t]+)\S")


class _Edit(NamedTuple):
    span: Span
    text: str


def with_value(source: Source, steps: Steps, value: Json) -> str:
    """Return the source's text with `value` in the place of what stands at `steps`.

    Raises StoreError when the value is no JSON (NaN), or the text cannot be changed so that it reads back as wanted.
    """
    old = reached(source.value, steps)
    spans = spans_of(source)
    if steps not in spans:
        raise StoreError(f"{source.path}: the value stands behind a YAML alias and cannot be written; write it out")
    try:
        edits = [_Edit(spans[at], _rendered(source, spans[at], new, old_part)) for at, new, old_part in
                 _differences(steps, old, _ordered_like(old, value), spans)]  # fmt: skip
    except ValueError as error:
        raise StoreError(f"{source.path}: the value is no JSON: {error}") from None
    text = source.text
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    _check(source, text, steps, value)
    return text


def reached(value: Json, steps: Steps) -> Json:
    """Return what stands at `steps` of a value."""
    for step in steps:
        value = value[step]
    return value


def _check(source: Source, text: str, steps: Steps, value: Json) -> None:
    try:
        read = parse_source(source.path, text, source.language, source.first_line)
        right = canonical_json(reached(read.value, steps)) == canonical_json(value) and not read.parsed.problems
        alone = right and canonical_json(_emptied(source.value, steps)) == canonical_json(_emptied(read.value, steps))
    except (CaseFileError, TextError, LookupError, TypeError):
        alone = False
    if not alone:
        aliased = source.language == "yaml" and "&" in source.text
        advice = "another part of the file is its YAML alias; write one of them out" if aliased else "write it by hand"
        raise StoreError(f"{source.path}: the value cannot be written without touching more; {advice}")


def _emptied(whole: Json, steps: Steps) -> Json:
    """Return a copy of `whole` with null in the place of what stands at `steps`."""
    if not steps:
        return None
    copy: Any = dict(whole) if isinstance(whole, dict) else list(whole)
    copy[steps[0]] = _emptied(whole[steps[0]], steps[1:])
    return copy


def _differences(steps: Steps, old: Json, new: Json, spans: dict[Steps, Span]) -> Iterator[tuple[Steps, Json, Json]]:
    """Yield (place, new value, old value) of the smallest parts that have to be written anew."""
    if type(old) is type(new) and canonical_json(old) == canonical_json(new):
        return
    parts: list[tuple[str | int, Json, Json]] | None = None
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        parts = [(key, old[key], new[key]) for key in old]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        parts = [(index, *pair) for index, pair in enumerate(zip(old, new, strict=True))]
    if parts is None or any((*steps, step) not in spans for step, _, _ in parts):
        yield steps, new, old
        return
    for step, old_part, new_part in parts:
        yield from _differences((*steps, step), old_part, new_part, spans)


def _ordered_like(old: Json, new: Json) -> Json:
    """Return `new` with the keys of every mapping in the order of `old`, new keys last."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = [*(key for key in old if key in new), *(key for key in new if key not in old)]
        return {key: _ordered_like(old.get(key), new[key]) for key in names}
    if isinstance(old, list) and isinstance(new, list):
        rows = [*old, *([old[-1]] * (len(new) - len(old)) if old else [None] * len(new))]
        return [_ordered_like(row, part) for row, part in zip(rows, new, strict=False)]
    return new


def _rendered(source: Source, span: Span, new: Json, old: Json) -> str:
    text = source.text[span.start : span.end]
    gap = " " if not text and span.start and not source.text[span.start - 1].isspace() else ""
    if source.language == "json":
        return gap + _as_json(source, span, new)
    if isinstance(new, (dict, list)):
        if new and isinstance(old, (dict, list)) and text[:1] not in "[{*&!":
            return _as_block(new, span.column)
        return gap + _flow(new)
    return gap + _scalar(new, text)


def _as_json(source: Source, span: Span, new: Json) -> str:
    whole = source.text
    plain = whole.isascii() and "\\u" in whole
    indent = _INDENT.search(whole)
    old = whole[span.start : span.end]
    if isinstance(new, (dict, list)) and indent is not None and ("\n" in old or old[:1] not in "[{"):
        line = whole[whole.rfind("\n", 0, span.start) + 1 : span.start]
        base = line[: len(line) - len(line.lstrip())]
        pretty = _dumped(new, indent=indent.group(1), ascii_only=plain)
        return pretty.replace("\n", "\n" + base)
    tight = '": ' not in whole and '":' in whole
    return _dumped(new, separators=(",", ":") if tight else None, ascii_only=plain)


def _dumped(
    value: Json, *, indent: str | None = None, separators: tuple[str, str] | None = None, ascii_only: bool = False
) -> str:
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only, allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _flow(value: Json) -> str:
    return _dumped(value)


def _scalar(value: Json, old: str) -> str:
    """Write a scalar in YAML with the quotes that it had, where it can bear them."""
    if not isinstance(value, str):
        return _flow(value)
    simple = value.isprintable() and not _UNSAFE.search(value)
    if old.startswith("'") and simple:
        return "'" + value.replace("'", "''") + "'"
    if old[:1] not in ("'", '"') and _PLAIN.fullmatch(value) and value not in _TOLD:
        return value
    return _flow(value)


def _as_block(value: Json, column: int) -> str:
    """Write a mapping or list in YAML's block style, its first line where the old one began."""
    lines = "\n".join(_block_lines(value))
    return lines.replace("\n", "\n" + " " * column)


def _block_lines(value: Json) -> Iterator[str]:
    pairs = value.items() if isinstance(value, dict) else ((None, part) for part in value)
    for key, part in pairs:
        head = "- " if key is None else f"{_scalar(key, '')}: "
        if not (isinstance(part, (dict, list)) and part):
            yield head + _scalar(part, "")
            continue
        below = list(_block_lines(part))
        if key is None:
            yield head + below[0]
            below = below[1:]
        else:
            yield head.rstrip()
        yield from (f"  {line}" for line in below)
