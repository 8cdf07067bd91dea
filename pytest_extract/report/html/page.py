"""A run as one HTML page: what it shows is data in the page, which the page's own script draws.

The script makes elements and text of the data, never markup. Without scripts, the page has its headline.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import islice
from string import Template
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_extract.core.aggregate import extract_bench_rates
from pytest_extract.core.aggregate.slices import DIMENSIONS, natural_key, rank_correlations, tag_text
from pytest_extract.core.case_result import Attempt, CaseResult, Outcome, Spending
from pytest_extract.core.mistakes import mistake_kinds
from pytest_extract.core.results import FieldResult, RuleStatus, ScoreRecord, Status
from pytest_extract.core.uncompared import uncompared_text
from pytest_extract.core.values import MISSING, FieldPath, Json, Missing, Step, iter_leaves, places_around, text_digest
from pytest_extract.core.words import first_of, percent, plural, score_number
from pytest_extract.documents import Document, DocumentError
from pytest_extract.documents.evidence import MatchLevel, TextLocation, find_boxes, find_evidence
from pytest_extract.regression.compare import Change, FieldChange
from pytest_extract.regression.gate import GateDecision
from pytest_extract.regression.snapshots import CaseKey, case_key, snapshot
from pytest_extract.regression.suite import RankedVariant, rank_variants
from pytest_extract.report import diff, run_report, summary
from pytest_extract.report.aggregates import correlation_text, ranking_table, slice_table
from pytest_extract.report.findings import FAILED, Finding, findings_of, metric_label, split_known
from pytest_extract.report.lines import (
    NO_VARIANT,
    Table,
    render_error,
    safe_controls,
    safe_prose,
    shorten,
    show,
    text_of,
)
from pytest_extract.report.run_report import Headline, RunReport, headline

Anchors: TypeAlias = Mapping[CaseKey, str]
"""The anchor of each case on the page."""

ICONS: Final = {Outcome.FAILED: "✗", Outcome.ERROR: "!", Outcome.NOT_RUN: "○", Outcome.PASSED: "✓"}
ORDER: Final = (*ICONS,)
"""Outcomes in the order of the page; its data names them by their index."""
LONGEST_NAME: Final = 200
MESSAGE: Final = 1_000
VALUE_WIDTH: Final = 400
"""Characters shown of a value."""
_LONGEST_ANCHOR: Final = 48
_MOST_SENTENCES: Final = 20
MOST_LISTED: Final = 100
"""Rows of a table or a list that is no case's; further ones are counted."""


def anchor(result: CaseResult) -> str:
    """Return the anchor of a case, the same in every run: readable, with a digest because names may be alike."""
    plain = re.sub(r"[^a-z0-9]+", "-", f"{result.case_id} {result.variant.label}"[:1_000].lower()).strip("-")
    digest = text_digest(result.nodeid)[:8]
    return f"{plain[:_LONGEST_ANCHOR].strip('-') or 'case'}-{digest}"


def short_name(text: str) -> str:
    """Return a name that fits its place, without harmful characters."""
    return safe_prose(shorten(text, LONGEST_NAME))


def message(text: str, longest: int = MESSAGE) -> str:
    """Return a sentence that fits its place, without harmful characters."""
    return safe_prose(shorten(text, longest))


def _sentences(texts: Iterable[str], noun: str = "", most: int | None = None) -> list[str]:
    """Return the first sentences, and one that counts the others."""
    return first_of([*map(message, texts)], most or _MOST_SENTENCES, noun)


def document_text(text: str) -> str:
    """Return a text of several lines without harmful characters, as long as it was: offsets in it stay."""
    safe = safe_controls(text)
    if len(safe) == len(text):
        return safe
    longer = [char for char in {*text} if len(safe_controls(char)) > 1]
    return text.translate(dict.fromkeys(map(ord, longer), "\N{REPLACEMENT CHARACTER}"))


def table_data(table: Table, **more: Json) -> dict[str, Any]:
    """Return a table as data, and what else the page needs to draw it."""
    return {
        "title": table.title,
        "heads": [*map(short_name, table.heads)],
        "rows": [[short_name(name), *cells] for name, *cells in table.cells],
        "notes": table.notes,
        "styles": table.styles,
        "paths": table.heads[0] == "field",
        **more,
    }


MOST_DOCUMENTED: Final = 300
"""Cases that are shown beside their document, the first of the list."""
MOST_TEXTS: Final = 6_000_000
"""Characters of all documents."""
MOST_IMAGE_BYTES: Final = 3_000_000
"""Bytes of all images, before they are written as text."""
MOST_PAGES: Final = 40
"""Pages of one PDF that are shown as images: rendering takes time."""
MOST_PLACES: Final = 3
"""Places shown for one value; further ones are counted."""
_MOST_INSIDE: Final = 8
"""Values inside a row or an object that are searched."""
_PAGE_WIDTH: Final = 900
_KINDS: Final[Mapping[str, str]] = {
    "application/pdf": "pdf",
    "text/html": "html",
    "application/xhtml+xml": "html",
    **{f"image/{name}": "image" for name in ("png", "jpeg", "gif", "webp", "bmp", "avif")},
}
"""What is shown in a way of its own; images are those that a browser shows and that hold no script."""


# --- documents: texts, images and pages of PDFs, and where values stand in them


@dataclass(slots=True)
class PageDocument:
    """A document on the page: what finds values in it, and the places and pages (from 1) at which they stand."""

    index: int
    document: Document
    pages: set[int] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)
    has_text: bool = True
    locations: dict[TextLocation, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the file."""
        return short_name("text of the case" if self.document.path is None else self.document.path.name)

    @property
    def kind(self) -> str:
        """How it is shown: `pdf`, `html`, `image`, `text`, or `other`, which no browser shows."""
        media_type = self.document.media_type
        return _KINDS.get(media_type, "other" if media_type.startswith(("image/", "audio/")) else "text")

    def add_problem(self, error: DocumentError) -> None:
        """Note an error, without the path of the file: its name stands there."""
        self.notes[message(str(error).removeprefix(f"{self.document.path}: "))] = None

    def places_of(self, value: Json | Missing) -> tuple[list[int], int]:
        """Return the numbers of a value's places among those of the document, and the count of all its places."""
        if value is MISSING or not self.has_text:
            return [], 0
        if isinstance(value, dict | list):
            leaves = islice(iter_leaves(value), _MOST_INSIDE)
            inside = [found for _, leaf in leaves for found in self.places_of(leaf)[0][:1]]
            return inside, len(inside)
        try:
            evidence = find_evidence(self.document, value, most=MOST_PLACES, nearest=False)
        except DocumentError as error:
            self.has_text = False
            self.add_problem(error)
            return [], 0
        return ([], 0) if evidence is None else ([*map(self._place_of, evidence.locations)], evidence.count)

    def _place_of(self, location: TextLocation) -> int:
        """Return the number of a place, the same for all values that are found there, and show its page."""
        self.pages.add(location.page or 1)
        place = location._replace(level=MatchLevel.FOLDED, similarity=1.0)
        return self.locations.setdefault(place, len(self.locations))

    def places(self) -> list[Json]:
        """Return the places as data: [page, start, end, boxes]; a box is left, top, right and bottom as shares."""
        try:
            boxes = find_boxes(self.document, [*self.locations])
        except DocumentError:
            boxes = [()] * len(self.locations)
        return [
            [location.page or 1, location.start, location.end, [[round(side, 4) for side in box] for box in found]]
            for location, found in zip(self.locations, boxes, strict=True)
        ]


class PageDocuments:
    """The documents of the cases on a page, each once: added case by case, worst first, and written at the end."""

    def __init__(self, run: RunReport) -> None:
        self._run = run
        self._by_digest: dict[str, PageDocument] = {}
        self._cases = 0
        self._text_room, self._image_room = MOST_TEXTS, MOST_IMAGE_BYTES

    @property
    def left_out(self) -> int:
        """Number of cases whose documents are not shown, as so many are."""
        return max(0, self._cases - MOST_DOCUMENTED)

    def of_case(self, result: CaseResult) -> PageDocument | str | None:
        """Return what finds the values of a case in its document, or a sentence why it is not shown; None: unknown."""
        if self._run.find_case is None:
            return None
        self._cases += 1
        if self._cases > MOST_DOCUMENTED:
            return f"The page shows the documents of {MOST_DOCUMENTED} cases; this one's is left out."
        digest = result.digests.get("document", "")
        try:
            case = self._run.find_case(result)
            if case is None:
                return "The case, and with it its document, is not there any more."
            if case.document.sha256 != digest:
                return "The document has changed since the run, so it is not shown."
        except DocumentError as error:
            return message(str(error))
        return self._by_digest.setdefault(digest, PageDocument(len(self._by_digest), case.document))

    def data(self) -> Iterator[dict[str, Json]]:
        """Yield the documents as data."""
        for shown in self._by_digest.values():
            data: dict[str, Json] = {"name": shown.name, "kind": shown.kind, "pages": [], "places": shown.places()}
            try:
                data["pages"] = self._pages(shown)
            except DocumentError as error:
                shown.add_problem(error)
            yield {**data, "notes": [*shown.notes]}
            shown.document.release()

    def _pages(self, shown: PageDocument) -> list[Json]:
        """Return the pages to show as data, as text where they are no image. Raises DocumentError."""
        document, kind = shown.document, shown.kind
        if kind == "other":
            raise DocumentError(f"a browser cannot show {document.media_type}")
        if kind == "image":
            size = len(document.bytes)
            if size > self._image_room:
                raise DocumentError(f"the page has no room for an image of {size:,} bytes")
            self._image_room -= size
            return [{"n": 1, "i": document.data_url}]
        texts = document.pages
        chosen = sorted(shown.pages or {1})
        if self._run.pages == "all" or not shown.has_text:  # where the values of a scan stand, nobody knows
            chosen = [*range(1, len(texts) + 1)]
        elif len(chosen) < len(texts):
            shown.notes[f"{len(chosen):,} of {plural(len(texts), 'page')}: those with a value of the case"] = None
        if kind == "pdf" and self._run.pages != "none" and (images := self._images(shown, chosen)):
            return images
        found: list[Json] = []
        for number in chosen if shown.has_text else ():
            text = document_text(texts[number - 1][: self._text_room])
            self._text_room -= len(text)
            if len(text) < len(texts[number - 1]):
                shown.notes["the page has no room for more text"] = None
                kind = "text"
            found.append({"n": number, "t": text} | ({"h": document.outline()} if kind == "html" else {}))
        return found

    def _images(self, shown: PageDocument, chosen: Sequence[int]) -> list[Json]:
        """Render pages of a PDF (from 1) as images; none where not all fit, but of a scan, which has no text."""
        from pytest_extract.documents.pdf import pdf_images

        wanted = [number - 1 for number in chosen[:MOST_PAGES]]
        if len(wanted) < len(chosen):
            shown.notes[f"images are made of up to {plural(MOST_PAGES, 'page')}"] = None
            if shown.has_text:
                return []
        content, room = shown.document.bytes, self._image_room
        try:
            images = pdf_images(content, shown.name, wanted, form="WEBP", width=_PAGE_WIDTH, most_bytes=room)
        except DocumentError as error:
            shown.add_problem(error)
            return []
        if len(images) < len(wanted):
            shown.notes["the page has no room for more images"] = None
            if shown.has_text:
                self._image_room //= 2  # so that many such PDFs are not rendered in vain for long
                return []
        self._image_room -= sum(len(image.data) for image in images)
        urls = (f"data:image/webp;base64,{base64.b64encode(image.data).decode('ascii')}" for image in images)
        return [
            {"n": number, "i": url, "s": [image.width, image.height]}
            for number, url, image in zip(chosen, urls, images, strict=False)
        ]


# --- bounds of what is shown of cases

MOST_CHARACTERS: Final = 16_000_000
"""Characters of the bodies of all cases together; further cases have a note instead of a body.

Fields that match are listed as long as half of them are left.
"""
MOST_PATTERNS: Final = 200
"""Rows of the table of fields; further patterns are counted."""
MOST_FIELDS: Final = 50
"""Failing fields of an output; further ones are counted."""
MOST_MATCHES: Final = 200
"""Fields of an output that match and are listed; further ones are counted."""
HEAT_COLUMNS: Final = 100
"""Field patterns of the heat map: those that fail most."""
_MOST_REPEATS: Final = 5
_MOST_ARRAYS: Final = 5
_MOST_ROWS: Final = 40
_MOST_COLUMNS: Final = 8
_MOST_VARIANTS: Final = 6
_MOST_OUTPUT: Final = 20_000
_CELL_WIDTH: Final = 60
_GIST: Final = 140
_LEFT_OUT: Final = "The page is full: this case's fields are left out. The results file has them."


def case_data(
    results: Collection[CaseResult],
    worse: Mapping[CaseKey, Mapping[str, FieldChange]],
    patterns: Sequence[tuple[str, summary.PatternCounts]],
    documents: PageDocuments,
    tags: Collection[str] = (),
) -> tuple[list[Json], list[str], list[str]]:
    """Return the list as data, a JSON text for the body of each case, and notes of what was left out.

    What is not green stands first. `worse`: the fields of each case that got so. `patterns`: the fields that fail, the
    worst first, which are columns of the heat map and rows of a table. `tags`: those that the filter asks for.
    """

    def rank(result: CaseResult) -> tuple[object, ...]:
        """Sort by outcome, fields worse than in the baseline, pass rate, and name."""
        fallen = len(worse.get(case_key(result), ()))
        return ORDER.index(result.outcome), -fallen, result.means.get("pass_rate", 0.0), natural_key(result.nodeid)

    labels = sorted({result.variant.label for result in results})
    variants: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        variants.setdefault((result.file, result.case_id), []).append(result)
    columns = [name for name, _ in patterns[:HEAT_COLUMNS]]
    rows: list[Json] = []
    bodies: list[str] = []
    room, with_matches, with_body = MOST_CHARACTERS, 0, 0
    for result in sorted(results, key=rank):
        fallen = worse.get(case_key(result), {})
        body: dict[str, Json] = {"note": _LEFT_OUT}
        if room > 0:
            matches = room > MOST_CHARACTERS // 2
            body = _body(result, fallen, documents, variants[result.file, result.case_id], matches=matches)
            with_body, with_matches = with_body + 1, with_matches + matches
        bodies.append(script_data(body))
        room -= len(bodies[-1])
        rate = result.means.get("pass_rate")
        rows.append(
            [
                anchor(result),
                short_name(result.case_id),
                ORDER.index(result.outcome),
                labels.index(result.variant.label),
                len(fallen),
                "" if result.outcome is Outcome.PASSED else message(summary.reason_of(result), _GIST),
                None if rate is None else round(rate, 6),
                [[short_name(name), short_name(tag_text(result.tags, name))] for name in result.tags if name in tags],
                _heat(result, columns),
                [index for index, (_, tally) in enumerate(patterns[:MOST_PATTERNS]) if result.nodeid in tally.cases],
                sorted(mistakes_of(result)),
            ]
        )
    limits = []
    if len(patterns) > HEAT_COLUMNS:
        limits.append(f"{HEAT_COLUMNS} of {plural(len(patterns), 'field')} that fail are in the heat map, the worst")
    of = plural(len(results), "case")
    if with_matches < len(results):
        limits.append(f"fields that match are listed in {with_matches:,} of {of}, and counted in the others")
    if with_body < len(results):
        limits.append(f"{with_body:,} of {of} have room for their fields, what is not green first")
    if documents.left_out:
        limits.append(f"{plural(documents.left_out, 'case')} without a document: {MOST_DOCUMENTED} have theirs")
    return rows, bodies, limits


def mistakes_of(result: CaseResult) -> set[str]:
    """Return what the filter of mistakes knows of a case: the statuses of failing fields and the kinds of mistakes."""
    statuses = {item.status.text for score in result.scores for item in score.leaves if item.status in FAILED}
    return statuses | {kind.replace("_", " ") for score in result.scores for kind in mistake_kinds(score)}


_LETTERS: Final[Mapping[Status, str]] = {
    Status.MISMATCH: "x",
    Status.OMISSION: "o",
    Status.HALLUCINATION: "h",
    Status.JUDGE_ERROR: "j",
    Status.MATCH: "m",
}
"""Letters of the heat map, the worst status first."""


def _heat(result: CaseResult, columns: Sequence[str]) -> str:
    """Return a letter for each column of the heat map: the worst status, upper case where all values fail."""
    if any(score.failure is not None and not score.readable for score in result.scores):
        return "!" * len(columns)
    found: dict[str, set[Status]] = {name: set() for name in columns}
    for leaf in (leaf for score in result.scores for leaf in score.leaves if leaf.pattern in found):
        found[leaf.pattern].add(leaf.status)
    heat = ""
    for statuses in found.values():
        worst = next((letter for status, letter in _LETTERS.items() if status in statuses), ".")
        heat += worst if Status.MATCH in statuses else worst.upper()
    return heat


# --- the body


class _Shown(NamedTuple):
    """A case that is shown; `worse`: fields that got so, `evidence`: finds values, `matches`: those are listed, too."""

    result: CaseResult
    worse: Mapping[str, FieldChange]
    evidence: PageDocument | None
    matches: bool


def _body(
    result: CaseResult,
    worse: Mapping[str, FieldChange],
    documents: PageDocuments,
    variants: Sequence[CaseResult],
    *,
    matches: bool,
) -> dict[str, Json]:
    """Return all that is shown of a case, and of the `variants` of it; never raises."""
    try:
        bad = [attempt for attempt in result.attempts if attempt.outcome is not Outcome.PASSED]
        listed = bad[:_MOST_REPEATS] or result.attempts[:1]  # a green case may have failing fields
        evidence = documents.of_case(result) if any(attempt.score is not None for attempt in listed) else None
        found = evidence if isinstance(evidence, PageDocument) else None
        case = _Shown(result, worse, found, matches)
        bounds = _sentences((breach.message for breach in result.breaches), "bound")
        if not bounds and result.why and result.outcome is not Outcome.PASSED:
            bounds = [message(result.why)] if result.why not in {each.error for each in result.attempts} else []
        body: dict[str, Json] = {"facts": _facts(result), "bounds": bounds}
        if len(result.attempts) > 1:
            left = len(bad) - _MOST_REPEATS
            more = f" {plural(left, 'more repeat')} not green." if left > 0 else ""
            body["repeats"] = f"{diff.repeats_text(result)}.{more}"
        body["attempts"] = [_attempt(case, each) for each in listed]
        if evidence is not None:
            body |= {"nodoc": evidence} if found is None else {"doc": found.index}
        return body | _side_by_side(variants)
    except Exception as error:  # noqa: BLE001  # one case that cannot be shown must not take the page along
        return {"note": f"{render_error('this case', error)}."}


def _side_by_side(variants: Sequence[CaseResult]) -> dict[str, Json]:
    """Return the fields that are wrong in one of several variants of a case, with the value of each."""
    if len(variants) < 2:
        return {}
    shown = variants[:_MOST_VARIANTS]
    leaves = [
        {
            str(leaf.path): leaf  # of several metrics at a place, one that failed
            for attempt in each.attempts[:1]
            if attempt.score
            for leaf in sorted(attempt.score.leaves, key=lambda leaf: leaf.status in FAILED)
        }
        for each in shown
    ]
    wrong = dict.fromkeys(path for found in leaves for path, leaf in found.items() if leaf.status in FAILED)
    rows = []
    for path in wrong:
        found = [each.get(path) for each in leaves]
        gold = next((leaf.gold for leaf in found if leaf is not None and leaf.gold is not MISSING), MISSING)
        cells = [leaf and (show(leaf.extracted, _CELL_WIDTH) if leaf.status in FAILED else "✓") for leaf in found]
        rows.append((path, show(gold, _CELL_WIDTH), *cells))
    names = [f"{short_name(each.variant.label) or NO_VARIANT}: {each.outcome.text}" for each in shown]
    left = len(variants) - len(shown)
    notes = [f"… and {plural(left, 'more variant')}"] if left else []
    table = Table(("field", "gold", *names), rows, "Variants side by side", notes).first(_MOST_ROWS, "field")
    return {"variants": table_data(table)} if rows else {}


def _facts(result: CaseResult) -> list[Json]:
    facts = [("case", result.nodeid)]
    if result.variant.label:
        facts.append(("model", result.variant.label))
    means = result.means
    facts += [summary.measure_text(name, means[name]) for name in summary.MEASURES if name in means]
    spent = summary.spending_facts(Spending.of([result]))
    facts += [(name, f"{value} ({note})" if note else value) for name, value, note in spent]
    if empty := summary.mostly_empty(result):
        facts.append((summary.BY_EMPTINESS, empty))
    if result.uncompared:
        facts.append(("note", uncompared_text(*summary.uncompared_places(result))))
    facts += [(name, tag_text(result.tags, name)) for name in result.tags]
    return [[short_name(name), message(value)] for name, value in facts]


def _attempt(case: _Shown, attempt: Attempt) -> dict[str, Json]:
    """Return one output: its error, its failure, failed gates, fields, rows, counts, and its text."""
    result = case.result
    data: dict[str, Json] = {}
    if len(result.attempts) > 1:
        data["title"] = f"Repeat {attempt.index + 1} of {len(result.attempts)}: {attempt.outcome.text}"
        data["bounds"] = _sentences((each.message for each in attempt.breaches), "bound")
    if attempt.error is not None:
        data["error"] = "\n".join(_sentences(attempt.error.splitlines(), "line"))
    if attempt.score is not None:
        data |= _score(case, attempt.score)
    data["notes"] = _sentences((f"Note: {note}" for note in attempt.notes), "note")
    if attempt.output is not None and attempt.outcome is not Outcome.PASSED:
        data["output"] = _output(attempt)
    return data


def _output(attempt: Attempt) -> dict[str, Json]:
    """Return the raw output, and the offset of the place at which it could not be read."""
    output = attempt.output
    text = output if isinstance(output, str) else json.dumps(output, indent=1, ensure_ascii=False, default=repr)
    failure = None if attempt.score is None else attempt.score.failure
    start = 0
    data: dict[str, Json] = {}
    if failure is not None and failure.line and isinstance(output, str):
        at = diff.offset_of(failure, text)
        start = max(0, at - _MOST_OUTPUT // 2)
        data["at"] = at - start
    shown = text[start : start + _MOST_OUTPUT]
    data["text"] = document_text(shown)
    if len(shown) < len(text):
        data["left"] = f"{plural(len(text) - len(shown), 'more character')} in the results file"
    return data


def _score(case: _Shown, score: ScoreRecord) -> dict[str, Json]:
    if score.failure is not None and not score.readable:
        return {"gates": [[diff.failure_title(score.failure), message(score.failure.message)]]}
    counted, excused = split_known(score, case.result.known)
    bad = findings_of(counted, mistakes=score.mistakes)
    around = {each for path in case.worse for each in places_around(path)}

    def was_right(finding: Finding) -> bool:
        return not around.isdisjoint(map(str, finding.paths))

    first = sorted(bad, key=was_right, reverse=True)  # stable: worst first among both
    data: dict[str, Json] = {
        "gates": [
            *([f"{gate.name} gate", message(gate.why)] for gate in score.gates.failed),
            *(
                [f"rule, {rule.status.text}", message(f"{rule.name}: {rule.message}")]
                for rule in score.rules
                if rule.status is not RuleStatus.HELD
            ),
        ],
        "fields": [_field(case, item, was_right=was_right(item)) for item in first[:MOST_FIELDS]],
        "counts": f"{diff.counts_text(counted, excused, score)}.",
    }
    left = sum(item.stands_for for item in first[MOST_FIELDS:])
    if left:
        data["more"] = f"… {plural(left, 'more failing field')}; the results file has them."
    if excused and (excused_bad := findings_of(excused, folded=False)):
        data["known"] = [_field(case, item) for item in excused_bad[:MOST_FIELDS]]
        data["all_known"] = len(excused_bad)
    if bad:
        data["rows"], left = _row_tables(counted)
        if left:
            data["more_rows"] = f"… {plural(left, 'more list')} with wrong rows; the results file has them."
    if case.matches:
        matches = [item for item in counted if item.status is Status.MATCH]
        data["matches"] = [_match(case, item) for item in matches[:MOST_MATCHES]]
        data["all_matches"] = len(matches)
    return data


def _field(case: _Shown, finding: Finding, *, was_right: bool = False) -> dict[str, Json]:
    """Return a failing comparison: path, status, metric, both values, notes, and where the values stand.

    `was_right`: in what the run is compared with, it or one of the fields that the finding sums up was right.
    """
    item = finding.result
    sides = {side: text for side, text, _ in diff.shown_values(item, VALUE_WIDTH)}
    data: dict[str, Json] = {
        "p": short_name(str(item.path)),
        "s": item.status.text,
        "m": short_name(metric_label(item)),
        "n": [
            [span.text if span.style == "plain" else [span.text, span.style] for span in note]
            for note in diff.finding_notes(finding, diff.finding_difference(item, VALUE_WIDTH), VALUE_WIDTH, cite=True)
        ],
    }
    if sides:
        data |= {"g": sides.get("gold"), "x": sides.get("extracted")}
    if was_right:
        data["w"] = "right before"
    before = case.worse.get(str(item.path)) if was_right else None
    if before is not None:
        data["b"] = None if before.value_before is MISSING else show(before.value_before, VALUE_WIDTH)
    if (evidence := case.evidence) is not None:
        for key, value in (("eg", item.gold), ("ex", item.extracted)):
            found, count = evidence.places_of(value)
            if found:
                data |= {key: found, f"{key}n": count}
            elif evidence.has_text and type(value) in (str, int, float) and value != "":
                data[key] = []  # it stands nowhere in the document
    return data


def _match(case: _Shown, item: FieldResult) -> list[Json]:
    places, _count = ([], 0) if case.evidence is None else case.evidence.places_of(item.gold)
    return [short_name(str(item.path)), show(item.gold, _CELL_WIDTH * 2), *([places] if places else [])]


# --- rows as they were matched


def _row_tables(counted: Sequence[FieldResult]) -> tuple[list[dict[str, Json]], int]:
    """Return a table for each array of objects with differences, and how many are left out.

    A row has the number of the gold row, that of the extracted row, and their values.
    """
    arrays: dict[tuple[Step, ...], dict[int, list[FieldResult]]] = {}
    for item in counted:
        at = next((index for index in range(len(item.path) - 2, -1, -1) if isinstance(item.path[index], int)), None)
        if at is not None:
            arrays.setdefault(item.path[:at], {}).setdefault(int(item.path[at]), []).append(item)
    found = []
    for place, members in arrays.items():
        bad = {row: items for row, items in members.items() if any(item.status in FAILED for item in items)}
        found += [(place, bad, len(members))] if bad else []
    return [_row_table(*each) for each in found[:_MOST_ARRAYS]], max(len(found) - _MOST_ARRAYS, 0)


def _row_table(place: tuple[Step, ...], bad: Mapping[int, Sequence[FieldResult]], total: int) -> dict[str, Json]:
    size = len(place) + 1
    names = {str(FieldPath(item.path[size:])): None for items in bad.values() for item in items}
    columns = [*names][:_MOST_COLUMNS]
    rows: list[Json] = []
    for index, items in sorted(bad.items(), key=lambda each: (each[0] < 0, abs(each[0])))[:_MOST_ROWS]:
        matched = next((item.matched for item in items if item.matched and len(item.matched) >= size), None)
        other = index if matched is None else matched[size - 1]
        is_missing = {item.status for item in items} == {Status.OMISSION}
        cells: dict[str, Json] = {}
        for item in items:
            sides = [None if side is MISSING else show(side, _CELL_WIDTH) for side in (item.gold, item.extracted)]
            cells[str(FieldPath(item.path[size:]))] = [item.status.text, *sides]
        rows.append([None if index < 0 else index, None if is_missing else other, [*map(cells.get, columns)]])
    left_out = ((total - len(rows), "more row"), (len(names) - len(columns), "further field"))
    notes = ", ".join(plural(count, noun) for count, noun in left_out if count > 0)
    return {"p": short_name(str(FieldPath(place))), "c": [*map(short_name, columns)], "r": rows, "n": notes}


# --- the page

Parts: TypeAlias = list[tuple[str, Any]]
"""What a section shows, one below the other: the kind of each part, by which the script draws it, and its content."""

_ICONS: Final = {"good": "✓", "bad": "✗", "warn": "!"}
MOST_VARIANTS: Final = 50
"""Variants in the table and the filter; further ones are counted."""
_SENTENCE: Final = 300
_MAIN_REASON: Final = 600
_TITLE: Final = 120
_LINE_WIDTH: Final = 400


def page(run: RunReport) -> str:
    """Write a run as HTML.

    The page loads nothing and allows no script but its own. Text of documents and models is escaped. Long values, long
    lists, documents and many cases are cut, with a note.
    """
    head = headline(run)
    style, script = _asset("page.css"), _asset("page.js")
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    data, bodies, documents = _page_data(run, head)
    told = {
        "policy": f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
        "title": f"{_ICONS[head.tone]} {shorten(f'{head.word}: {head.text}' if head.text else head.word, _TITLE)}",
        "tone": head.tone,
        "icon": _ICONS[head.tone],
        "word": head.word,
        "why": shorten(head.text, _MAIN_REASON),
        "written": shorten(run.written, _SENTENCE),
    }
    return Template(_asset("page.html")).substitute(
        {name: html.escape(_readable(text)) for name, text in told.items()},
        style=style,
        script=script,
        data=script_data(data),
        bodies=_scripts("body", bodies),
        documents=_scripts("document", map(script_data, documents)),
    )


def _asset(name: str) -> str:
    return (resources.files("pytest_extract.report.html") / name).read_text(encoding="utf-8")


def _scripts(kind: str, texts: Any) -> str:
    return "\n".join(f'<script type="application/json" class="{kind}">{text}</script>' for text in texts)


def script_data(value: Any) -> str:
    """Return JSON that can stand in a `script` element: no `<` can end it, no lone surrogate breaks the file."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return safe.encode("utf-8", "replace").decode("utf-8")


def _readable(value: Any) -> Any:
    """Return text, and all text inside of lists and mappings, without harmful characters."""
    if isinstance(value, str):
        return value if value.isprintable() else "\n".join(map(safe_prose, value.split("\n")))
    if isinstance(value, dict):
        return {name: _readable(each) for name, each in value.items()}
    return [_readable(each) for each in value] if isinstance(value, list | tuple) else value


def _page_data(run: RunReport, head: Headline) -> tuple[dict[str, Any], list[str], Iterator[dict[str, Json]]]:
    """Return what the page shows, the bodies of the cases as JSON, and the documents."""
    variants = sorted(run.totals.variants)
    patterns = summary.worst_patterns(run.totals.fields)
    worse = fallen_fields(run.judged)
    anchors = {case_key(result): anchor(result) for result in run.results}
    documents = PageDocuments(run)
    values: dict[str, dict[str, None]] = {}
    for result in run.results:
        for name in result.tags:
            values.setdefault(name, {}).setdefault(tag_text(result.tags, name))
    tags = {name: sorted(each, key=natural_key) for name, each in values.items() if 1 < len(each) <= MOST_LISTED}
    rows, bodies, limits = case_data(run.results, worse, patterns, documents, tags)
    compared = [*comparison_parts(run.judged, anchors, is_gate=run.gate == "regression")]
    if compared and len(variants) > 1 and run.gate != "regression":
        compared = [("fold", {"title": "Differences, pair by pair", "parts": compared})]
    repeats = [text_of(line) for line in run_report.repeat_lines(run.results)] if run.totals.repeated else []
    remarks = summary.remark_lines(run.totals.remarks, width=_LINE_WIDTH)
    notes = [text_of(line).strip() for line in (*remarks, *run.lines)]
    more = [part for part in (("pre", repeats), ("list", notes)) if part[1]]
    slices = [slice_table(each, view=run.view) for each in run.slices if each.is_known]
    sections: list[tuple[str, str, Parts]] = [
        ("overview", "Overview", _overview(run)),
        ("mistakes", "Mistakes in case files", _mistakes(run)),
        ("ranking", "Ranking", _ranking(run)),
        ("compared", "What changed", compared),
        ("fields", "Fields", _fields(run.totals, variants)),
        *((name, "", [("drawn", None)]) for name in ("cases", "heat")),  # the page has them already
        ("slices", "Slices", [*map(_table, slices)]),
        ("lists", "Lists to the end", [*map(_table, summary.list_tables(run.results))]),
        ("altered", "Altered documents", [*map(_table, summary.altered_tables(run.results))]),
        ("more", "Repeats" if run.totals.repeated else "Notes", more),
        ("plots", "Pass rate by size", [*_size_plots(run.results)]),
    ]
    names, counts = [short_name(variant) or NO_VARIANT for variant in variants], run.totals.outcomes
    mistakes = Counter(mistake for result in run.results for mistake in mistakes_of(result))
    models = sorted({result.variant.model for result in run.results if result.variant.model and not run.runs})
    facts = {**run.facts, "model" if len(models) == 1 else "models": ", ".join(models)}  # a table names runs
    told = {
        "head": {
            "text": shorten(head.text, _MAIN_REASON),
            "reasons": first_of([shorten(text, _SENTENCE) for text in head.reasons], _MOST_SENTENCES),
            "steps": [shorten(step, _SENTENCE) for step in run_report.next_steps(run)],
            "facts": [(name, shorten(text, _SENTENCE)) for name, text in facts.items() if text],
        },
        "sections": [section for section in sections if section[2]],
        "filters": {
            "outcomes": [(str(each), f"{each.text} ({counts[each]:,})", ICONS[each]) for each in ORDER if counts[each]],
            "variants": [*enumerate(names[:MOST_VARIANTS])],
            "tags": [(short_name(name), [*map(short_name, each)]) for name, each in tags.items()],
            "mistakes": [(name, f"{name} ({mistakes[name]:,})") for name in sorted(mistakes)],
            "worse": bool(worse),
        },
        "outcomes": [[str(each), each.text, ICONS[each]] for each in ORDER],
        "variants": names,
        "patterns": [short_name(name) for name, _ in patterns[:HEAT_COLUMNS]],
        "limits": limits,
    }
    return {**_readable(told), "rows": rows}, bodies, documents.data()


def _table(table: Table) -> tuple[str, Any]:
    return "table", table_data(table)


def _overview(run: RunReport) -> Parts:
    totals = run.totals
    hindered = [*summary.failure_lines(totals, width=_LINE_WIDTH)]
    hindered += summary.auto_accept_lines(totals.auto_accept.decisions, width=_LINE_WIDTH)
    told: Parts = [("list", [text_of(line).strip() for line in hindered])] if hindered else []
    if len(totals.variants) > 1:  # numbers of several variants together are those of none
        return told
    shares = [(str(each), totals.outcomes[each] / totals.cases) for each in ORDER if totals.outcomes[each]]
    fields, spent = totals.fields.values(), summary.spending_facts(totals.spending + run.reruns, run.reruns)
    wrong, total = sum(tally.wrong for tally in fields), sum(tally.total for tally in fields)
    tiles = [(each.text, f"{totals.outcomes[each]:,}", str(each)) for each in ORDER if totals.outcomes[each]]
    tiles += [(*summary.measure_text(name, value), "") for name, value in totals.means.items()]
    tiles += [("values wrong", f"{wrong:,} of {total:,}", "")] if total else []
    tiles += [(f"{name} ({note})" if note else name, value, "") for name, value, note in spent]
    if run.judge.calls:
        tiles.append(("judge", plural(run.judge.calls, "call"), ""))
        tiles.append(("cost of the judge", run.judge.cost_text, ""))
    parts: Parts = [("shares", shares), ("tiles", tiles)]
    if totals.mistakes:
        counts = sorted(totals.mistakes.items(), key=lambda item: (-item[1], item[0]))
        parts.append(("kinds", [(kind, f"{number:,}") for kind, number in counts]))
    return parts + told


def _mistakes(run: RunReport) -> Parts:
    if not run.mistakes:
        return []
    rows = "\n".join(run.mistakes).replace(f"{run.root.absolute()}{os.sep}", "").splitlines()
    told = "These cases are in no number below: their files could not be read."
    return [("text", told), ("pre", _sentences(rows, "line", MOST_LISTED))]


def _fields(totals: summary.RunTotals, variants: Sequence[str]) -> Parts:
    parts: Parts = []
    if bad := summary.worst_patterns(totals.fields):
        table = summary.worst_fields_table(bad, variants[:_MOST_VARIANTS] if len(variants) > 1 else ())
        shares = [tally.wrong / tally.total for _, tally in bad[:MOST_PATTERNS]]
        told = "Worst first: by what they lose in score over all cases. The number of cases filters the list of cases."
        parts = [("text", told), ("fields", table_data(table.first(MOST_PATTERNS, "field"), shares=shares))]
    fine = [short_name(name) for name, tally in totals.fields.items() if not tally.wrong]
    if fine:
        title = plural(len(fine), "field has no failure", "fields have no failure")
        parts.append(("fold", {"title": title, "parts": [("list", first_of(fine, MOST_PATTERNS))]}))
    return parts


def _ranking(run: RunReport) -> Parts:
    """Return the variants, the best first, and their quality by their cost; runs over time in their order."""
    totals = run.totals
    if len(totals.variants) < 2:
        return []
    if run.runs:
        table = summary.variant_table(totals.variants).first(MOST_VARIANTS, "run")
        return [_table(replace(table, columns=("run", *table.columns[1:]))), *_run_plot(totals.variants, run.runs)]
    places = rank_variants(snapshot(run.results))
    table = ranking_table(places, totals.variants).first(MOST_VARIANTS, "variant")
    return [_table(table), *_cost_plot(places)]


# --- a comparison with a baseline or between variants: decision, changed fields, uncompared cases

MOST_OPEN: Final = 12
"""Changed fields that are listed without a click."""
MOST_REPEATS: Final = 50
"""Changes listed for one field pattern."""


def fallen_fields(judged: GateDecision | None) -> Mapping[CaseKey, Mapping[str, FieldChange]]:
    """Map each case to its fields that were right before and are wrong now, by path."""
    found: dict[CaseKey, dict[str, FieldChange]] = {}
    for variant in judged.comparison.variants if judged is not None else ():
        for change in variant.fields:
            if change.kind is Change.FELL:
                found.setdefault(CaseKey(change.case, variant.after), {})[change.path] = change
    return found


def comparison_parts(judged: GateDecision | None, anchors: Anchors, *, is_gate: bool) -> Iterator[tuple[str, Any]]:
    """Yield what the page shows of a comparison, what got worse first; nothing if nothing was compared.

    `is_gate`: the regression gate judges the run by it.
    """
    if judged is None:
        return
    title = run_report.comparison_title(judged, is_gate=is_gate)
    verdict = {
        "title": message(title[0].upper() + title[1:] if is_gate else title),
        "answer": str(judged.answer),
        "tone": run_report.ANSWER_STYLE[judged.answer],
        "reasons": _sentences([*judged.reasons, *judged.warnings, *judged.advice], most=MOST_LISTED),
        "notes": _sentences([*run_report.basis_texts(judged), *judged.notes], most=MOST_LISTED),
    }
    yield "verdict", verdict
    for variant in judged.comparison.variants:
        shown = run_report.shown_variant(variant, judged, MOST_LISTED)
        yield "head", f"{short_name(variant.label)}: {shown.title}" if variant.label else shown.title
        if shown.effects:
            yield "list", shown.effects
        yield from map(_table, shown.tables)
        for kind, ranked in shown.changes:
            left = sum(len(found) for _, found in ranked[MOST_LISTED:])
            changes = {
                "title": f"{plural(sum(len(found) for _, found in ranked), 'field')} {kind}",
                "open": kind is Change.FELL and len(ranked) <= MOST_OPEN,
                "groups": [_group(pattern, found, variant.after, anchors) for pattern, found in ranked[:MOST_LISTED]],
                "left": f"… and {plural(left, 'more field')}; the cases have them." if left else "",
            }
            yield "changes", changes
        for kind, cases in shown.apart:
            listed = [("list", _sentences(cases, most=MOST_LISTED))]
            yield "fold", {"title": f"{plural(len(cases), 'case')} {kind}", "parts": listed}


def _group(pattern: str, changes: Sequence[FieldChange], variant: str, anchors: Anchors) -> dict[str, Any]:
    """Return the changes of a field pattern: their mistakes by kind, and a row for each with its case."""
    kinds = Counter(change.mistake.kind.replace("_", " ") for change in changes if change.mistake is not None)
    rows = []
    for change in changes[:MOST_REPEATS]:
        case = short_name(change.case.rpartition("::")[2] or change.case)
        sides = change.gold, change.value_before, change.value_after
        values = ["" if change.path.startswith("(") else show(side, VALUE_WIDTH) for side in sides]  # "(root gate)"
        mistake = "" if change.mistake is None else message(change.mistake.text)
        rows.append((change.path, case, *values, "; ".join(filter(None, (mistake, run_report.rates_text(change))))))
    left = len(changes) - len(rows)
    notes = [f"and {left:,} more; the cases have them"] if left else []
    heads = ("field", "case", "gold", "before", "now", "mistake")
    return {
        "pattern": short_name(pattern),
        "count": len(changes),
        "mistakes": ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common()),
        "table": table_data(Table(heads, rows, notes=notes)),
        "anchors": [anchors.get(CaseKey(change.case, variant)) for change in changes[:MOST_REPEATS]],
    }


# --- plots as data: pass rate by size, scores over runs, quality by cost

MOST_POINTS: Final = 400
"""Cases drawn in a plot; of more, every n-th."""
_FEWEST_POINTS: Final = 20
"""Cases from which on a plot says more than a list."""
_SIZES: Final = ("output-size", "breadth", "depth")
COLOURS: Final = 6
"""Variants with a colour of their own; further ones share the last."""


class _Point(NamedTuple):
    """A point of a plot: how far right, a share, what it belongs to, and what it says."""

    x: float
    share: float
    series: str
    text: str


def _plot(title: str, text: str, label: str, points: Sequence[_Point], *, logarithmic: bool = False) -> Parts:
    """Return a plot in which the points of each series are joined; nothing where all are one below the other."""
    if len({point.x for point in points}) < 2:
        return []
    series = [*dict.fromkeys(point.series for point in points)]
    names = series if len(series) <= COLOURS else [*series[: COLOURS - 1], plural(len(series) - COLOURS + 1, "other")]
    drawn = [(x, share, min(series.index(one), COLOURS - 1), told) for x, share, one, told in points]
    about = {"title": title, "text": text, "label": label, "logarithmic": logarithmic}
    return [("plot", {**about, "names": names, "points": drawn})]


def _size_plots(results: Iterable[CaseResult]) -> Iterator[tuple[str, Any]]:
    """Plot the pass rate of each case by the values of its gold, the fields of its schema, and its depth."""
    rates = [(result, rate) for result in results if (rate := extract_bench_rates(result.scores).pass_rate) is not None]
    rates.sort(key=lambda item: item[0].variant.label)  # of many points, some of each variant are drawn
    for name in _SIZES:
        dimension = DIMENSIONS[name]
        points = []
        for result, rate in rates:
            size = None if dimension.size is None else dimension.size(result)
            if size is not None:
                told = short_name(", ".join(filter(None, (result.case_id, result.variant.label))))
                variant = short_name(result.variant.label) or NO_VARIANT
                points.append(_Point(size, rate, variant, f"{told}: {size:,}, {percent(rate)}"))
        if len(points) >= _FEWEST_POINTS and len({point.share for point in points}) > 1:
            correlations = rank_correlations((point.series, float(point.x), point.share) for point in points)
            told = f"; rank correlation {correlation_text(correlations)}" if correlations else ""
            drawn = points[:: -(-len(points) // MOST_POINTS)]
            text = f"{plural(len(points), 'case')}{told}"
            yield from _plot(f"Pass rate by {name.replace('-', ' ')}", text, dimension.doc, drawn, logarithmic=True)


def _cost_plot(places: Sequence[RankedVariant]) -> Parts:
    """Plot the fields that are right by the cost of a call, a point a variant."""
    points = []
    for place in places:
        if place.cost_usd and place.right is not None:
            name = short_name(place.variant) or NO_VARIANT
            told = f"{name}: fields right {percent(place.right)}, ${place.cost_usd:.3g} a call"
            points.append(_Point(round(1e6 * place.cost_usd, 1), place.right, name, told))
    label = "cost of a call, in millionths of a dollar"
    return _plot("Quality by cost", "up and to the left is better", label, points, logarithmic=True)


def _run_plot(variants: Mapping[str, summary.VariantTotals], runs: Sequence[str]) -> Parts:
    """Plot the measures over runs (labels of variants, the first run first)."""
    shown = [label for label in runs if label in variants and variants[label].means]
    points = [
        _Point(at, value, name, f"{short_name(label)}: {name} {score_number(value)}")
        for name in summary.MEASURES
        for at, label in enumerate(shown, start=1)
        if (value := variants[label].means.get(name)) is not None
    ]
    return _plot("Score over runs", f"{plural(len(shown), 'run')}, the first one left.", "", points)
