"""A JSON Schema from example values, as struct-extract-eval infers it or wide enough to hold for all of them."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_extract.core import arguments
from pytest_extract.core.arguments import json_argument
from pytest_extract.core.values import Json, json_type
from pytest_extract.errors import ConfigError


def infer_schema(values: Sequence[Json], *, widen: bool = False) -> dict[str, Json]:
    """Return a schema of `values`: types, properties (all keys, sorted) and items (of all arrays together).

    The type of a place is that of its first value that is not null, and string where all are null, as
    struct-extract-eval does it. With `widen` it holds for every value: number for 1 and 2.5, several types where
    there are several, null where it occurs, `required` for keys that are always there.
    Raises ConfigError without values, and for values nested deeper than the interpreter can follow.
    """
    arguments.values("values", values)
    values = [json_argument(f"values[{index}]", value) for index, value in enumerate(values)]
    if not values:
        raise ConfigError("a schema can only be inferred from at least one value")
    try:
        return _infer(values, widen=widen)
    except RecursionError:
        raise ConfigError("a value is nested too deep for a schema to be inferred from it") from None


def _infer(values: Sequence[Json], *, widen: bool) -> dict[str, Json]:
    known = [value for value in values if value is not None]
    types = _widened(values) if widen else [json_type(known[0]) if known else "string"]
    schema: dict[str, Json] = {"type": types[0] if len(types) == 1 else types}
    if "object" in types:
        objects = [value for value in known if isinstance(value, dict)]
        names = sorted({name for value in objects for name in value})
        columns = {name: [value[name] for value in objects if name in value] for name in names}
        schema["properties"] = {n: _infer(column, widen=widen) for n, column in columns.items()}
        always = [name for name in names if len(columns[name]) == len(objects)]
        if widen and always:
            schema["required"] = always
    if "array" in types:
        items = [item for value in known if isinstance(value, list) for item in value]
        schema["items"] = _infer(items, widen=widen) if items else {"type": "string"}
        if widen and not items:
            schema["items"] = {}
    return schema


def _widened(values: Sequence[Json]) -> list[str]:
    types = dict.fromkeys(json_type(value) for value in values)
    if "number" in types:
        types.pop("integer", None)
    null = types.pop("null", "no") != "no"
    if not types:
        return ["string", "null"]
    return [*types, "null"] if null else list(types)
