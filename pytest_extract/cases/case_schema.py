"""The JSON Schema of the case file, made from the table of keys; `python -m pytest_extract.docs` writes it."""

from __future__ import annotations

import itertools
import json

from pytest_extract.cases.checks import CASE_KEYS, FILE_KEYS, MERGED, SHARED_SCHEMAS
from pytest_extract.cases.defaults import DOCUMENT_FORMS
from pytest_extract.core.output_shape import SHAPES, UNITS
from pytest_extract.core.values import Json


def case_schema_text() -> str:
    """Return the text of `case.schema.json`."""
    keys = {key: {"$ref": f"#/$defs/{key}"} for key in CASE_KEYS}
    merged = [key for key in CASE_KEYS if key in MERGED]
    several: dict[str, Json] = {
        "cases": {
            "description": "Several cases, each with the keys of a case; `defaults` holds what they share.",
            "type": "array",
            "minItems": 1,
            "items": {"$ref": "#/$defs/case"},
        },
        "defaults": {
            "description": "Keys that the cases share, or the path of a YAML file that holds them. "
            f"A case's own value wins; {', '.join(merged[:-1])} and {merged[-1]} are merged key by key.",
            "anyOf": [{"$ref": "#/$defs/case"}, {"$ref": "#/$defs/path"}],
        },
        "dataset": {
            "description": "Path of a JSONL file with one case a line, each with the keys of a case.",
            "$ref": "#/$defs/path",
        },
    }
    forms = [{"required": [form]} for form in DOCUMENT_FORMS]
    several_forms = {"anyOf": [{"required": [*pair]} for pair in itertools.combinations(DOCUMENT_FORMS, 2)]}
    return (
        json.dumps(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "title": "pytest-extract case file",
                "description": "One case (document, schema, gold), or `cases:`, or `dataset:`; files are named "
                "NAME.extract.yaml.",
                "type": "object",
                "properties": keys | several,
                "additionalProperties": False,
                "not": {"required": ["cases", "dataset"]},
                "if": {"anyOf": [{"required": ["cases"]}, {"required": ["dataset"]}]},
                "then": {"propertyNames": {"enum": [*FILE_KEYS]}},
                "else": {
                    "not": several_forms,
                    "if": {"not": {"required": ["defaults"]}},
                    "then": {"required": ["schema", "gold"], "anyOf": forms},
                },
                "$defs": {
                    **SHARED_SCHEMAS,
                    "output_shape": {"enum": [*SHAPES]},
                    "unit": {"enum": [*UNITS]},
                    "case": {"type": "object", "properties": keys, "additionalProperties": False, "not": several_forms},
                    **{name: {"description": key.description, **key.schema} for name, key in CASE_KEYS.items()},
                },
            },
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )
