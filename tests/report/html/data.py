"""What the page holds, as its script reads it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_extract.report.html.page import page
from pytest_extract.report.run_report import RunReport


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


@dataclass(frozen=True)
class PageData:
    """The text of a page and its data.

    `rows` of the list, the `bodies` of the cases, the documents, the columns of the heat map, the verdict (`head`), the
    parts of each section by its id, and all text of both and of the notes (`told`).
    """

    text: str
    rows: list[Row]
    bodies: list[dict[str, Any]]
    documents: list[dict[str, Any]]
    patterns: list[str]
    head: dict[str, Any]
    sections: dict[str, list[Any]]
    told: str
    filters: dict[str, Any]

    def parts(self, section, kind):
        """Return the contents of the parts of one kind."""
        return [content for each, content in self.sections.get(section, ()) if each == kind]

    @property
    def names(self):
        return [row.name for row in self.rows]

    @property
    def attempt(self):
        """The first attempt of the first case."""
        return self.bodies[0]["attempts"][0]

    @property
    def field(self):
        """The first field of the first attempt."""
        return self.attempt["fields"][0]


def texts_in(value):
    """Return all text inside of a value, in order."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return " ".join(filter(None, map(texts_in, value)))
    return value if isinstance(value, str) else ""


def shown(*results, **keys):
    """Read the page of some results."""
    text = page(RunReport(results=results, **keys))

    def scripts(mark):
        return [json.loads(each) for each in re.findall(rf"<script [^>]*{mark}>(.*?)</script>", text, re.DOTALL)]

    (data,) = scripts('id="data"')
    rows = [
        Row(row[0], row[1], data["outcomes"][row[2]][0], data["variants"][row[3]], *row[4:7], dict(row[7]), *row[8:])
        for row in data["rows"]
    ]
    return PageData(
        text=text,
        rows=rows,
        bodies=scripts('class="body"'),
        documents=scripts('class="document"'),
        patterns=data["patterns"],
        head=data["head"],
        sections={name: parts for name, _title, parts in data["sections"]},
        told=texts_in([data["head"], data["sections"], data["limits"]]),
        filters=data["filters"],
    )
