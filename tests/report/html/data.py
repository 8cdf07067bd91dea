"""What the page holds, as its script reads it."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A case of the list."""

    anchor: str
    name: str
    outcome: str
    variant: str
    worse: int
    gist: str
    rate: float | None
    tags: dict[str, str]
    heat: str
    fields: list[int]
    statuses: list[str]


class PageData(NamedTuple):
    """The data of a page: `rows` of the list, the `bodies` of the cases, the documents, the columns of the heat map.

    `head`: the verdict; `sections`: the parts of each section by its id; `told`: all text of both and of the notes.
    """

    rows: list[Row]
    bodies: list[dict[str, Any]]
    documents: list[dict[str, Any]]
    patterns: list[str]
    head: dict[str, Any]
    sections: dict[str, list[Any]]
    told: str
    filters: dict[str, Any]

    def parts(self, section: str, kind: str) -> list[Any]:
        """Return the contents of the parts of one kind."""
        return [content for each, content in self.sections.get(section, ()) if each == kind]


def texts_in(value: Any) -> str:
    """Return all text inside of a value, in order."""
    if isinstance(value, dict):
        value = [*value.values()]
    return (
        " ".join(filter(None, map(texts_in, value)))
        if isinstance(value, list)
        else value
        if isinstance(value, str)
        else ""
    )


def page_data(text: str) -> PageData:
    """Read the data of a page."""

    def scripts(mark: str) -> list[Any]:
        return [json.loads(each) for each in re.findall(rf"<script [^>]*{mark}>(.*?)</script>", text, re.DOTALL)]

    (data,) = scripts('id="data"')
    rows = [
        Row(row[0], row[1], data["outcomes"][row[2]][0], data["variants"][row[3]], *row[4:7], dict(row[7]), *row[8:])
        for row in data["rows"]
    ]
    told = texts_in([data["head"], data["sections"], data["limits"]])
    sections = {name: parts for name, _title, parts in data["sections"]}
    bodies, documents = scripts('class="body"'), scripts('class="document"')
    return PageData(rows, bodies, documents, data["patterns"], data["head"], sections, told, data["filters"])


def plain(spans: Any) -> str:
    """Return a line of styled spans as text."""
    return "".join(span if isinstance(span, str) else span[0] for span in spans)
