"""Mistakes that two values do not show: keys, rows, columns, and values of another field."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Final, TypeAlias

from pytest_extract.core.metrics.equality import fold, same
from pytest_extract.core.mistakes.base import MakeMistake, MistakeExample, MistakeKind
from pytest_extract.core.mistakes.output import MOST_PAIRS, ComparedOutput, ContainerPair, Steps, value_key
from pytest_extract.core.mistakes.scalars import are_one_day, read_amount, reads_as_date
from pytest_extract.core.parse.output import parse_output
from pytest_extract.core.parse.responses import response_in
from pytest_extract.core.results import NamedMistake
from pytest_extract.core.values import CONTAINERS, MISSING, FieldPath, Json, Missing, canonical_json, copied, path_text

_AS_TEXT: Final = "it stands as JSON in a text"
MOST_ROWS: Final = 5_000
"""Lists with more rows are not searched for mistakes of rows and columns."""


def _plural(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _is_full(value: Json | Missing) -> bool:
    return value is not MISSING and value is not None and value not in ("", [], {})


def _pattern(path: Steps) -> Steps:
    """Return a path with "[]" for each index: the place that all rows share."""
    return tuple(step if isinstance(step, str) else "[]" for step in path)


def _named(kind: str, paths: Iterable[FieldPath], text: str) -> Iterator[NamedMistake]:
    found = tuple(dict.fromkeys(paths))
    if found:
        yield NamedMistake(kind, found, text)


# --- keys


def _wrapped(output: ComparedOutput) -> Iterator[NamedMistake]:
    gold, extracted = output.gold, output.extracted
    text = _around_all(gold, extracted)
    if text:
        yield from _named("wrapped", (result.path for result in output.failing), text)
        return
    paths: dict[tuple[Steps, str], list[FieldPath]] = defaultdict(list)
    for path, one, at, other in output.containers:
        if isinstance(one, dict):
            values = [((*path, key), one[key], (*at, key), other[key]) for key in one if key in other]
            text = _around_object(one, other)
            if text:
                paths[_pattern(path), text] += output.failing_around(path, at)
        elif one and other and all(_alike(one[0], _json_inside(row)) for row in other):
            values = []
            paths[_pattern((*path, 0)), _AS_TEXT] += output.failing_around(path, at)
        else:
            rows = (
                range(len(one))
                if len(one) == len(other) and not output.rows_of(ContainerPair(path, one, at, other))
                else ()
            )
            values = [((*path, i), one[i], (*at, i), other[i]) for i in rows]
        for place, value, there, found in values:
            text = _around_value(value, found)
            if text:
                paths[_pattern(place), text] += output.failing_around(place, there)
    for (_, text), found in paths.items():
        yield from _named("wrapped", found, text)


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


def _renamed_key(output: ComparedOutput) -> Iterator[NamedMistake]:
    paths: dict[tuple[Steps, str, str], list[FieldPath]] = defaultdict(list)
    for path, gold, at, extracted in output.containers:
        if not isinstance(gold, dict):
            continue
        missing = [key for key, value in gold.items() if key not in extracted and _is_full(value)]
        extra = [key for key in extracted if key not in gold and _is_full(extracted[key])]
        if not missing or not extra or len(missing) * len(extra) > MOST_ROWS:
            continue
        place = _pattern(path)
        for key, other in _new_names({key: gold[key] for key in missing}, {key: extracted[key] for key in extra}):
            paths[place, key, other] += [*output.failing_at((*path, key)), *output.failing_at((*path, other))]
            paths[place, key, other] += [
                result.path
                for result in output.failing
                if result.matched is not None and result.matched[: len(at) + 1] == (*at, other)
            ]
        for deep, flat in _flattened(gold, extracted, missing, extra):
            paths[place, ".".join(deep), ".".join(flat)] += [
                *output.failing_at((*path, *deep)),
                *output.failing_at((*path, flat[0])),  # a new object is one result
            ]
    for (_, key, other), found in paths.items():
        what = "in another case," if key.lower() == other.lower() else "written"
        yield from _named("renamed_key", found, f"the key `{key}` is {what} `{other}`")


def _flattened(
    gold: dict[str, Json], extracted: dict[str, Json], missing: Sequence[str], extra: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the keys of values that stand one level higher or deeper than in gold: `vendor_name` of `vendor.name`."""
    one, other = ({key: side[key] for key in keys} for side, keys in ((gold, missing), (extracted, extra)))
    members = sum(len(value) for side in (one, other) for value in side.values() if isinstance(value, dict))
    if members * max(len(one), len(other)) > MOST_ROWS:
        return
    for outer, members in one.items():
        for key, value in members.items() if isinstance(members, dict) else ():
            name = _new_name(f"{outer}.{key}", value, other) if _is_full(value) else None
            if name is not None:
                yield (outer, key), (name,)
    for outer, members in other.items():
        for key, value in members.items() if isinstance(members, dict) else ():
            name = _new_name(f"{outer}.{key}", value, one) if _is_full(value) else None
            if name is not None:
                yield (name,), (outer, key)


def _new_names(missing: dict[str, Json], extra: dict[str, Json]) -> list[tuple[str, str]]:
    """Return missing keys with their new names: if one of each is left over with the same value, those as well."""
    names, left, extra = [], [], {**extra}
    for key, value in missing.items():
        other = _new_name(key, value, extra)
        if other is None:
            left.append(key)
        else:
            names.append((key, other))
            del extra[other]
    if len(left) == len(extra) == 1:
        ((other, value),) = extra.items()
        names += [(key, other) for key in left if same(missing[key], value)]
    return names


def _new_name(key: str, value: Json, extra: dict[str, Json]) -> str | None:
    """Return the key under which a value stands: one with the same letters, or one with the same distinctive value."""
    letters = re.sub(r"[\W_]", "", key).lower()
    for other in extra:
        if re.sub(r"[\W_]", "", other).lower() == letters:
            return other
    equal = [other for other, found in extra.items() if same(value, found)]
    distinctive = bool(value_key(value)) or isinstance(value, dict | list)
    return equal[0] if len(equal) == 1 and distinctive else None


def _swapped_fields(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Two fields of one object, each with the value of the other; of rows, the columns are named."""
    swaps: dict[tuple[Steps, str, str], list[FieldPath]] = defaultdict(list)
    rows: Counter[tuple[Steps, str, str]] = Counter()
    for path, gold, _, extracted in output.containers:
        if not isinstance(gold, dict):
            continue
        for one, other in _swapped_keys(gold, extracted):
            key = (_pattern(path), one, other)
            swaps[key] += [*output.failing_at((*path, one)), *output.failing_at((*path, other))]
            rows[key] += 1
    for path, gold, at, extracted in _lists(output):
        missing, extra = _unpaired(output, path, gold, extracted)
        for i in missing if len(missing) * len(extra) <= MOST_PAIRS else ():
            for j in extra:
                if (
                    isinstance(gold[i], dict)
                    and isinstance(extracted[j], dict)
                    and gold[i].keys() == extracted[j].keys()
                ):
                    found = _swapped_keys(gold[i], extracted[j])
                    differing = sum(not same(gold[i][key], extracted[j][key]) for key in gold[i])
                    if len(found) == 1 and differing == 2:
                        swaps[(*_pattern(path), "[]"), *found[0]] += [
                            *output.failing_at((*path, i)),
                            *output.failing_extra(path, (*at, j)),
                        ]
                        rows[(*_pattern(path), "[]"), *found[0]] += 1
                        extra.remove(j)
                        break
    for key, paths in swaps.items():
        place, one, other = key
        in_rows = "[]" in place
        what = (
            f"the columns `{one}` and `{other}` were swapped in {_plural(rows[key], 'row')}"
            if in_rows
            else f"`{one}` and `{other}` were swapped"
        )
        yield from _named("swapped_columns" if in_rows and rows[key] > 1 else "swapped_fields", paths, what)


def _swapped_keys(gold: dict[str, Json], extracted: dict[str, Json]) -> list[tuple[str, str]]:
    differing = [key for key in gold if key in extracted and not same(gold[key], extracted[key])]
    return [
        (one, other)
        for at, one in enumerate(differing[:50])
        for other in differing[at + 1 : 50]
        if same(gold[one], extracted[other])
        and same(gold[other], extracted[one])
        and (_is_full(gold[one]) or _is_full(gold[other]))
        and not isinstance(gold[one], bool)
    ]


# --- rows and columns


def _lists(output: ComparedOutput) -> Iterator[ContainerPair]:
    return (
        pair
        for pair in output.containers
        if isinstance(pair.gold, list) and max(len(pair.gold), len(pair.extracted)) <= MOST_ROWS
    )


def _unpaired(
    output: ComparedOutput, path: Steps, gold: Sequence[Json], extracted: Sequence[Json]
) -> tuple[list[int], list[int]]:
    """Return the gold rows without an extracted one, and the extracted rows without a gold one."""
    pairs = output.rows_of(ContainerPair(path, gold, path, extracted))
    paired, taken = {i for i, _ in pairs}, {j for _, j in pairs}
    return [i for i in range(len(gold)) if i not in paired], [j for j in range(len(extracted)) if j not in taken]


def _shifted_column(output: ComparedOutput) -> Iterator[NamedMistake]:
    for pair in _lists(output):
        path, gold, _, extracted = pair
        rows = [(i, j) for i, j in output.rows_of(pair) if isinstance(gold[i], dict) and isinstance(extracted[j], dict)]
        keys = dict.fromkeys(key for i, _ in rows for key in gold[i])
        for key in [*keys][:200] if len(rows) > 2 else ():
            values = {i: (gold[i].get(key), extracted[j].get(key)) for i, j in rows}
            wrong = [
                i
                for i, (right, found) in values.items()
                if not same(right, found) and not isinstance(right, dict | list)
            ]
            for step, way in ((-1, "down"), (1, "up")):
                moved = [
                    i
                    for i in wrong
                    if 0 <= i + step < len(gold)
                    and isinstance(gold[i + step], dict)
                    and same(gold[i + step].get(key), values[i][1])
                    and values[i][1] is not None
                ]
                if len(moved) > 1 and len(moved) >= len(wrong) - 1 and moved[-1] - moved[0] < len(moved) + 2:
                    text = f"the values of `{key}` stand one row further {way}, in {_plural(len(moved), 'row')}"
                    yield from _named(
                        "shifted_column", (each for i in wrong for each in output.failing_at((*path, i, key))), text
                    )
                    break


def _reordered_rows(output: ComparedOutput) -> Iterator[NamedMistake]:
    """Rows that are compared by position, all there in another order."""
    for path, gold, _, extracted in _lists(output):
        if len(gold) != len(extracted) or len(gold) < 2 or not output.failing_at(path):
            continue
        one, other = [canonical_json(row) for row in gold], [canonical_json(row) for row in extracted]
        if one != other and sorted(one) == sorted(other):
            moved = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
            text = (
                f"rows {moved[0]} and {moved[1]} were swapped"
                if len(moved) == 2
                else f"{_plural(len(moved), 'row')} stand in another order"
            )
            yield from _named("reordered_rows", output.failing_at(path), text)


def _moved_rows(output: ComparedOutput, *, missing: bool) -> Iterator[NamedMistake]:
    """Rows that are missing or too many in a list compared by position, so that the rows after them fail as well."""
    for path, gold, _, extracted in _lists(output):
        count = len(gold) - len(extracted) if missing else len(extracted) - len(gold)
        if not 0 < count <= 3 or not _by_position(output, path):
            continue
        one, other = [canonical_json(row) for row in gold], [canonical_json(row) for row in extracted]
        long, short = (one, other) if missing else (other, one)
        at = next((i for i, (a, b) in enumerate(zip(long, short, strict=False)) if a != b), len(short))
        if at < len(short) and long[at + count :] == short[at:]:
            where = f"row {at} is" if count == 1 else f"rows {at} to {at + count - 1} are"
            kind, text = (
                ("missing_row", "missing; the rows after stand earlier")
                if missing
                else ("invented_row", "too many; the rows after stand later")
            )
            yield from _named(kind, output.failing_at(path), f"{where} {text}")


def _by_position(output: ComparedOutput, path: Steps) -> bool:
    array = output.pairings.get(path)
    return array is None or all(i == j for i, j in array.pairs)


def _duplicated_row(output: ComparedOutput) -> Iterator[NamedMistake]:
    for path, gold, at, extracted in _lists(output):
        _, extra = _unpaired(output, path, gold, extracted)
        if not extra:
            continue
        seen: dict[str, list[int]] = defaultdict(list)
        for j, row in enumerate(extracted):
            seen[canonical_json(row)].append(j)
        for j in extra:
            twins = [other for other in seen[canonical_json(extracted[j])] if other != j]
            if twins and _is_full(extracted[j]):
                text = f"row {j} is a copy of row {twins[0]}"
                yield from _named("duplicated_row", output.failing_extra(path, (*at, j)), text)


def _texts_in(row: Json) -> list[str]:
    values = row.values() if isinstance(row, dict) else [row]
    return [text for value in values if isinstance(value, str) and len(text := fold(value)) > 1]


def _rows_inside(texts: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]]) -> list[int]:
    """Return the rows, two or more, of whose texts one text is made, and of little else."""
    rows = [*rows]
    for text in texts:
        parts = [(len(part), index, part) for index, row in rows for part in row if part != text and part in text]
        rest, found = text, []
        for _, index, part in sorted(parts, reverse=True) if len({index for _, index, _ in parts}) > 1 else ():
            if index not in found and part in rest:
                rest = rest.replace(part, " ", 1)
                found.append(index)
        if len(found) > 1 and len(re.sub(r"\W", "", rest)) * 5 <= len(re.sub(r"\W", "", text)):
            return sorted(found)
    return []


def _listed(indices: Sequence[int]) -> str:
    return f"{', '.join(map(str, indices[:-1]))} and {indices[-1]}"


def _merged_rows(output: ComparedOutput) -> Iterator[NamedMistake]:
    for pair in _lists(output):
        path, gold, at, extracted = pair
        missing, _extra = _unpaired(output, path, gold, extracted)
        if not missing or len(missing) * len(extracted) > MOST_ROWS:
            continue
        paired = {j: i for i, j in output.rows_of(pair)}
        ours = [_texts_in(row) for row in gold]
        for j, row in enumerate(extracted):
            others = sorted({*missing, *([paired[j]] if j in paired else [])})
            rows = _rows_inside(_texts_in(row), ((i, ours[i]) for i in others))
            if rows:
                found = [*(each for i in rows for each in output.failing_at((*path, i)))]
                found += output.failing_extra(path, (*at, j))
                yield from _named("merged_rows", found, f"rows {_listed(rows)} were merged into one")


def _split_row(output: ComparedOutput) -> Iterator[NamedMistake]:
    for pair in _lists(output):
        path, gold, at, extracted = pair
        _missing, extra = _unpaired(output, path, gold, extracted)
        if not extra or len(extra) * len(gold) > MOST_ROWS:
            continue
        paired = dict(output.rows_of(pair))
        theirs = [_texts_in(row) for row in extracted]
        for i, row in enumerate(gold):
            others = sorted({*extra, *([paired[i]] if i in paired else [])})
            rows = _rows_inside(_texts_in(row), ((j, theirs[j]) for j in others))
            if rows:
                found = output.failing_at((*path, i))
                found += [each for j in rows for each in output.failing_extra(path, (*at, j))]
                yield from _named("split_row", found, f"row {i} was split into rows {_listed(rows)}")


def _truncated_list(output: ComparedOutput) -> Iterator[NamedMistake]:
    for path, gold, _, extracted in _lists(output):
        missing, extra = _unpaired(output, path, gold, extracted)
        if len(missing) > 1 and not extra and missing == [*range(len(gold) - len(missing), len(gold))] and extracted:
            text = f"the list ends after {len(extracted):,} of {_plural(len(gold), 'row')}"
            yield from _named("truncated_list", (each for i in missing for each in output.failing_at((*path, i))), text)


def _missing_row(output: ComparedOutput) -> Iterator[NamedMistake]:
    yield from _moved_rows(output, missing=True)
    for path, gold, _at, extracted in _lists(output):
        missing, _extra = _unpaired(output, path, gold, extracted)
        for i in missing:
            yield from _named("missing_row", output.failing_at((*path, i)), f"row {i} is missing")


_TOTAL: Final = re.compile(
    r"(?:sub|grand)?-?\s?total\b|sum(?:me|a)?\b|zwischensumme|gesamt|totale?\b|合计|总计", re.IGNORECASE
)


def _invented_row(output: ComparedOutput) -> Iterator[NamedMistake]:
    yield from _moved_rows(output, missing=False)
    for path, gold, at, extracted in _lists(output):
        _, extra = _unpaired(output, path, gold, extracted)
        for j in extra:
            found = output.failing_extra(path, (*at, j))
            row = extracted[j]
            texts = _texts_in(row)
            if (
                isinstance(row, dict)
                and texts
                and all(isinstance(value, str) for value in row.values())
                and len(row) > 1
                and sum(
                    re.sub(r"\W", "", text).lower() in {re.sub(r"[\W_]", "", key).lower() for key in row}
                    for text in texts
                )
                * 2
                >= len(texts)
            ):
                yield from _named("invented_row", found, f"row {j} is the header of the table")
            elif any(_TOTAL.match(text) for text in texts):
                yield from _named("invented_row", found, f"row {j} is a total of the table")
            elif isinstance(row, dict) and not any(_is_full(value) for value in row.values()):
                own = [each for each in output.failing_at(path) if each == path]  # of nulls, the list alone is wrong
                yield from _named("invented_row", found or own, f"row {j} is empty")
            else:
                yield from _named("invented_row", found, f"row {j} is not in the gold")


# --- values of other places


def _neighbouring_row(output: ComparedOutput) -> Iterator[NamedMistake]:
    for result, places in _foreign(output):
        at = next((index for index in range(len(result.path) - 1, -1, -1) if isinstance(result.path[index], int)), None)
        if at is None:
            continue
        own = result.path[at]
        for place in places:
            if (
                len(place) == len(result.path)
                and place[:at] == result.path[:at]
                and place[at + 1 :] == result.path[at + 1 :]
                and abs(place[at] - own) == 1
            ):
                yield NamedMistake(
                    "neighbouring_row",
                    (result.path,),
                    f"the value of the row {'above' if place[at] < own else 'below'}",
                )
                break


def _other_field(output: ComparedOutput) -> Iterator[NamedMistake]:
    for result, places in _foreign(output):
        place = max(places, key=lambda each: (_shared(each, result.path), -len(each)))
        yield NamedMistake("other_field", (result.path,), f"the value of `{path_text(place)}`")


def _shared(one: Steps, other: Steps) -> int:
    return next(
        (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


_MOST_PLACES: Final = 3
"""Places of the gold with one value, such as a unit, from which on it stands elsewhere by chance."""


def _foreign(output: ComparedOutput) -> Iterator[tuple[Json, Sequence[FieldPath]]]:
    """Yield the failing results whose extracted value is a distinctive value of other fields of the gold."""
    for result in output.failing:
        key = value_key(result.extracted)
        places = [place for place in output.gold_places.get(key, ()) if place != result.path] if key else []
        if 0 < len(places) <= _MOST_PLACES and result.extracted != result.gold:
            yield result, places


def _other_date(output: ComparedOutput) -> Iterator[NamedMistake]:
    for result in output.failing:
        if not (reads_as_date(result.gold) and reads_as_date(result.extracted)):
            continue
        if not are_one_day(result.gold, result.extracted) and _stands(output, result.extracted):
            yield NamedMistake("other_date", (result.path,), "another date of the document")


def _not_in_document(output: ComparedOutput) -> Iterator[NamedMistake]:
    for result in output.failing:
        if isinstance(result.extracted, dict | list) or result.extracted in (MISSING, None):
            continue
        if _stands(output, result.extracted) is not False:
            continue
        if result.gold in (MISSING, None):
            yield NamedMistake(
                "not_in_document", (result.path,), "stands nowhere in the document, and gold has no value"
            )
        elif _stands(output, result.gold):
            yield NamedMistake("not_in_document", (result.path,), "stands nowhere in the document, where gold stands")


def _other_value(output: ComparedOutput) -> Iterator[NamedMistake]:
    for result in output.failing:
        if (
            result.gold not in (MISSING, None)
            and value_key(result.extracted)
            and not _overlap(result.gold, result.extracted)
            and _stands(output, result.extracted)
            and _stands(output, result.gold)
        ):
            yield NamedMistake("other_value", (result.path,), "another value of the document")


def _overlap(gold: Json, extracted: Json) -> bool:
    """Whether one value is a part of the other, so that both may stand at one place of the document."""
    if not isinstance(gold, str) or not isinstance(extracted, str):
        amounts = read_amount(gold), read_amount(extracted)
        return amounts[0] is not None and amounts[1] is not None and abs(amounts[0].value) == abs(amounts[1].value)
    one, other = (re.sub(r"[\W_]", "", text).lower() for text in (gold, extracted))
    return one in other or other in one


def _stands(output: ComparedOutput, value: Json) -> bool | None:
    if output.in_document is None or isinstance(value, dict | list):
        return None
    return output.in_document(value)


def _omitted(output: ComparedOutput) -> Iterator[NamedMistake]:
    for result in output.failing:
        if result.extracted in (MISSING, None) and result.gold not in (MISSING, None):
            where = "; gold stands nowhere in the document" if _stands(output, result.gold) is False else ""
            yield NamedMistake("omitted", (result.path,), f"nothing was extracted{where}")


def _invented(output: ComparedOutput) -> Iterator[NamedMistake]:
    for result in output.failing:
        if result.gold in (MISSING, None) and result.extracted not in (MISSING, None):
            where = "; it stands in the document" if _stands(output, result.extracted) else ""
            yield NamedMistake("invented", (result.path,), f"gold has no value{where}")


# --- mistakes from a whole gold


def _objects(value: Json) -> Iterator[dict[str, Json]]:
    """Yield all objects of a document with at least two members, outermost first."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if len(node) > 1:
                yield node
            stack.extend(item for item in reversed(node.values()) if isinstance(item, dict | list))
        elif isinstance(node, list):
            stack.extend(item for item in reversed(node) if isinstance(item, dict | list))


def _tables(value: Json, rows: int) -> list[list[Json]]:
    """Return the lists of objects with the same keys, of at least so many different rows."""
    found: list[list[Json]] = []
    stack = [value]
    while stack:
        node = stack.pop()
        if (
            isinstance(node, list)
            and len({canonical_json(row) for row in node}) >= rows
            and all(isinstance(row, dict) and row.keys() == node[0].keys() for row in node)
        ):
            found.append(node)
        if isinstance(node, dict | list):
            inner = node.values() if isinstance(node, dict) else node
            stack.extend(item for item in inner if isinstance(item, dict | list))
    return found[::-1]


def _make_wrapped(gold: Json, _random: Random) -> Json | Missing:
    return {"result": gold} if isinstance(gold, dict) and len(gold) > 1 and "result" not in gold else MISSING


def _make_renamed_key(gold: Json, random: Random) -> Json | Missing:
    gold = copied(gold)
    objects = [*_objects(gold)]
    if not objects:
        return MISSING
    owner = random.choice(objects)
    keys = [key for key, value in owner.items() if _is_full(value)]
    if not keys:
        return MISSING
    key = random.choice(keys)
    new = (
        re.sub(r"_(\w)", lambda found: found[1].upper(), key)
        if "_" in key
        else key.upper()
        if key != key.upper()
        else key.lower()
    )
    if new in owner:
        return MISSING
    owner[new] = owner.pop(key)
    return gold


def _alike_keys(rows: Sequence[dict[str, Json]]) -> list[tuple[str, str]]:
    """Return pairs of keys whose values are scalars of one type and differ in every row."""
    keys = [
        key
        for key in rows[0]
        if all(
            key in row and isinstance(row[key], str | int | float) and not isinstance(row[key], bool) for row in rows
        )
    ]
    return [
        (one, other)
        for at, one in enumerate(keys)
        for other in keys[at + 1 :]
        if all(
            isinstance(row[one], str) == isinstance(row[other], str) and not same(row[one], row[other]) for row in rows
        )
    ]


def _swapped(rows: Sequence[dict[str, Json]], random: Random) -> bool:
    pairs = _alike_keys(rows)
    if not pairs:
        return False
    one, other = random.choice(pairs)
    for row in rows:
        row[one], row[other] = row[other], row[one]
    return True


def _make_swapped_fields(gold: Json, random: Random) -> Json | Missing:
    gold = copied(gold)
    objects = [each for each in _objects(gold) if _alike_keys([each])]
    return gold if objects and _swapped([random.choice(objects)], random) else MISSING


def _make_swapped_columns(gold: Json, random: Random) -> Json | Missing:
    gold = copied(gold)
    tables = [rows for rows in _tables(gold, 2) if _alike_keys(rows)]
    return gold if tables and _swapped(random.choice(tables), random) else MISSING


def _make_shifted_column(gold: Json, random: Random) -> Json | Missing:
    gold = copied(gold)
    columns = [
        (rows, key)
        for rows in _tables(gold, 3)
        for key in rows[0]
        if all(not isinstance(row[key], dict | list) for row in rows)
        and len({canonical_json(row[key]) for row in rows}) == len(rows) > 2
    ]
    if not columns:
        return MISSING
    rows, key = random.choice(columns)
    values = [row[key] for row in rows]
    for row, value in zip(rows, [values[0], *values[:-1]], strict=True):
        row[key] = value
    return gold


EditRows: TypeAlias = Callable[[list[Json], int, Random], bool]
"""Changes the rows of a table, at or around an index; whether it could."""


def _make_rows(edit: EditRows, least: int = 2) -> MakeMistake:
    """Make the mistake in a table with at least so many different rows."""

    def make(gold: Json, random: Random) -> Json | Missing:
        gold = copied(gold)
        tables = _tables(gold, least)
        if not tables:
            return MISSING
        rows = random.choice(tables)
        return gold if edit(rows, random.randrange(len(rows)), random) else MISSING

    return make


def _lose_row(rows: list[Json], at: int, _random: Random) -> bool:
    del rows[at]
    return True


def _repeat_row(rows: list[Json], at: int, _random: Random) -> bool:
    rows.insert(at, copied(rows[at]))
    return True


def _reverse_rows(rows: list[Json], _at: int, _random: Random) -> bool:
    rows.reverse()
    return True


def _cut_rows(rows: list[Json], _at: int, _random: Random) -> bool:
    del rows[len(rows) // 2 :]
    return True


def _merge_rows(rows: list[Json], _at: int, _random: Random) -> bool:
    first, second = rows[:2]
    keys = [key for key in first if _texts_in(first[key]) and _texts_in(second[key])]
    if not keys:
        return False
    first[keys[0]] = f"{first[keys[0]]} {second[keys[0]]}"
    del rows[1]
    return True


def _split_texts(rows: list[Json], at: int, _random: Random) -> bool:
    row = rows[at]
    keys = [key for key in row if isinstance(row[key], str) and all(len(part) > 2 for part in row[key].split(" ")[:2])]
    keys = [key for key in keys if " " in row[key]]
    if not keys:
        return False
    first, _, rest = row[keys[0]].partition(" ")
    rows.insert(at + 1, {key: rest if key == keys[0] else None for key in row})
    row[keys[0]] = first
    return True


def _add_total(rows: list[Json], _at: int, _random: Random) -> bool:
    texts = [key for key in rows[0] if isinstance(rows[0][key], str)]
    if not texts:
        return False
    rows.append({key: "Total" if key == texts[0] else None for key in rows[0]})
    return True


def _make_neighbouring_row(gold: Json, random: Random) -> Json | Missing:
    gold = copied(gold)
    cells = [
        (rows, at, key)
        for rows in _tables(gold, 2)
        for at in range(len(rows) - 1)
        for key in rows[at]
        if value_key(rows[at + 1][key]) and not same(rows[at][key], rows[at + 1][key])
    ]
    if not cells:
        return MISSING
    rows, at, key = random.choice(cells)
    rows[at][key] = rows[at + 1][key]
    return gold


def _make_other_field(gold: Json, random: Random) -> Json | Missing:
    gold = copied(gold)
    choices = [(each, *pair) for each in _objects(gold) for pair in _alike_keys([each]) if value_key(each[pair[1]])]
    if not choices:
        return MISSING
    each, one, other = random.choice(choices)
    each[one] = each[other]
    return gold


def _make_omitted(gold: Json, random: Random) -> Json | Missing:
    gold = copied(gold)
    places = [
        (each, key)
        for each in _objects(gold)
        for key, value in each.items()
        if _is_full(value) and not isinstance(value, dict | list)
    ]
    if not places:
        return MISSING
    each, key = random.choice(places)
    each[key] = None
    return gold


ROWS_AND_KEYS = (
    MistakeKind(
        name="wrapped",
        doc="An object or a value stands under another key, in a list or as JSON in a text, or the object around it is "
        "missing.",
        find=_wrapped,
        make=_make_wrapped,
        examples=(
            MistakeExample(
                gold={"vendor": "ACME", "total": 12.5},
                extracted={"result": {"vendor": "ACME", "total": 12.5}},
                text="all of it stands under the key `result`",
            ),
            MistakeExample(
                gold={"vendor": "ACME", "total": 12.5},
                extracted={"vendor": "ACME", "total": {"value": 12.5}},
                text="the value stands under the key `value` of an object",
            ),
            MistakeExample(
                gold={"vendor": "ACME", "total": 12.5},
                extracted={"name": "extract", "arguments": '{"vendor": "ACME", "total": 12.5}'},
                text="all of it stands as JSON in a text under the key `arguments`",
            ),
            MistakeExample(
                gold={"vendor": "ACME", "items": [{"sku": "a", "price": 10}, {"sku": "b", "price": 20}]},
                extracted={"vendor": "ACME", "items": ['{"sku": "a", "price": 10}', '{"sku": "b", "price": 20}']},
                text="it stands as JSON in a text",
            ),
            MistakeExample(
                gold={"vendor": "ACME", "total": 12.5},
                extracted={"choices": [{"message": {"content": '{"vendor": "ACME", "total": 12.5}'}}]},
                text="it is a response as a client gives it; the answer in it is response.choices[0].message.content",
            ),
        ),
    ),
    MistakeKind(
        name="renamed_key",
        doc="A key is written otherwise, in another case, or stands one level higher or deeper.",
        find=_renamed_key,
        make=_make_renamed_key,
        examples=(
            MistakeExample(
                gold={"vendor_name": "ACME", "total": 12.5},
                extracted={"vendorName": "ACME", "total": 12.5},
                text="the key `vendor_name` is written `vendorName`",
            ),
            MistakeExample(
                gold={"vendor": {"name": "ACME"}, "total": 12.5},
                extracted={"vendor_name": "ACME", "total": 12.5},
                text="the key `vendor.name` is written `vendor_name`",
            ),
        ),
    ),
    MistakeKind(
        name="swapped_columns",
        doc="Two columns of a table were swapped.",
        find=_swapped_fields,
        make=_make_swapped_columns,
        examples=(
            MistakeExample(
                gold={"items": [{"net": 100, "gross": 119, "name": "Bolt"}, {"net": 200, "gross": 238, "name": "Nut"}]},
                extracted={
                    "items": [{"net": 119, "gross": 100, "name": "Bolt"}, {"net": 238, "gross": 200, "name": "Nut"}]
                },
                text="the columns `net` and `gross` were swapped in 2 rows",
            ),
        ),
    ),
    MistakeKind(
        name="swapped_fields",
        doc="Two fields have the value of each other.",
        find=_swapped_fields,
        make=_make_swapped_fields,
        examples=(
            MistakeExample(
                gold={"ship_to": "Berlin", "bill_to": "Paris"},
                extracted={"ship_to": "Paris", "bill_to": "Berlin"},
                text="`ship_to` and `bill_to` were swapped",
            ),
        ),
    ),
    MistakeKind(
        name="shifted_column",
        doc="The values of a column stand one row too high or too low.",
        find=_shifted_column,
        make=_make_shifted_column,
        examples=(
            MistakeExample(
                gold={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 10.25},
                        {"name": "Gear", "price": 31.75},
                    ]
                },
                extracted={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 2.5},
                        {"name": "Gear", "price": 10.25},
                    ]
                },
                text="the values of `price` stand one row further down, in 2 rows",
            ),
        ),
    ),
    MistakeKind(
        name="reordered_rows",
        doc="All rows are there, in another order.",
        find=_reordered_rows,
        make=_make_rows(_reverse_rows),
        examples=(
            MistakeExample(
                gold={"steps": ["mix", "bake", "cool"]},
                extracted={"steps": ["bake", "mix", "cool"]},
                text="rows 0 and 1 were swapped",
            ),
        ),
    ),
    MistakeKind(
        name="merged_rows",
        doc="Two rows were merged into one.",
        find=_merged_rows,
        make=_make_rows(_merge_rows),
        examples=(
            MistakeExample(
                gold={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 10.25},
                        {"name": "Gear", "price": 31.75},
                    ]
                },
                extracted={"items": [{"name": "Bolt Nut", "price": 2.5}, {"name": "Gear", "price": 31.75}]},
                text="rows 0 and 1 were merged into one",
            ),
        ),
    ),
    MistakeKind(
        name="split_row",
        doc="A row was split into two.",
        find=_split_row,
        make=_make_rows(_split_texts),
        examples=(
            MistakeExample(
                gold={"items": [{"name": "Bolt, zinc plated", "price": 2.5}, {"name": "Nut", "price": 10.25}]},
                extracted={
                    "items": [
                        {"name": "Bolt,", "price": 2.5},
                        {"name": "zinc plated", "price": None},
                        {"name": "Nut", "price": 10.25},
                    ]
                },
                text="row 0 was split into rows 0 and 1",
            ),
        ),
    ),
)
"""Several fields are wrong for one reason."""

UNPAIRED_ROWS = (
    MistakeKind(
        name="duplicated_row",
        doc="A row stands twice.",
        find=_duplicated_row,
        make=_make_rows(_repeat_row),
        examples=(
            MistakeExample(
                gold={"items": [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 10.25}]},
                extracted={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 10.25},
                        {"name": "Bolt", "price": 2.5},
                    ]
                },
                text="row 2 is a copy of row 0",
            ),
        ),
    ),
    MistakeKind(
        name="truncated_list",
        doc="The list ends too early.",
        find=_truncated_list,
        make=_make_rows(_cut_rows, 4),
        examples=(
            MistakeExample(
                gold={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 10.25},
                        {"name": "Gear", "price": 31.75},
                    ]
                },
                extracted={"items": [{"name": "Bolt", "price": 2.5}]},
                text="the list ends after 1 of 3 rows",
            ),
        ),
    ),
    MistakeKind(
        name="missing_row",
        doc="A row is missing.",
        find=_missing_row,
        make=_make_rows(_lose_row),
        examples=(
            MistakeExample(
                gold={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 10.25},
                        {"name": "Gear", "price": 31.75},
                    ]
                },
                extracted={"items": [{"name": "Bolt", "price": 2.5}, {"name": "Gear", "price": 31.75}]},
                text="row 1 is missing",
            ),
        ),
    ),
    MistakeKind(
        name="invented_row",
        doc="A row is not in the gold, such as the header or the total of a table.",
        find=_invented_row,
        make=_make_rows(_add_total),
        examples=(
            MistakeExample(
                gold={"items": [{"name": "Bolt", "price": 2.5}, {"name": "Nut", "price": 10.25}]},
                extracted={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 10.25},
                        {"name": "Total", "price": 12.75},
                    ]
                },
                text="row 2 is a total of the table",
            ),
        ),
    ),
)
"""A row of one side belongs to none of the other."""

ELSEWHERE = (
    MistakeKind(
        name="neighbouring_row",
        doc="The value stands in the row above or below.",
        find=_neighbouring_row,
        make=_make_neighbouring_row,
        examples=(
            MistakeExample(
                gold={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 10.25},
                        {"name": "Gear", "price": 31.75},
                    ]
                },
                extracted={
                    "items": [
                        {"name": "Bolt", "price": 2.5},
                        {"name": "Nut", "price": 31.75},
                        {"name": "Gear", "price": 31.75},
                    ]
                },
                text="the value of the row below",
            ),
        ),
    ),
    MistakeKind(
        name="other_field",
        doc="The value of another field was extracted.",
        find=_other_field,
        make=_make_other_field,
        examples=(
            MistakeExample(
                gold={"total": 1190, "net": 1000}, extracted={"total": 1000, "net": 1000}, text="the value of `net`"
            ),
        ),
    ),
)
"""The value belongs to another place of the gold."""

IN_DOCUMENT = (
    MistakeKind(
        name="other_date",
        doc="Another date of the document was extracted.",
        find=_other_date,
        examples=(),
    ),
    MistakeKind(
        name="not_in_document",
        doc="The value stands nowhere in the document.",
        find=_not_in_document,
        examples=(),
    ),
    MistakeKind(
        name="other_value",
        doc="Another value of the document was extracted.",
        find=_other_value,
        examples=(),
    ),
)
"""What the text of the document says of a value."""

ABSENT = (
    MistakeKind(
        name="omitted",
        doc="Nothing was extracted where the gold has a value.",
        find=_omitted,
        make=_make_omitted,
        examples=(
            MistakeExample(gold={"vendor": "ACME", "total": 5}, extracted={"total": 5}, text="nothing was extracted"),
        ),
    ),
    MistakeKind(
        name="invented",
        doc="A value was extracted where the gold has none.",
        find=_invented,
        examples=(
            MistakeExample(
                gold={"vendor": None, "total": 5}, extracted={"vendor": "ACME", "total": 5}, text="gold has no value"
            ),
        ),
    ),
)
"""One side has no value."""
