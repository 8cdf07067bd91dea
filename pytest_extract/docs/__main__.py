"""`python -m pytest_extract.docs` writes the reference pages of the manual and `case.schema.json` from the code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pytest_extract.cases.model import case_file_schema, renewed_schema, value_phrase
from pytest_extract.cli.score import metrics_manual
from pytest_extract.core.measures import MEASURES
from pytest_extract.core.metrics import METRICS
from pytest_extract.core.mistakes.table import MISTAKE_KINDS
from pytest_extract.core.transforms import TRANSFORMS
from pytest_extract.core.values import Json
from pytest_extract.files import write_atomic
from pytest_extract.plugin.options import OPTION_GROUPS, Option

_WRITTEN: Final = "`python -m pytest_extract.docs` writes this page from the code."

_OPTIONS: Final = f"""\
# Options

{_WRITTEN} `pytest --help` shows the same options.
An option of the command line wins over its ini twin. The ini twin belongs in `pytest.ini`, in `[pytest]` of `tox.ini`
or in `[tool.pytest.ini_options]` of `pyproject.toml`; a repeatable one takes one value a line. With pytest 9 it may
stand in `[tool.pytest]` or in `pytest.toml`, too: as a number, a boolean, a list or a text. A relative path on the
command line starts at the current folder, one in the ini file at pytest's root folder. All wrong values are reported at
once, before the first call, with exit status 4.
"""

_MEASURES: Final = f"""\
# Measures

{_WRITTEN} A measure is a number from 0 to 1 for one
output; [scoring](scoring.md) explains the results and gates under it. Unless its row says otherwise, higher is better,
and `thresholds` of a [case](case-keys.md) and of the suite (`extract_suite_thresholds`) can bound it. The last column
is the measure's name in the rows that the published program writes.

```python
>>> from pytest_extract import score
>>> invoice = {{"type": "object", "properties": {{"total": {{"type": "number"}}, "paid": {{"type": "boolean"}}}}}}
>>> measures = score(invoice, {{"total": 30, "paid": True}}, {{"total": 30, "paid": False}}).measures
>>> measures["pass_rate"], measures["value_accuracy"], measures["strict"]
(0.5, 0.5, 0.0)

```
"""

_CASE_KEYS: Final = f"""\
# Case keys

{_WRITTEN} [Case files](cases.md) explains how files,
paths and defaults work; `pytest-extract schema print` prints the JSON Schema behind this page, for completion in an
editor. The keys that are needed most often come first.
"""


_MISTAKES: Final = f"""\
# Kinds of mistakes

{_WRITTEN} A failing field gets the name of the first kind of this table that explains it:
no model is asked, and no score changes. Names stand in the diff, in `score.mistakes`, in results files and in the CSV
report; the summary counts them, and `pytest-extract report RESULTS.jsonl --by mistake` does by model.

```python
>>> from pytest_extract import score
>>> schema = {{"type": "object", "properties": {{"total": {{"type": "number"}}, "due": {{"type": "string"}}}}}}
>>> wrong = score(schema, {{"total": 1109, "due": "2024-03-04"}}, {{"total": 1190, "due": "2024-04-03"}})
>>> for mistake in wrong.mistakes:
...     print(*mistake.paths, mistake.kind, mistake.text, sep=" | ")
due | day_and_month | day and month were swapped
total | wrong_digits | the digits 0 and 9 were swapped

```

Runs of cases look values up in the text of the document, so that a value that stands elsewhere is named before its
characters are compared. Of more than 1,000 wrong values of one output the first 1,000 are named;
the others are counted as `(not named)`.
"""


def mistakes_page() -> Iterator[str]:
    """Yield the lines of `mistakes.md` below its introduction."""
    examples = {name: each.example for name, each in MISTAKE_KINDS.items()}
    arrows = {name: f"{_code(each.gold)} → {_code(each.extracted)}" for name, each in examples.items()}
    rows = ((f"`{name}`", each.doc, arrows[name]) for name, each in MISTAKE_KINDS.items())
    yield from _table(("kind", "meaning", "example"), rows)


def _code(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    quote = "``" if "`" in text else "`"
    return f"{quote}{text}{quote}" if len(text) <= _LONGEST_CODE else f"{quote}{text[:_LONGEST_CODE]}…{quote}"


_LONGEST_CODE: Final = 200


def options_page() -> Iterator[str]:
    """Yield the lines of `options.md` below its introduction."""
    for title, options in OPTION_GROUPS.items():
        yield from (f"## {title.capitalize()}", "")
        yield from _table(("option", "ini twin", "default", "meaning"), map(_option_row, options))


def _option_row(option: Option) -> tuple[str, ...]:
    value = "" if option.is_switch else f"={option.metavar}" if option.alone is None else f"[={option.metavar}]"
    flag = f"`--extract-{option.name}{value}`" if option.command_line else ""
    default = "" if option.shown_default is None else f"`{option.shown_default}`"
    return flag, f"`{option.dest}`" if option.ini else "", default, option.help


def measures_page() -> Iterator[str]:
    """Yield the lines of `measures.md` below its introduction."""
    columns = {name: f"`{each.column}`" if each.column else "" for name, each in MEASURES.items()}
    rows = ((f"`{name}`", ", ".join(each.systems), each.doc, columns[name]) for name, each in MEASURES.items())
    yield from _table(("measure", "reported by", "value", "published as"), rows)


def case_keys_page() -> Iterator[str]:
    """Yield the lines of `case-keys.md` below its introduction."""
    schema = json.loads(case_file_schema())
    keys, definitions = schema["properties"], schema["$defs"]
    own = definitions["case"]["properties"]
    yield from ("## Keys of a case", "", "A case needs `document`, `documents` or `text`, and `schema` and `gold`.", "")
    yield from _keys_table(own, definitions)
    yield from ("## Keys of a file with several cases", "")
    yield from _keys_table({key: part for key, part in keys.items() if key not in own}, definitions)
    for key in own:
        for place, parts in _nested(key, definitions[key]):
            yield from (f"## Keys of `{place}`", "")
            if place == "thresholds":
                yield from ("Each of the [measures](measures.md), with a number from 0 to 1, and:", "")
            yield from _keys_table({name: part for name, part in parts.items() if name not in MEASURES}, definitions)


def _keys_table(parts: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[str]:
    rows = []
    for key, part in parts.items():
        target = definitions.get(part.get("$ref", "").rpartition("/")[2], {})
        rows.append((f"`{key}`", value_phrase(part), {**target, **part}["description"]))
    return _table(("key", "value", "meaning"), rows)


def _nested(place: str, part: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each mapping with keys of its own inside a key's value: where it belongs, and its keys."""
    if "properties" in part:
        yield place, part["properties"]
        for key, below in part["properties"].items():
            yield from _nested(f"{place}.{key}", below)
    for choice in part.get("anyOf", ()):
        yield from _nested(place, choice)
    if isinstance(part.get("items"), dict):
        yield from _nested(f"{place}[]", part["items"])
    if isinstance(part.get("additionalProperties"), dict):
        yield from _nested(f"{place}.FIELD", part["additionalProperties"])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


PAGES: Final[Mapping[str, tuple[str, Callable[[], Iterator[str]]]]] = {
    "options.md": (_OPTIONS + "\n", options_page),
    "measures.md": (_MEASURES + "\n", measures_page),
    "case-keys.md": (_CASE_KEYS + "\n", case_keys_page),
    "metrics.md": ("", lambda: metrics_manual([*METRICS, *TRANSFORMS])),
    "mistakes.md": (_MISTAKES + "\n", mistakes_page),
}
"""File of a reference page -> its introduction, and the function that yields its other lines."""


def page_text(name: str) -> str:
    """Return the text of a reference page."""
    introduction, lines = PAGES[name]
    return introduction + "\n".join(lines()) + "\n"


if __name__ == "__main__":
    write_atomic(Path(__file__).parents[1] / "cases" / "case.schema.json", renewed_schema())
    for name in PAGES:
        write_atomic(Path(__file__).parent / name, page_text(name))
