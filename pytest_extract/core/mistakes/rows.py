"""Mistakes in keys and rows, and values of other places: what only the whole output, or the document, shows."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pytest_extract.core.metrics.equality import fold, same
from pytest_extract.core.mistakes.numbers import read_amount
from pytest_extract.core.mistakes.output import ComparedOutput, ContainerPair, Steps, value_key
from pytest_extract.core.parse.output import parse_output
from pytest_extract.core.parse.responses import response_in
from pytest_extract.core.results import FieldResult, NamedMistake
from pytest_extract.core.values import CONTAINERS, MISSING, FieldPath, Json, canonical_json, path_text

_AS_TEXT: Final = "it stands as JSON in a text"
MOST_ROWS: Final = 5_000
"""Lists with more rows are not searched for mistakes of rows."""
_MOST_PLACES: Final = 3
"""Places of the gold with one value, such as a unit, above which it occurs elsewhere by chance."""


def _is_full(value: Json) -> bool:
    return value is not MISSING and value is not None and value not in ("", [], {})


def _is_absent(value: Json) -> bool:
    return value is MISSING or value is None


def _pattern(path: Steps) -> Steps:
    """Return a path with "[]" for each index: the place that all rows share."""
    return tuple(step if isinstance(step, str) else "[]" for step in path)


def _named(kind: str, paths: Iterable[FieldPath], text: str) -> Iterator[NamedMistake]:
    found = tuple(dict.fromkeys(paths))
    if found:
        yield NamedMistake(kind, found, text)


# --- keys


def wrapped(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find objects and values that stand under another key, in a list of one or as JSON in a text."""
    text = _around_all(output.gold, output.extracted)
    if text:
        yield from _named("wrapped", (result.path for result in output.failing), text)
        return
    paths: dict[tuple[Steps, str], list[FieldPath]] = defaultdict(list)
    for pair in output.containers:
        path, one, at, other = pair
        if isinstance(one, dict):
            text = _around_object(one, other)
            if text:
                paths[_pattern(path), text] += output.failing_around(path, at)
            members = [((*path, key), one[key], (*at, key), other[key]) for key in one if key in other]
        elif one and other and all(_alike(one[0], _json_inside(row)) for row in other):
            members = []
            paths[_pattern((*path, 0)), _AS_TEXT] += output.failing_around(path, at)
        else:
            by_position = len(one) == len(other) and not output.rows_of(pair)
            members = [((*path, i), one[i], (*at, i), other[i]) for i in range(len(one) if by_position else 0)]
        for place, value, there, found in members:
            text = _around_value(value, found)
            if text:
                paths[_pattern(place), text] += output.failing_around(place, there)
    for (_, text), places in paths.items():
        yield from _named("wrapped", places, text)


def _around_all(gold: Json, extracted: Json) -> str:
    """Say what stands around a whole output."""
    answer = response_in(extracted)
    if answer is not None and response_in(gold) is None:
        return f"it is a response as a client gives it; the answer in it is {answer}"
    inner = extracted[0] if isinstance(extracted, list) and len(extracted) == 1 else None
    if isinstance(gold, dict) and isinstance(inner, dict) and _shares_keys(gold, inner):
        return "all of it stands in a list of one"
    if isinstance(gold, list) and isinstance(extracted, dict):
        key = next((key for key, value in extracted.items() if _alike(gold, _json_inside(value))), None)
        if key is not None:
            return f"all of it stands as JSON in a text under the key `{key}`"
    return _around_value(gold, extracted)


def _json_inside(text: Json) -> Json:
    """Return the object or list that a text holds; None where it holds none, or is none."""
    if not isinstance(text, str) or not text.lstrip().startswith(("{", "[", "```")):
        return None
    value = parse_output(text).value
    return value if isinstance(value, CONTAINERS) else None


def _alike(gold: Json, found: Json) -> bool:
    """Whether two objects share keys, or two lists have such objects, or none, for rows."""
    if isinstance(gold, list) and isinstance(found, list):
        return not gold or not found or not isinstance(gold[0], CONTAINERS) or _alike(gold[0], found[0])
    return isinstance(gold, dict) and isinstance(found, dict) and _shares_keys(gold, found)


def _around_object(gold: dict[str, Json], extracted: dict[str, Json]) -> str:
    """Say under which keys an object stands, or which object around it is missing."""
    if _shares_keys(gold, extracted) or any(
        key in extracted and same(value, extracted[key]) for key, value in gold.items()
    ):
        return ""
    keys = _keys_around(gold, extracted, members=3)
    if keys:
        return f"all of it stands under the key `{'.'.join(keys)}`"
    keys = _keys_around(gold, extracted, members=3, in_texts=True)
    if keys:
        return f"all of it stands as JSON in a text under the key `{'.'.join(keys)}`"
    keys = _keys_around(extracted, gold, members=1)
    return f"the object `{'.'.join(keys)}` around it is missing" if keys else ""


def _keys_around(
    inner: dict[str, Json], outer: dict[str, Json], *, members: int, in_texts: bool = False
) -> tuple[str, ...]:
    """Return the keys, at most three, under which an object with few members holds one with the keys of `inner`.

    `in_texts`: the objects that texts hold count as well.
    """
    level: list[tuple[tuple[str, ...], dict[str, Json]]] = [((), outer)]
    for _ in range(3):
        values = [((*keys, key), value) for keys, each in level if len(each) <= members for key, value in each.items()]
        level = []
        for keys, value in values:
            inside = value[0] if isinstance(value, list) and len(value) == 1 else value
            inside = (_json_inside(inside) or inside) if in_texts else inside
            if isinstance(inside, dict) and keys[0] not in inner:
                if _shares_keys(inner, inside):
                    return keys
                level.append((keys, inside))
    return ()


def _around_value(gold: Json, extracted: Json) -> str:
    """Say how an object stands for one of its values, or the reverse, or a text for the JSON in it."""
    if isinstance(gold, CONTAINERS) and _alike(gold, _json_inside(extracted)):
        return _AS_TEXT
    for inner, outer, says in (
        (gold, extracted, "the value stands under the key `{}` of an object"),
        (extracted, gold, "the object around its `{}` is missing"),
    ):
        if isinstance(outer, dict) and not isinstance(inner, dict) and _is_full(inner):
            key = next((key for key, value in outer.items() if same(inner, value)), None)
            if key is not None:
                return says.format(key)
    return ""


def _shares_keys(gold: dict[str, Json], other: dict[str, Json]) -> bool:
    shared = gold.keys() & other.keys()
    return len(shared) * 2 >= len(gold) and len(shared) > (len(gold) > 1)


def renamed_key(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find keys that are written otherwise, or stand one level higher or deeper (`vendor_name` of `vendor.name`)."""
    paths: dict[tuple[Steps, str, str], list[FieldPath]] = defaultdict(list)
    for path, gold, at, extracted in output.containers:
        if not isinstance(gold, dict):
            continue
        missing = {key: value for key, value in gold.items() if key not in extracted and _is_full(value)}
        extra = {key: value for key, value in extracted.items() if key not in gold and _is_full(value)}
        one, other = _with_members(missing), _with_members(extra)
        if not one or not other or len(one) * len(other) > MOST_ROWS:
            continue
        for old, new in _new_names(one, other):
            key = (_pattern(path), ".".join(old), ".".join(new))
            paths[key] += [*output.failing_at((*path, *old)), *output.failing_at((*path, new[0]))]
            paths[key] += [
                result.path
                for result in output.failing
                if result.matched is not None and result.matched[: len(at) + len(new)] == (*at, *new)
            ]
    for (_, old_key, new_key), places in paths.items():
        what = "in another case," if old_key.lower() == new_key.lower() else "written"
        yield from _named("renamed_key", places, f"the key `{old_key}` is {what} `{new_key}`")


def _with_members(values: dict[str, Json]) -> dict[tuple[str, ...], Json]:
    """Return values by their keys, and after all of them the members of those that are objects."""
    members: dict[tuple[str, ...], Json] = {
        (key, inner): value
        for key, whole in values.items()
        if isinstance(whole, dict)
        for inner, value in whole.items()
        if _is_full(value)
    }
    return {**{(key,): value for key, value in values.items()}, **members}


def _new_names(
    missing: dict[tuple[str, ...], Json], extra: dict[tuple[str, ...], Json]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield keys with their new ones: the same letters, the same distinctive value, or the last two with one value."""
    left = {**extra}
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for key, value in missing.items():
        if key[:1] in found:
            continue
        candidates = [other for other in left if len(key) + len(other) < 4]  # not from one level below to another
        new = next((other for other in candidates if _letters(other) == _letters(key)), None)
        if new is None and (value_key(value) or isinstance(value, dict | list)):
            equal = [other for other in candidates if same(value, left[other])]
            new = equal[0] if len(equal) == 1 else None
        if new is not None:
            found[key] = new
            left = {other: each for other, each in left.items() if other[0] != new[0] or len(other) == len(new) > 1}
            left.pop(new, None)
    rest, others = [key for key in missing if len(key) == 1 and key not in found], [key for key in left if len(key) < 2]
    if len(rest) == len(others) == 1 and same(missing[rest[0]], left[others[0]]):
        found[rest[0]] = others[0]
    yield from found.items()


def _letters(key: tuple[str, ...]) -> str:
    return re.sub(r"[\W_]", "", "".join(key)).lower()


def swapped_fields(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find two fields of one object, each with the value of the other; of rows, the columns are named."""
    swaps: dict[tuple[Steps, str, str], list[FieldPath]] = defaultdict(list)
    rows: Counter[tuple[Steps, str, str]] = Counter()
    for path, gold, at, extracted in output.containers:
        if isinstance(gold, dict):
            for one, other in _swapped_keys(gold, extracted):
                key = (_pattern(path), one, other)
                swaps[key] += [*output.failing_at((*path, one)), *output.failing_at((*path, other))]
                rows[key] += 1
        elif max(len(gold), len(extracted)) <= MOST_ROWS:
            missing, extra = _unpaired(output, ContainerPair(path, gold, at, extracted))
            for i, j in _rows_with_one_swap(gold, extracted, missing, extra):
                key = ((*_pattern(path), "[]"), *_swapped_keys(gold[i], extracted[j])[0])
                swaps[key] += [*output.failing_at((*path, i)), *output.failing_extra(path, (*at, j))]
                rows[key] += 1
    for (pattern, one, other), paths in swaps.items():
        count = rows[pattern, one, other]
        text = f"`{one}` and `{other}` were swapped{f' in {count:,} rows' if count > 1 else ''}"
        yield from _named("swapped_fields", paths, text)


def _rows_with_one_swap(
    gold: Sequence[Json], extracted: Sequence[Json], missing: Sequence[int], extra: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield rows without a partner that are the same but for two fields that were swapped."""
    free = [*extra] if len(missing) * len(extra) <= MOST_ROWS else []
    for i in missing:
        for j in free:
            one, other = gold[i], extracted[j]
            if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
                differing = sum(not same(one[key], other[key]) for key in one)
                if differing == 2 and len(_swapped_keys(one, other)) == 1:
                    yield i, j
                    free.remove(j)
                    break


def _swapped_keys(gold: dict[str, Json], extracted: dict[str, Json]) -> list[tuple[str, str]]:
    differing = [key for key in gold if key in extracted and not same(gold[key], extracted[key])][:50]
    return [
        (one, other)
        for at, one in enumerate(differing)
        for other in differing[at + 1 :]
        if same(gold[one], extracted[other])
        and same(gold[other], extracted[one])
        and (_is_full(gold[one]) or _is_full(gold[other]))
        and not isinstance(gold[one], bool)
    ]


# --- rows


def _lists(output: ComparedOutput) -> Iterator[tuple[ContainerPair, list[int], list[int]]]:
    """Yield the lists, each with the gold rows without an extracted one, and the extracted rows without a gold one."""
    for pair in output.containers:
        if isinstance(pair.gold, list) and max(len(pair.gold), len(pair.extracted)) <= MOST_ROWS:
            yield pair, *_unpaired(output, pair)


def _unpaired(output: ComparedOutput, pair: ContainerPair) -> tuple[list[int], list[int]]:
    pairs = output.rows_of(pair)
    paired, taken = {i for i, _ in pairs}, {j for _, j in pairs}
    missing = [i for i in range(len(pair.gold)) if i not in paired]
    return missing, [j for j in range(len(pair.extracted)) if j not in taken]


def _moved_rows(output: ComparedOutput, pair: ContainerPair) -> Iterator[NamedMistake]:
    """Find up to three rows missing or invented in a list compared by position, so that the rows after them fail."""
    path, gold, _, extracted = pair
    count = abs(len(gold) - len(extracted))
    array = output.pairings.get(path)
    if not 0 < count <= 3 or (array is not None and any(i != j for i, j in array.pairs)):
        return
    is_missing = len(gold) > len(extracted)
    long, short = ([canonical_json(row) for row in side] for side in sorted((gold, extracted), key=len, reverse=True))
    at = next((i for i, (a, b) in enumerate(zip(long, short, strict=False)) if a != b), len(short))
    if at < len(short) and long[at + count :] == short[at:]:
        where = f"row {at} is" if count == 1 else f"rows {at} to {at + count - 1} are"
        what = "missing; the rows after stand earlier" if is_missing else "invented; the rows after stand later"
        kind = "missing_row" if is_missing else "invented_row"
        yield from _named(kind, output.failing_at(path), f"{where} {what}")


def missing_row(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find rows that are missing, and lists that end too early."""
    for pair, missing, extra in _lists(output):
        path, gold, _, extracted = pair
        if len(gold) > len(extracted):
            yield from _moved_rows(output, pair)
        failing = [each for i in missing for each in output.failing_at((*path, i))]
        if len(missing) > 1 and not extra and extracted and missing[0] == len(gold) - len(missing):
            text = f"the list ends after {len(extracted):,} of {len(gold):,} rows"
            yield from _named("missing_row", failing, text)
        for i in missing:
            yield from _named("missing_row", output.failing_at((*path, i)), f"row {i} is missing")


_TOTAL: Final = re.compile(
    r"(?:sub|grand)?-?\s?total\b|sum(?:me|a)?\b|zwischensumme|gesamt|totale?\b|合计|总计", re.IGNORECASE
)


def invented_row(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find rows that are not in the gold, such as the header or the total of a table."""
    for pair, _, extra in _lists(output):
        path, gold, at, extracted = pair
        if len(extracted) > len(gold):
            yield from _moved_rows(output, pair)
        for j in extra:
            failing = output.failing_extra(path, (*at, j))
            row, texts = extracted[j], _texts_in(extracted[j])
            if isinstance(row, dict) and not any(_is_full(value) for value in row.values()):
                own = [each for each in output.failing_at(path) if each == path]  # of nulls, the list alone is wrong
                yield from _named("invented_row", failing or own, f"row {j} is empty")
            elif isinstance(row, dict) and len(texts) == len(row) > 1 and _is_header(row, texts):
                yield from _named("invented_row", failing, f"row {j} is the header of the table")
            elif any(_TOTAL.match(text) for text in texts):
                yield from _named("invented_row", failing, f"row {j} is a total of the table")
            else:
                yield from _named("invented_row", failing, f"row {j} is not in the gold")


def _is_header(row: dict[str, Json], texts: Sequence[str]) -> bool:
    """Whether at least half of the texts of a row are names of its keys."""
    names = {_letters((key,)) for key in row}
    return sum(_letters((text,)) in names for text in texts) * 2 >= len(texts)


def duplicated_row(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find rows without a partner that are copies of another row."""
    for (path, _, at, extracted), _, extra in _lists(output):
        seen: dict[str, list[int]] = defaultdict(list)
        for j, row in enumerate(extracted if extra else ()):
            seen[canonical_json(row)].append(j)
        for j in extra:
            twins = [other for other in seen[canonical_json(extracted[j])] if other != j]
            if twins and _is_full(extracted[j]):
                text = f"row {j} is a copy of row {twins[0]}"
                yield from _named("duplicated_row", output.failing_extra(path, (*at, j)), text)


def merged_rows(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find rows that were merged into one, and rows that were split into several."""
    for pair, missing, extra in _lists(output):
        path, gold, at, extracted = pair
        pairs = output.rows_of(pair)
        of_gold, of_extracted = dict(pairs), {j: i for i, j in pairs}
        if missing and len(missing) * len(extracted) <= MOST_ROWS:
            theirs = [_texts_in(row) for row in gold]
            for j, row in enumerate(extracted):
                parts = _rows_inside(
                    _texts_in(row), {i: theirs[i] for i in {*missing, of_extracted.get(j, missing[0])}}
                )
                failing = [each for i in parts for each in output.failing_at((*path, i))]
                failing += output.failing_extra(path, (*at, j)) if parts else []
                yield from _named("merged_rows", failing, f"rows {_listed(parts)} were merged into one")
        if extra and len(extra) * len(gold) <= MOST_ROWS:
            ours = [_texts_in(row) for row in extracted]
            for i, row in enumerate(gold):
                parts = _rows_inside(_texts_in(row), {j: ours[j] for j in {*extra, of_gold.get(i, extra[0])}})
                failing = output.failing_at((*path, i)) if parts else []
                failing += [each for j in parts for each in output.failing_extra(path, (*at, j))]
                yield from _named("merged_rows", failing, f"row {i} was split into rows {_listed(parts)}")


def _texts_in(row: Json) -> list[str]:
    values = row.values() if isinstance(row, dict) else [row]
    return [text for value in values if isinstance(value, str) and len(text := fold(value)) > 1]


def _rows_inside(texts: Sequence[str], rows: dict[int, list[str]]) -> list[int]:
    """Return the rows, two or more, of whose texts one text is made, and of little else."""
    for text in texts:
        parts = [
            (len(part), index, part) for index, row in rows.items() for part in row if part != text and part in text
        ]
        rest, found = text, []
        for _, index, part in sorted(parts, reverse=True):
            if index not in found and part in rest:
                rest = rest.replace(part, " ", 1)
                found.append(index)
        if len(found) > 1 and len(re.sub(r"\W", "", rest)) * 5 <= len(re.sub(r"\W", "", text)):
            return sorted(found)
    return []


def _listed(indices: Sequence[int]) -> str:
    return f"{', '.join(map(str, indices[:-1]))} and {indices[-1]}" if indices else ""


# --- values of other places


def other_value(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find values that stand at another place of the gold, or of the document, where the gold's value stands too."""
    for result in output.failing:
        key = value_key(result.extracted)
        if not key or _is_part(result.gold, result.extracted):
            continue
        places = [place for place in output.gold_places.get(key, ()) if place != result.path]
        if 0 < len(places) <= _MOST_PLACES:
            yield NamedMistake("other_value", (result.path,), _other_place(result, places))
        elif not _is_absent(result.gold) and _stands(output, result.extracted) and _stands(output, result.gold):
            yield NamedMistake("other_value", (result.path,), "another value of the document")


def _other_place(result: FieldResult, places: Sequence[FieldPath]) -> str:
    """Name the place of the gold whose value was extracted: the row above or below, or the nearest field."""
    own = result.path
    for place in places:
        differing = [at for at, (a, b) in enumerate(zip(own, place, strict=False)) if a != b]
        if len(place) == len(own) and len(differing) == 1:
            one, other = own[differing[0]], place[differing[0]]
            if isinstance(one, int) and isinstance(other, int) and abs(other - one) == 1:
                return f"the value of the row {'above' if other < one else 'below'}"

    def shared(place: Steps) -> int:
        return next((at for at, (a, b) in enumerate(zip(place, own, strict=False)) if a != b), len(own))

    return f"the value of `{path_text(max(places, key=lambda each: (shared(each), -len(each))))}`"


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
    return None if output.in_document is None or isinstance(value, dict | list) else output.in_document(value)


def not_in_document(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find values that are not found in the document, where the gold's value is, or where the gold has none."""
    for result in output.failing:
        if _is_absent(result.extracted) or _stands(output, result.extracted) is not False:
            continue
        if _is_absent(result.gold):
            yield NamedMistake("not_in_document", (result.path,), "not found in the document; the gold has no value")
        elif _stands(output, result.gold):
            yield NamedMistake("not_in_document", (result.path,), "not found in the document; the gold's value is")


def missing(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find values that were not extracted."""
    for result in output.failing:
        if _is_absent(result.extracted) and not _is_absent(result.gold):
            where = "; the gold's value is not found in the document" if _stands(output, result.gold) is False else ""
            yield NamedMistake("missing", (result.path,), f"nothing was extracted{where}")


def invented(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Find values that were extracted where the gold has none."""
    for result in output.failing:
        if _is_absent(result.gold) and not _is_absent(result.extracted):
            where = "; it is found in the document" if _stands(output, result.extracted) else ""
            yield NamedMistake("invented", (result.path,), f"the gold has no value{where}")
