"""How often a schema looks at one value: references that double at each step would take years to follow."""

from __future__ import annotations

from typing import Final, NamedTuple

from pytest_extract.core.schema.source import REFERENCES, SchemaSource
from pytest_extract.core.schema.subschemas import led_to, schema_objects
from pytest_extract.core.values import Json
from pytest_extract.errors import SchemaError

MOST_LOOKS: Final = 10_000
"""Schemas that may hold for one value; FHIR's choice of all resources, the widest that we know, has some hundreds."""
_LONGEST: Final = 200
"""Steps from reference to reference at one value; whoever follows them needs a frame for each."""
_SAME_VALUE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas")
"""Keywords below which schemas hold for the same value."""


class _Looks(NamedTuple):
    """How many schemas hold for a value, and how many steps it is to the last of them."""

    number: int = 0
    steps: int = 0


def too_many_looks(schema: Json) -> SchemaError | None:
    """Return what is wrong with a schema that would never be done with a single value."""
    walk = _Walk(SchemaSource(schema), {})
    at_once = frozenset((*REFERENCES, *_SAME_VALUE))
    try:
        for pointer, part in schema_objects(schema):
            if not at_once.isdisjoint(part):
                walk.looks(pointer, 0)
    except SchemaError as error:
        return error
    return None


class _Walk(NamedTuple):
    """The walk of one schema, with what is known of each of its places."""

    source: SchemaSource
    known: dict[str, _Looks]

    def looks(self, pointer: str, level: int) -> _Looks:
        """Count the looks at a value by the schema at a pointer; raises SchemaError where they are too many."""
        if pointer in self.known:
            return self.known[pointer]
        self.known[pointer] = _Looks()  # inside itself a schema is not looked at again
        places = led_to(self.source, pointer, _SAME_VALUE) if level <= _LONGEST else []
        below = [self.looks(place, level + 1) for place in places]
        found = _Looks(1 + sum(each.number for each in below), 1 + max((each.steps for each in below), default=0))
        if found.number > MOST_LOOKS:
            often = f"each value is checked {found.number:,} times here or more (at most {MOST_LOOKS:,})"
            why = "as what is listed leads to the same schemas again and again"
            raise SchemaError(f"{often}, {why}; list each alternative and each part once", pointer=pointer)
        if level + found.steps > _LONGEST:
            long = f"references lead on from here through more than {_LONGEST} schemas"
            raise SchemaError(f"{long}; refer to the last of them", pointer=pointer)
        self.known[pointer] = found
        return found
