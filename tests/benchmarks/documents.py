"""Documents of the shapes that real extractions have, made here from a seed: schema and gold.

Shapes and sizes are those of ExtractBench's and DeepJSONEval's golds; no value is theirs.
"""

from __future__ import annotations

import os
import random
from typing import Any

# the threads that numpy makes, and nothing here uses, spin for a tenth of a second: the processor's time counts them
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

WORDS = ["".join(random.Random(n).choices("aeioubcdlmnrst", k=3 + n % 7)) for n in range(400)]
LIST_SIZES = (28, 16, 16, 14, *[4] * 13, *[3] * 3, *[2] * 25, *[1] * 4, *[0] * 3)
"""Rows of the 52 lists of a 10-Q: 189 in all."""


def words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(count))


def filing(seed: int = 7) -> tuple[Any, Any]:
    """Return a 10-Q: 52 lists of flat rows in three statements, and a head; 1,328 leaves."""
    rng = random.Random(seed)
    entry = {
        "type": "object",
        "properties": {
            "unit": {"type": "string", "evaluation_config": "string_case_insensitive"},
            "scale": {"anyOf": [{"type": "null"}, {"type": "integer"}], "evaluation_config": "integer_exact"},
            "value": {
                "anyOf": [{"type": "null"}, {"type": "number"}, {"type": "string"}],
                "evaluation_config": {"metrics": [{"metric_id": "number_tolerance", "params": {"tolerance": 0.001}}]},
            },
            "data_period": {"type": "string", "evaluation_config": "string_exact"},
            "metric_type": {"enum": ["actual", "guidance"], "evaluation_config": "string_exact"},
            "segment_name": {"type": "string", "evaluation_config": "string_fuzzy"},
            "segment_type": {
                "enum": ["company", "business_segment", "geographic_segment"],
                "evaluation_config": "string_exact",
            },
            "comparison_type": {"type": "string", "evaluation_config": "string_exact"},
        },
        "required": ["data_period", "segment_type", "unit", "scale", "value"],
        "additionalProperties": False,
    }
    statements = ("income_statement", "balance_sheet", "cash_flow_statement")
    head = {name: {"type": "string"} for name in ("company", "report_period", "report_period_end_date")}
    schema: dict[str, Any] = {
        "type": "object",
        "$defs": {"entry": entry},
        "properties": {"meta": {"type": "object", "properties": head}},
    }
    gold: dict[str, Any] = {
        "meta": {"company": words(rng, 2), "report_period": "Q2", "report_period_end_date": "2024-11-30"}
    }
    growth = True
    for number, size in enumerate(LIST_SIZES):
        statement = schema["properties"].setdefault(statements[number % 3], {"type": "object", "properties": {}})
        name = f"{rng.choice(WORDS)}_{number}"
        statement["properties"][name] = {"type": "array", "items": {"$ref": "#/$defs/entry"}}
        rows = [filing_entry(rng, place) for place in range(size)]
        if growth and size == 2:
            growth = False
            rows = [{**row, "comparison_type": "year over year"} for row in rows]
        gold.setdefault(statements[number % 3], {})[name] = rows
    return schema, gold


def filing_entry(rng: random.Random, place: int) -> dict[str, Any]:
    company = place < 4
    return {
        "data_period": f"FY2025 Q{1 + place % 4}",
        "metric_type": "actual",
        "segment_type": "company" if company else "business_segment",
        "segment_name": "NA" if company else words(rng, 2),
        "unit": "USD",
        "scale": 1_000_000,
        "value": round(rng.uniform(1, 90_000), 2) if rng.random() < 0.2 else rng.randint(1, 90_000),
    }


def paper(seed: int = 7) -> tuple[Any, Any]:
    """Return a research paper: authors with affiliations, sections with figures and tables, citations as text."""
    rng = random.Random(seed)
    text = {"type": "string"}
    figure = {"type": "object", "properties": {"label": text, "caption": text, "pages": list_of({"type": "integer"})}}
    part = {"type": "object", "properties": {"title": text, "figures": list_of(figure), "terms": list_of(text)}}
    section = {"type": "object", "properties": {**part["properties"], "parts": list_of(part)}}
    affiliation = {"type": "object", "properties": {"name": text, "country": text}}
    author = {"type": "object", "properties": {"name": text, "email": text, "affiliations": list_of(affiliation)}}
    properties = {"title": text, "abstract": text, "number_of_pages": {"type": "integer"}}
    properties |= {"authors": list_of(author), "sections": list_of(section), "citations": list_of(text)}

    def part_of() -> dict[str, Any]:
        figures = [
            {"label": f"Figure {n}", "caption": words(rng, 12), "pages": [rng.randint(1, 20) for _ in range(2)]}
            for n in range(rng.randint(0, 3))
        ]
        return {"title": words(rng, 4), "figures": figures, "terms": [words(rng, 2) for _ in range(rng.randint(0, 5))]}

    gold = {
        "title": words(rng, 9),
        "abstract": words(rng, 150),
        "number_of_pages": 18,
        "authors": [
            {
                "name": words(rng, 2),
                "email": f"{rng.choice(WORDS)}@example.org",
                "affiliations": [
                    {"name": words(rng, 3), "country": rng.choice(WORDS)} for _ in range(rng.randint(1, 2))
                ],
            }
            for _ in range(6)
        ],
        "sections": [{**part_of(), "parts": [part_of() for _ in range(rng.randint(0, 3))]} for _ in range(8)],
        "citations": [words(rng, 18) for _ in range(64)],
    }
    return {"type": "object", "properties": properties}, gold


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def texts(seed: int = 7, count: int = 1_081) -> tuple[Any, Any]:
    """Return one list of so many texts."""
    rng = random.Random(seed)
    schema = {"type": "object", "properties": {"names": list_of({"type": "string"})}}
    return schema, {"names": [words(rng, rng.randint(1, 5)) for _ in range(count)]}


def nested_lists(size: int = 8, seed: int = 7) -> tuple[Any, Any]:
    """Return lists of so many rows, three deep: 1,616 leaves for 8, 12,576 for 16."""
    rng = random.Random(seed)
    text, number = {"type": "string"}, {"type": "integer"}

    def rows_of(**properties: Any) -> dict[str, Any]:
        return list_of({"type": "object", "properties": properties})

    lines = rows_of(place=number, kind=text, name=text)
    schema = {"orders": rows_of(id=text, who=text, parts=rows_of(number=number, lines=lines))}

    def line() -> dict[str, Any]:
        return {"place": rng.randint(0, 60), "kind": rng.choice("xyz"), "name": f"t{rng.randint(0, 400)}"}

    def part() -> dict[str, Any]:
        return {"number": rng.randint(0, 90), "lines": [line() for _ in range(size)]}

    orders = [{"id": f"o{n}", "who": rng.choice("uvw"), "parts": [part() for _ in range(size)]} for n in range(size)]
    return {"type": "object", "properties": schema}, {"orders": orders}


def small(seed: int) -> tuple[Any, Any]:
    """Return a record of some twenty leaves in objects three deep, with a schema of its own."""
    rng = random.Random(seed)

    def node(depth: int) -> tuple[dict[str, Any], Any]:
        if depth == 0 or rng.random() < 0.2:
            return rng.choice(
                [
                    ({"type": "string"}, words(rng, rng.randint(1, 4))),
                    ({"type": "integer"}, rng.randint(0, 9_999)),
                    ({"type": "number"}, round(rng.uniform(0, 999), 2)),
                    (list_of({"type": "string"}), [words(rng, 1) for _ in range(3)]),
                ]
            )
        names = rng.sample(WORDS, 3)
        members = {name: node(depth - 1) for name in names}
        schema = {"type": "object", "properties": {name: schema for name, (schema, _) in members.items()}}
        return {**schema, "required": names}, {name: value for name, (_, value) in members.items()}

    schema, gold = {}, {}
    for name in rng.sample(WORDS, 3):
        schema[name], gold[name] = node(2)
    return {"type": "object", "properties": schema}, gold


def described(seed: int) -> tuple[Any, Any]:
    """Return a record of some twelve leaves with a schema of its own that has titles and descriptions."""
    rng = random.Random(seed)

    def scalar() -> tuple[dict[str, Any], Any]:
        kind = rng.random()
        if kind < 0.6:
            schema: dict[str, Any] = {"type": "string"}
            value: Any = words(rng, rng.randint(1, 3))
            if rng.random() < 0.2:
                schema["enum"] = [value, words(rng, 1), words(rng, 1)]
            return schema, value
        if kind < 0.9:
            return {"type": "number"}, round(rng.uniform(0, 999), 1)
        return {"type": "boolean"}, rng.random() < 0.5

    def node(depth: int) -> tuple[dict[str, Any], Any]:
        if depth == 0:
            return scalar()
        if rng.random() < 0.18:
            items, _ = scalar()
            return list_of(items), [rng.choice(WORDS) if items["type"] == "string" else 1 for _ in range(3)]
        names = rng.sample(WORDS, 2)
        members = {name: node(depth - 1 if rng.random() < 0.7 else 0) for name in names}
        properties = {
            name: {"title": name.title(), "description": words(rng, 6), **schema}
            for name, (schema, _) in members.items()
        }
        schema = {"type": "object", "required": names, "properties": properties}
        value = {name: value for name, (_, value) in members.items()}
        if rng.random() < 0.15:
            return list_of(schema), [value, value]
        return schema, value

    schemas, gold = {}, {}
    for name in rng.sample(WORDS, 2):
        schemas[name], gold[name] = node(3)
        schemas[name] = {"title": name.title(), "description": words(rng, 6), **schemas[name]}
    return {"title": "Record", "type": "object", "required": [*schemas], "properties": schemas}, gold
