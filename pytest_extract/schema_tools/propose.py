"""Which metric and which key of rows suit the values that golds have at each place of a schema."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_extract.core.mistakes.dates import reads_as_date
from pytest_extract.core.schema.source import escape, map_children
from pytest_extract.core.values import Json, json_type

FEWEST_ROWS: Final = 3
"""Rows that must have different values before these are taken for a key."""
_TEXT_WORDS: Final = 10
_TEXT_CHARACTERS: Final = 80
_NUMBER: Final = r"[+-]?\d[\d.,'\u2019\u00a0\u202f ]*"
_CURRENCY: Final = r"(?:[A-Z]{3}|[A-Z]{0,3}[$\u20ac\u00a3\u00a5\u20b9])"
_MONEY = re.compile(rf"{_CURRENCY}\s?{_NUMBER}|{_NUMBER}\s?{_CURRENCY}")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_URL = re.compile(r"https?://\S+")
_CODE = re.compile(r"[A-Z]{1,3}")
_LABEL_REPEATS: Final = 3
"""How often words occur on average that are labels of a list which the schema does not give."""


@dataclass(frozen=True, slots=True)
class AnnotationProposals:
    """What golds propose, by JSON pointer of the subschema: the metrics of texts, and the keys of arrays of objects."""

    metrics: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)


def propose_annotations(schema: dict[str, Json], golds: Iterable[Json]) -> AnnotationProposals:
    """Return the proposals for the places of a schema at which golds have values.

    Texts: `date`, `money`, `email` and `url` where every value is one, `semantic` for free text, `exact` for
    identifiers, labels that recur and what the schema lists, `fuzzy` for the rest, which are names and short
    descriptions. Keys: the first property of identifiers that every row has and no two rows of a list share.
    """
    places = _Places(schema)
    places.visit("", list(golds), frozenset())
    metrics: dict[str, str] = {}
    keys: dict[str, str] = {}
    for pointer, values in places.values.items():
        node = places.nodes[pointer]
        texts = [value for value in values if isinstance(value, str) and value.strip()]
        if texts and all(value is None or isinstance(value, str) for value in values):
            metrics[pointer] = "exact" if "enum" in node or "const" in node else _text_metric(texts)
        key = _key([value for value in values if isinstance(value, list)], places.properties_of(f"{pointer}/items"))
        if key is not None:
            keys[pointer] = key
    return AnnotationProposals(metrics, keys)


def _text_metric(texts: Sequence[str]) -> str:
    """Return the metric that all of some texts fit."""
    stripped = [text.strip() for text in texts]
    for metric, pattern in (("email", _EMAIL), ("url", _URL), ("money", _MONEY)):
        if all(pattern.fullmatch(text) for text in stripped):
            return metric
    if all(reads_as_date(text) for text in stripped):
        return "date"
    if all(_is_identifier(text) for text in stripped) or _are_labels(stripped):
        return "exact"
    long = sum(len(text.split()) > _TEXT_WORDS or len(text) > _TEXT_CHARACTERS for text in stripped)
    return "semantic" if 2 * long >= len(stripped) else "fuzzy"


def _is_identifier(text: str) -> bool:
    """Whether every word holds a digit or is a code of up to three capitals: `A-117`, `FY2025 Q2`, `EUR`."""
    words = text.split()
    return bool(words) and all(_CODE.fullmatch(word) or any(map(str.isdigit, word)) for word in words)


def _are_labels(texts: Sequence[str]) -> bool:
    return len(texts) >= _LABEL_REPEATS * len(set(texts)) and not any(len(text.split()) > 1 for text in texts)


def _key(lists: Sequence[list[Json]], names: Sequence[str]) -> str | None:
    """Return the first property that tells all rows of every list apart."""
    rows = [row for each in lists for row in each]
    if len(rows) < FEWEST_ROWS or max(map(len, lists)) < 2 or not all(isinstance(row, dict) for row in rows):
        return None
    for name in names:
        columns = [[row.get(name) for row in each if isinstance(row, dict)] for each in lists]
        texts = [value.strip() for column in columns for value in column if isinstance(value, str)]
        if len(texts) < len(rows) or not all(map(_is_identifier, texts)) or _text_metric(texts) != "exact":
            continue
        if all(len({str(value).strip() for value in column}) == len(column) for column in columns):
            return name
    return None


class _Places:
    """The subschemas of a schema by pointer, and the values that golds have there."""

    def __init__(self, schema: dict[str, Json]) -> None:
        self.nodes: dict[str, dict[str, Json]] = {}
        self.values: defaultdict[str, list[Json]] = defaultdict(list)
        self._index(schema, "")

    def _index(self, schema: Json, pointer: str) -> Json:
        if isinstance(schema, dict):
            self.nodes[pointer] = schema
            map_children(schema, pointer, self._index)
        return schema

    def visit(self, pointer: str, values: Sequence[Json], around: frozenset[str]) -> None:
        """Note the values of a place, and those inside it; `around`: the places that refer here for the same values."""
        node = self.nodes.get(pointer)
        if node is None or not values or pointer in around:
            return
        self.values[pointer] += values
        same = around | {pointer}
        reference = node.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            self.visit(reference[1:], values, same)
        for word in ("anyOf", "oneOf", "allOf"):
            branches = node.get(word)
            for index in range(len(branches) if isinstance(branches, list) else 0):
                branch = f"{pointer}/{word}/{index}"
                self.visit(branch, [value for value in values if self._allows(branch, value)], same)
        objects = [value for value in values if isinstance(value, dict)]
        named = node.get("properties")
        names = named if isinstance(named, dict) else {}
        for name in names:
            inside = [value[name] for value in objects if name in value]
            self.visit(f"{pointer}/properties/{escape(name)}", inside, frozenset())
        others = [part for value in objects for name, part in value.items() if name not in names]
        self.visit(f"{pointer}/additionalProperties", others, frozenset())
        rows = [row for value in values if isinstance(value, list) for row in value]
        self.visit(f"{pointer}/items", rows, frozenset())

    def _allows(self, pointer: str, value: Json) -> bool:
        """Whether the type of a branch, where it names one, is that of the value."""
        named = self.nodes.get(pointer, {}).get("type")
        types = named if isinstance(named, list) else [named]
        kind = json_type(value)
        return named is None or kind in types or (kind == "integer" and "number" in types)

    def properties_of(self, pointer: str) -> list[str]:
        """Return the names of the properties that a subschema declares, itself or where it refers to."""
        seen: set[str] = set()
        while pointer in self.nodes and pointer not in seen:
            seen.add(pointer)
            node = self.nodes[pointer]
            named, reference = node.get("properties"), node.get("$ref")
            if isinstance(named, dict):
                return [*named]
            if not isinstance(reference, str) or not reference.startswith("#"):
                break
            pointer = reference[1:]
        return []
