"""The table of the kinds of mistakes, and those that only the whole output shows: in keys, rows, and other values."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import chain, combinations
from operator import ne
from typing import Final

from pytest_extract.core.mistakes import (
    ComparedOutput,
    ContainerPair,
    FindMistakes,
    Found,
    MistakeKind,
    Steps,
    output_kind,
    value_key,
    values,
)
from pytest_extract.core.mistakes.values import is_power_of_ten, read_amount
from pytest_extract.core.parse import IN_RESPONSE, is_response, parse_output
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.values import CONTAINERS, MISSING, FieldPath, Json, canonical_json, fold, path_text, same
from pytest_extract.core.words import listed

MOST_ROWS: Final = 5_000
"""Lists with more rows are not searched for mistakes of rows."""
_MOST_PLACES: Final = 3
"""Places of the gold with one value, such as a unit, above which it occurs elsewhere by chance."""
_BOLT: Final = {"name": "Bolt"}
_NUT: Final = {"name": "Nut"}


def _is_full(value: Json) -> bool:
    return value is not MISSING and value is not None and value not in ("", [], {})


def _is_absent(value: Json) -> bool:
    return value is MISSING or value is None


def _grouped(rule: Callable[[ComparedOutput], Iterator[tuple[Steps, str, Iterable[FieldPath]]]]) -> FindMistakes:
    """Make a rule of one that tells a place with each mistake: what went wrong there in several rows is one."""

    @wraps(rule)
    def find(output: ComparedOutput) -> Iterator[Found]:
        groups: dict[tuple[Steps, str], list[Iterable[FieldPath]]] = defaultdict(list)
        for place, text, paths in rule(output):
            groups[tuple(step if isinstance(step, str) else "[]" for step in place), text].append(paths)
        for (_, text), each in groups.items():
            yield chain.from_iterable(each), f"{text} in {len(each):,} rows" if len(each) > 1 else text

    return find


# --- keys


@output_kind(
    {"vendor": "ACME", "total": 12.5},
    {"result": {"vendor": "ACME", "total": 12.5}},
    "all of it stands under the key `result`",
)
@_grouped
def wrapped(output: ComparedOutput) -> Iterator[tuple[Steps, str, Iterable[FieldPath]]]:
    """Value under another key, in a list or as JSON in a text."""
    text = _wrapping(output.gold, output.extracted)
    if is_response(output.extracted) and not is_response(output.gold):
        text = f"it is a response as a client gives it; return {IN_RESPONSE}"
    if text:
        yield (), text, (result.path for result in output.failing)
        return
    for each in chain.from_iterable((pair, *pair.members) for pair in output.containers):
        if text := _wrapping(each.gold, each.extracted):
            yield each.path, text, [*output.failing_at[each.path], *output.failing_from[each.at]]


def _wrapping(gold: Json, extracted: Json) -> str:
    """Say under which keys or in which text a value stands, up to two steps inside; "" where it stands in none."""
    if _alike(gold, extracted):
        return ""
    once = [step for step in _inside(extracted) if not (isinstance(gold, dict) and step[0] in gold)]
    twice = [(key, f"{where} {around}", value) for _, around, outer in once for key, where, value in _inside(outer)]
    for key, where, value in (*once, *twice):
        is_value = key and not isinstance(gold, CONTAINERS) and _is_full(gold) and same(gold, value)
        if is_value or _alike(gold, value):
            return f"all of it stands {where}"
    return ""


def _alike(gold: Json, found: Json) -> bool:
    """Whether an object has most of the keys of another, or two lists have such objects, or none, for rows."""
    if isinstance(gold, list) and isinstance(found, list):
        return not gold or not found or not isinstance(gold[0], CONTAINERS) or _alike(gold[0], found[0])
    return isinstance(gold, dict) and isinstance(found, dict) and len(gold.keys() & found.keys()) * 2 > len(gold)


def _inside(value: Json) -> Iterator[tuple[str | None, str, Json]]:
    """Yield the members of an object with one or two, the item of a list of one, or the JSON in a text.

    Each with its key in an object, and where it stands.
    """
    if isinstance(value, str) and value.lstrip().startswith(("{", "[", "```")):
        inner = parse_output(value).value
        if isinstance(inner, CONTAINERS):
            yield None, "as JSON in a text", inner
    elif isinstance(value, list) and len(value) == 1:
        yield None, "in a list of one", value[0]
    elif isinstance(value, dict) and len(value) <= 2:
        yield from ((key, f"under the key `{key}`", member) for key, member in value.items())


@output_kind(
    {"vendor": "ACME", "total": 12.5},
    {"supplier": "ACME", "total": 12.5},
    "the key `vendor` is written `supplier`",
)
@_grouped
def renamed_key(output: ComparedOutput) -> Iterator[tuple[Steps, str, Iterable[FieldPath]]]:
    """Key written otherwise."""
    for path, gold, at, extracted, _ in output.containers:
        if not isinstance(gold, dict):
            continue
        missing = [key for key in gold if key not in extracted and _is_full(gold[key])]
        extra = [key for key in extracted if key not in gold and _is_full(extracted[key])]
        for old in missing if len(missing) * len(extra) <= MOST_ROWS else ():
            found = [key for key in extra if _letters(key) == _letters(old)]
            if not found and (value_key(gold[old]) or isinstance(gold[old], CONTAINERS)):
                equal = [key for key in extra if same(gold[old], extracted[key])]
                found = equal if len(equal) == 1 else []  # several have the value by chance
            for new in found[:1]:
                extra.remove(new)
                failing = output.failing_at[*path, old], output.failing_at[*path, new], output.failing_from[*at, new]
                yield path, f"the key `{old}` is written `{new}`", chain.from_iterable(failing)


def _letters(key: str) -> str:
    return re.sub(r"[\W_]", "", key).lower()


@output_kind(
    {"ship_to": "Berlin", "bill_to": "Paris"},
    {"ship_to": "Paris", "bill_to": "Berlin"},
    "`ship_to` and `bill_to` were swapped",
)
@_grouped
def swapped_fields(output: ComparedOutput) -> Iterator[tuple[Steps, str, Iterable[FieldPath]]]:
    """Two fields, or two columns of a table, with the value of each other."""
    for path, gold, _, extracted, _ in output.containers:
        keys = [*gold] if isinstance(gold, dict) else []
        differing = [key for key in keys if key in extracted and not same(gold[key], extracted[key])]
        for one, other in combinations(differing[:50], 2):
            crosswise = same(gold[one], extracted[other]) and same(gold[other], extracted[one])
            if crosswise and not isinstance(gold[one], bool):
                paths = chain(output.failing_at[*path, one], output.failing_at[*path, other])
                yield path, f"`{one}` and `{other}` were swapped", paths


# --- rows


def _lists(output: ComparedOutput) -> Iterator[ContainerPair]:
    for pair in output.containers:
        if isinstance(pair.gold, list) and max(len(pair.gold), len(pair.extracted)) <= MOST_ROWS:
            yield pair


def _moved_rows(output: ComparedOutput, pair: ContainerPair) -> Iterator[Found]:
    """Find up to three rows missing or invented in a list compared by position, so that the rows after them fail."""
    count = abs(len(pair.gold) - len(pair.extracted))
    if not 0 < count <= 3 or any(i != j for i, j in pair.rows):
        return
    short, long = ([canonical_json(row) for row in side] for side in sorted((pair.gold, pair.extracted), key=len))
    at = next((i for i, (a, b) in enumerate(zip(long, short, strict=False)) if a != b), len(short))
    if at < len(short) and long[at + count :] == short[at:]:
        where = f"row {at} is" if count == 1 else f"rows {at} to {at + count - 1} are"
        lost = len(pair.gold) > len(pair.extracted)
        what = "missing; the rows after stand earlier" if lost else "invented; the rows after stand later"
        yield output.failing_at[pair.path], f"{where} {what}"


@output_kind({"items": [_BOLT, _NUT]}, {"items": [_BOLT]}, "row 1 is missing")
def missing_row(output: ComparedOutput) -> Iterator[Found]:
    """Row missing, or the list ends too early."""
    for pair in _lists(output):
        missing, extra = pair.loose
        first, size = len(pair.extracted), len(pair.gold)
        if size > first:
            yield from _moved_rows(output, pair)
        if len(missing) > 1 and first and not extra and missing[0] == first:
            failing = (each for i in missing for each in output.failing_at[*pair.path, i])
            yield failing, f"the list ends after {first:,} of {size:,} rows"
        for i in missing:
            yield output.failing_at[*pair.path, i], f"row {i} is missing"


_TOTAL: Final = re.compile(
    r"(?:sub|grand)?-?\s?total\b|sum(?:me|a)?\b|zwischensumme|gesamt|totale?\b|合计|总计", re.IGNORECASE
)


@output_kind({"items": [_BOLT, _NUT]}, {"items": [_BOLT, _NUT, {"name": "Total"}]}, "row 2 is a total of the table")
def invented_row(output: ComparedOutput) -> Iterator[Found]:
    """Row that the gold does not have, such as the total of a table."""
    for pair in _lists(output):
        path, gold, at, extracted, _ = pair
        if len(extracted) > len(gold):
            yield from _moved_rows(output, pair)
        for j in pair.loose[1]:
            is_total = any(map(_TOTAL.match, _texts_in(extracted[j])))
            own = [each for each in output.failing_at[path] if each == path]  # of nulls, the list alone is wrong
            what = "a total of the table" if is_total else "not in the gold"
            yield output.failing_from[*at, j] or own, f"row {j} is {what}"


@output_kind({"items": [_BOLT, _NUT]}, {"items": [_BOLT, _NUT, _BOLT]}, "row 2 is a copy of row 0")
def duplicated_row(output: ComparedOutput) -> Iterator[Found]:
    """Row that stands twice."""
    for pair in _lists(output):
        at, extracted, extra = pair.at, pair.extracted, pair.loose[1]
        seen: dict[str, list[int]] = defaultdict(list)
        for j, row in enumerate(extracted if extra else ()):
            seen[canonical_json(row)].append(j)
        for j in extra:
            twins = [other for other in seen[canonical_json(extracted[j])] if other != j]
            if twins and _is_full(extracted[j]):
                yield output.failing_from[*at, j], f"row {j} is a copy of row {twins[0]}"


@output_kind({"items": [_BOLT, _NUT]}, {"items": [{"name": "Bolt Nut"}]}, "rows 0, 1 were merged into one")
def merged_rows(output: ComparedOutput) -> Iterator[Found]:
    """Rows merged into one, or one split into several."""
    for pair in _lists(output):
        path, gold, at, extracted, pairs = pair
        missing, extra = pair.loose
        for i, parts in _made_of(gold, extracted, extra, dict(pairs)):
            rows = [each for j in parts for each in output.failing_from[*at, j]]
            yield [*output.failing_at[*path, i], *rows], f"row {i} was split into rows {listed([*map(str, parts)])}"
        for j, parts in _made_of(extracted, gold, missing, {j: i for i, j in pairs}):
            rows = [each for i in parts for each in output.failing_at[*path, i]]
            yield [*rows, *output.failing_from[*at, j]], f"rows {listed([*map(str, parts)])} were merged into one"


def _made_of(
    rows: Sequence[Json], others: Sequence[Json], loose: Sequence[int], partners: dict[int, int]
) -> Iterator[tuple[int, list[int]]]:
    """Yield rows with a text that is made of two or more other rows: those without a partner, and its own partner."""
    if not loose or len(loose) * len(rows) > MOST_ROWS:
        return
    for index, row in enumerate(rows):
        near = {each: _texts_in(others[each]) for each in {*loose, partners.get(index, loose[0])}}
        for text in _texts_in(row):
            inside = {
                each: [len(part) for part in parts if part != text and part in text] for each, parts in near.items()
            }
            sizes = {each: max(found) for each, found in inside.items() if found}
            if len(sizes) > 1 and sum(sizes.values()) * 5 >= len(re.sub(r"\W", "", text)) * 4:
                yield index, sorted(sizes)
                break


def _texts_in(row: Json) -> list[str]:
    values = row.values() if isinstance(row, dict) else [row]
    return [text for value in values if isinstance(value, str) and len(text := fold(value)) > 1]


# --- values of other places


@output_kind({"total": 1190, "net": 1000}, {"total": 1000, "net": 1000}, "the value of `net`")
def other_value(output: ComparedOutput) -> Iterator[Found]:
    """Value of another field, of another row, or from another place of the document."""
    for result in output.failing:
        key = value_key(result.extracted)
        if not key or _is_part(result.gold, result.extracted):
            continue
        places = [place for place in output.gold_places.get(key, ()) if place != result.path]
        if 0 < len(places) <= _MOST_PLACES:
            nearest = min(places, key=lambda place: (sum(map(ne, result.path, place)), len(place)))
            yield (result.path,), f"the value of `{path_text(nearest)}`"
        elif _is_absent(result.gold) or is_power_of_ten(result.gold, result.extracted):
            continue  # a table in thousands has both
        elif _stands(output, result.extracted) and _stands(output, result.gold):
            yield (result.path,), "another value of the document"


def _is_part(gold: Json, extracted: Json) -> bool:
    """Whether one value is a part of the other, so that both may stand at one place of the document."""
    amounts = read_amount(gold), read_amount(extracted)
    if amounts[0] is not None and amounts[1] is not None:
        return abs(amounts[0].value) == abs(amounts[1].value)
    if not isinstance(gold, str) or not isinstance(extracted, str):
        return False
    one, other = (re.sub(r"[\W_]|\b0+", "", text).lower() for text in (gold, extracted))
    return one in other or other in one


def _stands(output: ComparedOutput, value: Json) -> bool | None:
    return None if output.in_document is None or isinstance(value, CONTAINERS) else output.in_document(value)


@output_kind(
    {"name": "ACME", "total": 5},
    {"name": "Globex Corporation", "total": 5},
    "not found in the document; the gold's value is",
    "ACME, total 5",
)
def not_in_document(output: ComparedOutput) -> Iterator[Found]:
    """Value that is not found in the document."""
    for result in output.failing:
        if _is_absent(result.extracted) or _stands(output, result.extracted) is not False:
            continue
        if _is_absent(result.gold):
            yield (result.path,), "not found in the document; the gold has no value"
        elif _stands(output, result.gold):
            yield (result.path,), "not found in the document; the gold's value is"


@output_kind({"vendor": "ACME", "total": 5}, {"total": 5}, "nothing was extracted")
def missing(output: ComparedOutput) -> Iterator[Found]:
    """Nothing extracted where the gold has a value."""
    for result in output.failing:
        if _is_absent(result.extracted) and not _is_absent(result.gold):
            where = "; the gold's value is not found in the document" if _stands(output, result.gold) is False else ""
            yield (result.path,), f"nothing was extracted{where}"


@output_kind({"vendor": None, "total": 5}, {"vendor": "ACME", "total": 5}, "the gold has no value")
def invented(output: ComparedOutput) -> Iterator[Found]:
    """Value extracted where the gold has none."""
    for result in output.failing:
        if _is_absent(result.gold) and not _is_absent(result.extracted):
            where = "; it is found in the document" if _stands(output, result.extracted) else ""
            yield (result.path,), f"the gold has no value{where}"


# --- the table

_KINDS: Final = (
    # Several fields at once: what they have in common says more than each.
    wrapped,
    renamed_key,
    swapped_fields,
    merged_rows,
    # The same value in another form.
    values.placeholder,
    values.wrong_type,
    values.white_space,
    values.case,
    values.time_or_zone,
    values.date_format,
    values.day_and_month,
    values.date_part,
    values.decimal_separator,
    values.markup,
    values.marks,
    # Rows of one side that belong to none of the other.
    duplicated_row,
    missing_row,
    invented_row,
    # Another value: the gold and the document are asked before the characters, which are alike by chance.
    other_value,
    values.percent_or_fraction,
    values.sign,
    values.power_of_ten,
    values.rounded,
    values.wrong_digits,
    values.word_order,
    values.truncated,
    values.affix,
    not_in_document,
    missing,
    invented,
)
MISTAKE_KINDS: Final[Mapping[str, MistakeKind]] = {kind.name: kind for kind in _KINDS}
"""Name -> kind. A failing field gets the name of the first kind that explains it."""


def name_mistakes(output: ComparedOutput) -> tuple[NamedMistake, ...]:
    """Name what went wrong at the failing results, in the order of the table; each result has one name at most.

    Without `output.in_document`, the kinds that ask the document find nothing. Of more than `MOST_NAMED` failing
    results, the first are named.
    """
    named: set[FieldPath] = set()
    found: list[NamedMistake] = []
    for kind in MISTAKE_KINDS.values():
        unnamed = [result for result in output.failing if result.path not in named]
        for paths, text in kind.find(output, unnamed) if unnamed else ():
            new = tuple(dict.fromkeys(path for path in paths if path not in named))
            if new:
                found.append(NamedMistake(kind.name, new, text))
                named.update(new)
    return tuple(found)
