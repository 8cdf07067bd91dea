"""What the page holds, as its script reads it."""

import json
import re
from collections import namedtuple

from pytest_extract.report.html.page import page
from pytest_extract.report.run_report import RunReport

Row = namedtuple("Row", "anchor name outcome variant worse gist rate tags heat fields statuses")  # noqa: PYI024


class PageData:
    """The text of a page and its data.

    `rows` of the list, the `bodies` of the cases, the documents, the columns of the heat map, the verdict (`head`), the
    parts of each section by its id, and all text of both and of the notes (`told`).
    """

    def __init__(self, text):
        self.text = text
        (data,) = self._scripts('id="data"')
        self.rows = [
            Row(*row[:2], data["outcomes"][row[2]][0], data["variants"][row[3]], *row[4:7], dict(row[7]), *row[8:])
            for row in data["rows"]
        ]
        self.bodies, self.documents = self._scripts('class="body"'), self._scripts('class="document"')
        self.patterns, self.head, self.filters = data["patterns"], data["head"], data["filters"]
        self.sections = {name: parts for name, _title, parts in data["sections"]}
        self.told = texts_in([data["head"], data["sections"], data["limits"]])

    def _scripts(self, mark):
        return [json.loads(each) for each in re.findall(rf"<script [^>]*{mark}>(.*?)</script>", self.text, re.DOTALL)]

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
    return PageData(page(RunReport(results=results, **keys)))
