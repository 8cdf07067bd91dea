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
    arm: str
    worse: int
    gist: str
    rate: float | None
    tags: dict[str, str]
    heat: str
    fields: list[int]
    statuses: list[str]


class PageData(NamedTuple):
    """The data of a page: `rows` of the list, the `bodies` of the cases, the documents, the columns of the heat map."""

    rows: list[Row]
    bodies: list[dict[str, Any]]
    documents: list[dict[str, Any]]
    patterns: list[str]


def page_data(text: str) -> PageData:
    """Read the data of a page."""

    def scripts(mark: str) -> list[Any]:
        return [json.loads(each) for each in re.findall(rf"<script [^>]*{mark}>(.*?)</script>", text, re.DOTALL)]

    (data,) = scripts('id="data"')
    rows = [
        Row(row[0], row[1], data["outcomes"][row[2]][0], data["arms"][row[3]], *row[4:7], dict(row[7]), *row[8:])
        for row in data["rows"]
    ]
    return PageData(rows, scripts('class="body"'), scripts('class="document"'), data["patterns"])


def plain(spans: Any) -> str:
    """Return a line of styled spans as text."""
    return "".join(span if isinstance(span, str) else span[0] for span in spans)
