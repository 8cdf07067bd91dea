"""Writes into the files of cases: a value such as a gold, with the rest left as it is; and the reviews of golds.

A changed value keeps its quoting. What a mapping or list loses is taken out; what it gains is put behind its last part.
A list of which it is not known which row is gone is written anew as a whole in the style it had. Comments,
order and spacing everywhere else stay, and so do line ends where all are alike. The result is read again before it is
used.

The review of a gold is kept in a file beside it: whether people have reviewed it, what is open, and who decided what.
`acme.gold.json` has `acme.gold.review.json`. The golds of a case file or dataset share one file, by case id. A gold
without such an entry counts as reviewed: whoever wrote it by hand has seen it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pytest_extract.cases.model import Case
from pytest_extract.cases.sources import SourceFile, Steps, language_of, parse_source, reached, read_text, read_value
from pytest_extract.core.result_json import from_json, to_json
from pytest_extract.core.values import MISSING, Json, Missing, canonical_json, replaced
from pytest_extract.errors import CaseFileError, StoreError
from pytest_extract.files import MOST_BULK_BYTES, read_regular, write_atomic

_PLAIN = re.compile(r"[A-Za-z_](?:[\w ./+()%@-]*[\w./+()%@])?")
_YAML_WORDS: Final = frozenset(("null", "true", "false", "yes", "no", "on", "off"))
"""Words that YAML 1.1 or 1.2 readers do not read as texts."""
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_INDENT = re.compile(r"\n([ \t]+)\S")
_REST_OF_PART = re.compile(r"[ \t]*(?P<comma>,?)[ \t]*(?P<comment>#.*)?")


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def with_value(source: SourceFile, steps: Steps, value: Json, removed: Collection[Steps] = ()) -> str:
    """Return the source's text with `value` at `steps`; `removed`: the places in the source of the rows that it lacks.

    Raises StoreError when the value is no JSON (NaN), or the text cannot be changed so that it reads back as wanted.
    """
    old, editor = reached(source.value, steps), _Editor(source, removed)
    for edits in (editor.by_part, editor.anew):
        try:
            parts, end = [], len(source.text)  # from the end to the start
            # the stable order puts what is added to an inner block before what is added, at its place, to the outer
            for edit in sorted(edits(steps, old, value), key=lambda edit: edit.start, reverse=True):
                parts += [source.text[edit.end : end], edit.text]
                end = edit.start
        except ValueError as error:
            raise StoreError(f"{source.path}: the value is no JSON: {error}") from None
        text = "".join((source.text[:end], *reversed(parts)))
        if _is_right(source, text, steps, value):
            return text
    raise StoreError(f"{source.path}: the value cannot be written without touching more; write it by hand")


def new_text(value: Json, *, is_yaml: bool) -> str:
    """Return the text of a file of its own for a value: indented JSON, or blocks of YAML."""
    if is_yaml and isinstance(value, (dict, list)) and value:
        return "\n".join(_block_lines(value)) + "\n"
    return _dumped(value, indent="  ") + "\n"


def _is_right(source: SourceFile, text: str, steps: Steps, value: Json) -> bool:
    """Whether a text reads back as the source with another value in one place."""
    try:
        read = parse_source(source.path, text, source.language, source.first_line)
        if read.mistakes or canonical_json(reached(read.value, steps)) != canonical_json(value):
            return False
        before, after = (replaced(whole, steps, None) for whole in (source.value, read.value))
        return canonical_json(before) == canonical_json(after)
    except (CaseFileError, LookupError, TypeError):
        return False


class _Editor:
    """Finds the smallest parts of a text that have to be written anew."""

    def __init__(self, source: SourceFile, removed: Collection[Steps]) -> None:
        self._text = text = source.text
        self._is_json = source.language == "json"
        self._spans = source.ranges()
        self._removed = frozenset(removed)
        # how its JSON is written: indented, without a space behind the colons of keys, in ASCII
        self._indent = found.group(1) if (found := _INDENT.search(text)) else None
        self._is_tight = '": ' not in text and '":' in text
        self._ascii_only = text.isascii() and "\\u" in text

    def _json(self, value: Json, base: str | None) -> str:
        """Write a value as JSON is written here; `base`: the indentation of its line where it may have several."""
        indent = None if base is None else self._indent
        separators = (",", ":") if self._is_tight else None
        text = _dumped(value, indent=indent, separators=separators, ascii_only=self._ascii_only)
        return text.replace("\n", f"\n{base}")

    def by_part(self, steps: Steps, old: Json, new: Json) -> Iterator[_Edit]:
        """Yield what makes one value of another, as little as can be."""
        if type(old) is type(new) and canonical_json(old) == canonical_json(new):
            return
        kept = self._kept(steps, old, new)
        if kept is None:
            yield from self.anew(steps, old, new)
            return
        keys = [*old] if isinstance(old, dict) else range(len(old))
        yield from self._lost(steps, keys, {before for before, _ in kept})
        yield from self._gained(steps, new, kept)
        for before, after in kept:
            yield from self.by_part((*steps, before), old[before], new[after])

    def anew(self, steps: Steps, old: Json, new: Json) -> Iterator[_Edit]:
        """Yield the whole value, in the style that it had."""
        span, column = self._spans[steps], self._column(steps)
        text = self._text[span.start : span.end]
        # a YAML list may stand right below its key, and nothing else may
        is_below = isinstance(old, list) and text.startswith("-") and steps and column == self._column(steps[:-1])
        shift = 2 if is_below and not (isinstance(new, list) and new) else 0
        gap = " " if not text and span.start and not self._text[span.start - 1].isspace() else ""
        if self._is_json:
            line = self._text[span.start - column : span.start]
            in_lines = "\n" in text or text[:1] not in "[{"
            made = gap + self._json(new, line[: len(line) - len(line.lstrip())] if in_lines else None)
        elif not isinstance(new, (dict, list)):
            made = gap + _scalar(new, text)
        elif new and isinstance(old, (dict, list)) and text[:1] not in "[{!":
            made = _as_block(new, column + shift)
        else:
            made = gap + _dumped(new)
        yield _Edit(span.start, span.end, " " * shift + made)

    def _kept(self, steps: Steps, old: Any, new: Any) -> list[tuple[Any, Any]] | None:
        """Return old and new key, or index, of each part that stays, where only parts need an edit; else None."""
        if isinstance(old, dict) and isinstance(new, dict):
            kept = [(key, key) for key in old if key in new]
        elif isinstance(old, list) and isinstance(new, list):
            left = [index for index in range(len(old)) if (*steps, index) not in self._removed]
            kept = [(index, place) for place, index in enumerate(left[: len(new)])]
            before, after = [old[index] for index, _ in kept], new[: len(kept)]
            if len(left) != len(new) and canonical_json(before) != canonical_json(after):
                return None  # which row is gone is unknown, so a comment could end up beside another row
        else:
            return None
        is_same = len(old) == len(kept) == len(new)
        return kept if is_same or (kept and self._text[self._spans[steps].start] != "!") else None

    def _column(self, steps: Steps) -> int:
        return self._spans[steps].start - self._line_start(self._spans[steps].start)

    def _line_start(self, offset: int) -> int:
        return self._text.rfind("\n", 0, offset) + 1

    def _line_end(self, offset: int) -> int:
        end = self._text.find("\n", offset)
        return len(self._text) if end < 0 else end

    def _lost(self, steps: Steps, keys: Sequence[Any], stay: AbstractSet[Any]) -> Iterator[_Edit]:
        """Yield the cuts of the parts that are gone: their lines, or else the text from or to the part beside them."""
        for place, key in enumerate(keys):
            if key in stay:
                continue
            span = self._spans[*steps, key]
            start, end = self._line_start(span.entry), self._line_end(span.end)
            before = self._text[start : span.entry].strip(" \t")
            # nothing but the part, its dash, a comma and a comment
            has_lines = before in ("", "-" if isinstance(key, int) else "") and _REST_OF_PART.fullmatch(
                self._text, span.end, end
            )
            if has_lines and (not self._is_json or not stay.isdisjoint(keys[place + 1 :])):
                yield _Edit(start - 1, end, "") if start else _Edit(0, end + 1, "")
            elif stay.isdisjoint(keys[:place]):
                yield _Edit(span.entry, self._spans[*steps, keys[place + 1]].entry, "")
            else:
                yield _Edit(self._spans[*steps, keys[place - 1]].end, span.end, "")

    def _gained(self, steps: Steps, new: Any, kept: Sequence[tuple[Any, Any]]) -> Iterator[_Edit]:
        """Yield what a mapping or list gains behind the last part that stays."""
        stay = {after for _, after in kept}
        added = {key: new[key] for key in new if key not in stay} if isinstance(new, dict) else new[len(kept) :]
        if not added:
            return
        span = self._spans[*steps, kept[-1][0]]
        end = self._line_end(span.end)
        if not self._is_json and self._text[self._spans[steps].start] not in "[{":
            column = self._column(steps)
            yield _Edit(end, end, f"\n{' ' * column}{_as_block(added, column)}")
            return
        before = self._text[self._line_start(span.entry) : span.entry]
        base = None if before.strip() else before
        comma = f",\n{base}" if base is not None else "," if self._is_tight else ", "
        colon = ":" if self._is_tight else ": "
        names = [self._json(key, None) + colon for key in added] if isinstance(added, dict) else [""] * len(added)
        parts = added.values() if isinstance(added, dict) else added
        text = comma.join(name + self._json(part, base) for name, part in zip(names, parts, strict=True))
        rest = _REST_OF_PART.fullmatch(self._text, span.end, end)
        if base is None or rest is None or not rest["comment"]:
            yield _Edit(span.end, span.end, comma + text)
            return
        if not rest["comma"]:
            yield _Edit(span.end, span.end, ",")
        yield _Edit(end, end, f"\n{base}{text}{rest['comma']}")  # below the comment, which stays beside its part


def _dumped(
    value: Json, *, indent: str | None = None, separators: tuple[str, str] | None = None, ascii_only: bool = False
) -> str:
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=ascii_only, allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _scalar(value: Json, old: str) -> str:
    """Write a scalar in YAML with the quotes that it had, where it can bear them."""
    if not isinstance(value, str):
        return _dumped(value)
    simple = value.isprintable() and not _UNSAFE.search(value)
    if old.startswith("'") and simple:
        return "'" + value.replace("'", "''") + "'"
    if old[:1] not in ("'", '"') and _PLAIN.fullmatch(value) and value.lower() not in _YAML_WORDS:
        return value
    return _dumped(value)


def _as_block(value: Json, column: int) -> str:
    """Write a mapping or list in YAML's block style, its first line where the old one began."""
    lines = "\n".join(_block_lines(value))
    return lines.replace("\n", "\n" + " " * column)


def _block_lines(value: Json) -> Iterator[str]:
    pairs = value.items() if isinstance(value, dict) else ((None, part) for part in value)
    for key, part in pairs:
        head = "- " if key is None else f"{_scalar(key, '')}: "
        if not (isinstance(part, (dict, list)) and part):
            yield head + _scalar(part, "")
            continue
        below = list(_block_lines(part))
        if key is None:
            yield head + below[0]
            below = below[1:]
        else:
            yield head.rstrip()
        yield from (f"  {line}" for line in below)


# --- the files of cases


def update_gold(case: Case, value: Json, removed: Collection[Steps] = ()) -> bool:
    """Make `value` the case's gold; whether the file had to change. `removed`: the rows of the gold that it lacks.

    Works on a gold file (JSON, YAML), a gold inside a case or defaults file, and a line of a dataset. The file is read
    afresh, so that several cases of one file can be updated one after the other. A missing file is written whole.
    Raises StoreError, CaseFileError.
    """
    if case.gold_is_missing and not case.gold_path.exists():
        write_atomic(case.gold_path, new_text(value, is_yaml=language_of(case.gold_path) == "yaml"))
        return True
    source, lines = _source(case.gold_path, case.gold_line, is_line=case.gold_path == case.path)
    old = _found(source, case.gold_steps, case)
    if canonical_json(old) == canonical_json(value):
        return False
    places = [(*case.gold_steps, *row) for row in removed]
    lines[source.first_line - 1] = with_value(source, case.gold_steps, value, places)
    write_text(source.path, "\n".join(lines))
    return True


def read_gold(case: Case) -> Json:
    """Return a case's gold as the file has it now. Raises CaseFileError, StoreError."""
    return _found(gold_source(case), case.gold_steps, case)


def add_accepted(case: Case, field: str, value: Json) -> None:
    """Add a further right value of a field to the `accept` of a case, in its file. Raises CaseFileError, StoreError."""

    def add(keys: dict[str, Json]) -> Json:
        accepted = dict(keys.get("accept") or {})
        values = accepted.get(field, [])
        if any(canonical_json(each) == canonical_json(value) for each in values):
            return keys
        return {**keys, "accept": {**accepted, field: [*values, value]}}

    if not change_keys(case, add):
        raise StoreError(f"{case.path}: `accept` of {case.id} would hold for its other cases too; write it by hand")


def change_keys(case: Case, change: Callable[[dict[str, Json]], Json]) -> bool:
    """Change a case's own keys in its file; False, and no change, where several cases have them.

    Raises CaseFileError, StoreError.
    """
    source, lines = _source(case.path, case.line, is_line=True)
    keys = _found(source, case.steps, case)
    own_id = case.id.removesuffix(f"[{case.altered}]")  # the altered case stands where the one does that it is made of
    if not isinstance(keys, dict):
        raise _moved(source, case)
    shared = source.value.get("defaults")
    if "documents" in keys or (isinstance(shared, dict) and "documents" in shared):
        return False
    if str(keys.get("id", own_id)) != own_id:
        raise _moved(source, case)
    new = change(keys)
    if new != keys:
        lines[source.first_line - 1] = with_value(source, case.steps, new)
        write_text(case.path, "\n".join(lines))
    return True


def gold_lines_of(path: Path, first_line: int, places: Sequence[Steps]) -> list[int]:
    """Return the line of each place of a gold file as it is now; what is gone has that of what stood around it.

    `first_line` says where the text begins that holds the gold: a case's `gold_line`.
    """
    try:
        source = _source(path, first_line, is_line=first_line > 1)[0]  # in the first line are all its places
    except (CaseFileError, StoreError):  # another program has changed it since
        return [first_line] * len(places)
    return [place.line for place in source.places((steps, True) for steps in places)]


def gold_source(case: Case) -> SourceFile:
    """Return the text that holds the gold, read afresh, to place mistakes in it. Raises CaseFileError, StoreError."""
    return _source(case.gold_path, case.gold_line, is_line=case.gold_path == case.path)[0]


def _source(path: Path, line: int, *, is_line: bool) -> tuple[SourceFile, list[str]]:
    """Return the text that holds a case or gold, and that of its file: cut into lines where it is one of a dataset."""
    text = read_text(path, MOST_BULK_BYTES)
    if language_of(path) == "yaml":
        return parse_source(path, text, "yaml"), [text]
    if not is_line:
        return parse_source(path, text, "json"), [text]
    lines = text.split("\n")
    if line > len(lines):
        raise StoreError(f"{path}: line {line} is gone; collect again")
    return parse_source(path, lines[line - 1], "json", line), lines


def _found(source: SourceFile, steps: Steps, case: Case) -> Any:
    try:
        return reached(source.value, steps)
    except (LookupError, TypeError):
        raise _moved(source, case) from None


def _moved(source: SourceFile, case: Case) -> StoreError:
    return StoreError(f"{source.path}: {case.id} is not where it was; collect again")


def write_text(path: Path, text: str) -> None:
    """Write the changed text of a file, with the byte order mark and access rights that it has.

    All its lines end as most of them did.
    """
    before = read_regular(path, MOST_BULK_BYTES)
    mark = "\ufeff" if before.startswith(codecs.BOM_UTF8) else ""
    is_crlf = 2 * before.count(b"\r\n") > before.count(b"\n")
    write_atomic(path, mark + (text.replace("\n", "\r\n") if is_crlf else text))


# --- the reviews of golds

REVIEW_SUFFIX: Final = ".review.json"
WHOLE_FILE: Final = "$"
"""Name of the gold that is a file of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A value that outputs propose for a field; MISSING stands for none.

    `sources` names the outputs that have it. `evidence`: where it stands in the document, "" for nowhere, None where
    that cannot be said.
    """

    value: Json | Missing = MISSING
    sources: tuple[str, ...] = ()
    evidence: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenField:
    """A field that a person has to decide, why, and the candidates; the gold has the first."""

    why: str
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDecision:
    """What a person decided about a field: `accept`, `edit`, `absent`, `keep`, ...; `by` and `at` say who and when."""

    decision: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldReview:
    """The review of one gold.

    `reviewed` is False for a draft. `sources`: the outputs that a draft is made of; `agreed`: the number of its values
    on which they agree. `open` and `decisions` are keyed by the field's path.
    """

    reviewed: bool = True
    sources: tuple[str, ...] = ()
    agreed: int = 0
    open: Mapping[str, OpenField] = field(default_factory=lambda: MappingProxyType({}))
    decisions: Mapping[str, FieldDecision] = field(default_factory=lambda: MappingProxyType({}))


REVIEWED: Final = GoldReview()


def review_path(gold_path: Path) -> Path:
    """Return the file with the reviews of the golds of a file."""
    return gold_path.with_name(gold_path.stem + REVIEW_SUFFIX)


def review_name(gold_steps: Steps, gold_line: int, case_id: str) -> str:
    """Return the name of a case's gold in the file with its review."""
    return case_id if gold_steps or gold_line != 1 else WHOLE_FILE


def read_reviews(path: Path) -> dict[str, GoldReview]:
    """Return the reviews of a file by the names of golds; nothing where it is not there. Raises CaseFileError."""
    if not path.is_file():
        return {}
    value: Any = read_value(path)
    try:
        return {name: from_json(GoldReview, raw) for name, raw in value["golds"].items()}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CaseFileError(f"is no file of reviews: {type(error).__name__}: {error}", path=path, line=1) from None


def write_review(gold_path: Path, name: str, review: GoldReview) -> None:
    """Write the review of one gold; those of others in the file stay. Raises CaseFileError, StoreError."""
    change_reviews(gold_path, (name,), lambda _: review)


def change_reviews(gold_path: Path, names: Iterable[str], change: Callable[[GoldReview], GoldReview]) -> None:
    """Change the review that a gold has under each name; `change` returns one that stays. Raises as `write_review`."""
    path = review_path(gold_path)
    before = read_reviews(path)
    reviews = {**before, **{name: change(before.get(name, REVIEWED)) for name in names}}
    if all(each is before.get(name, REVIEWED) for name, each in reviews.items()):
        return
    golds = {key: to_json(each) for key, each in reviews.items()}
    try:
        text = json.dumps({"golds": golds}, indent=2, allow_nan=False)
    except ValueError as error:
        raise StoreError(f"{path}: a candidate is no JSON: {error}") from None
    write_atomic(path, text + "\n")
