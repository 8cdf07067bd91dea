"""Case file -> cases and mistakes: one case, `documents:`, `cases:` or `dataset:`, each with `defaults:`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from pytest_extract.cases.build import CaseBuilder
from pytest_extract.cases.cache import SchemaCache
from pytest_extract.cases.json_text import Steps
from pytest_extract.cases.keys import (
    FILE_KEYS,
    CaseSettings,
    CheckedKeys,
    case_keys,
    check_keys,
    checked_value,
    merge_defaults,
)
from pytest_extract.cases.model import Case
from pytest_extract.cases.sources import (
    Mistake,
    SourceFile,
    errors_of,
    is_file,
    mistake_in,
    no_file,
    parse_source,
    read_lines,
    read_text,
)
from pytest_extract.core.values import Json, json_type
from pytest_extract.errors import CaseFileError, nearest

_MAGIC = re.compile(r"[*?\[]")
PLACEHOLDERS: Final = ("{stem}", "{name}", "{path}")
"""What stands for a document in the keys of FILLED_KEYS."""
FILLED_KEYS: Final = ("id", "gold", "prompt", "question")


class MatchedDocument(NamedTuple):
    """A document that a pattern matches.

    file: its path relative to the folder of the pattern, with `/`. path: the part of it that the wildcards match,
    without suffix: the case's id, which stays the same when other documents come and go.
    """

    file: str
    path: str

    def filled(self, text: str) -> str:
        """Return a text with the placeholders replaced; other braces stay."""
        name = PurePosixPath(self.file)
        for placeholder, value in zip(PLACEHOLDERS, (name.stem, name.name, self.path), strict=True):
            text = text.replace(placeholder, value)
        return text


def matched_documents(folder: Path, patterns: Sequence[str]) -> Iterator[MatchedDocument]:
    """Yield the files that the patterns match, sorted, each once; what is hidden is left out.

    Raises CaseFileError, with the pattern in its message, for one that matches nothing or cannot be used.
    """
    seen: set[str] = set()
    for pattern in patterns:
        parts = PurePosixPath(pattern).parts
        fixed = next((at for at, part in enumerate(parts) if _MAGIC.search(part)), len(parts) - 1)
        base = folder.joinpath(*parts[:fixed])
        try:
            paths = [path for path in base.glob("/".join(parts[fixed:])) if path.is_file()]
        except (ValueError, NotImplementedError, OSError) as error:
            raise CaseFileError(f"the pattern {pattern!r} cannot be used: {error}", path=folder) from None
        names = sorted(path.relative_to(base).as_posix() for path in paths)
        found = [name for name in names if not any(part.startswith(".") for part in PurePosixPath(name).parts)]
        if not found:
            raise CaseFileError(f"no document matches {pattern!r} in {folder}", path=folder)
        for name in found:
            file = PurePosixPath(*parts[:fixed], name).as_posix()
            if file not in seen:
                seen.add(file)
                yield MatchedDocument(file, PurePosixPath(name).with_suffix("").as_posix())


def filled_keys(values: Mapping[str, Any], document: MatchedDocument) -> dict[str, Any]:
    """Return the checked keys of a case for one of the documents, its id included."""
    filled = {"id": document.path, **values}
    for key in FILLED_KEYS:
        if isinstance(filled.get(key), str):
            filled[key] = document.filled(filled[key])
    if "tags" in filled:
        filled["tags"] = {name: document.filled(value) for name, value in filled["tags"].items()}
    return {**filled, "document": document.file}


SUFFIXES = (".extract.yaml", ".extract.yml")


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """What a case file gives: the cases that can run, and every mistake, both in the order of the file."""

    path: Path
    cases: tuple[Case, ...]
    errors: tuple[CaseFileError, ...]


def case_name(path: Path) -> str:
    """Return the name of a case file without its suffix: the id of its one case, unless the case has its own."""
    name = path.name
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), None) or path.stem


def load_cases(path: Path, cache: SchemaCache | None = None) -> LoadedFile:
    """Load every case of a file; a user's mistake is never raised, it is one of `errors`.

    A mistake keeps only its own case from running; one in `defaults` keeps the cases that use what is wrong.
    `cache` holds what files share; hand the same one to every call of a collection. No document is opened.
    """
    loader = _Loader(path, SchemaCache() if cache is None else cache)
    try:
        source = parse_source(path, read_text(path), "yaml")
    except CaseFileError as error:
        return LoadedFile(path, (), (error,))
    cases = tuple(loader.load(source))
    return LoadedFile(path, cases, errors_of(loader.mistakes, path) if loader.mistakes else ())


class _Loader:
    """Loads one case file."""

    def __init__(self, path: Path, cache: SchemaCache) -> None:
        self.mistakes: list[Mistake] = []
        self._path = path
        self._cache = cache
        self._ids: dict[str, tuple[int, Steps]] = {}

    def load(self, source: SourceFile) -> Iterator[Case]:
        """Yield the cases of the file; its mistakes are in `mistakes` when the iteration is over."""
        root = source.value
        self.mistakes += source.mistakes
        if not isinstance(root, dict):
            found = "an empty file" if root is None else json_type(root)
            message = (
                f"a case file is a mapping with document, schema and gold, or with cases or dataset; found {found}"
            )
            self.mistakes.append(Mistake(source, (), message))
            return
        defaults = self._defaults(source, root)
        if any(not mistake.steps for mistake in source.mistakes):
            return
        if "cases" in root or "dataset" in root:
            self._refuse_strays(source, root)
        if "cases" in root and "dataset" in root:
            self.mistakes.append(Mistake(source, ("dataset",), "has both `cases` and `dataset`; keep one", on_key=True))
        elif "cases" in root:
            yield from self._cases(source, root["cases"], defaults)
        elif "dataset" in root:
            yield from self._dataset(source, root["dataset"], defaults)
        else:
            own = {key: value for key, value in root.items() if key not in FILE_KEYS}
            yield from self._case(source, (), own, defaults, case_name(self._path), 1)

    def _refuse_strays(self, source: SourceFile, root: dict[str, Json]) -> None:
        for key in root:
            if key in FILE_KEYS:
                continue
            if key in case_keys():
                message = f"`{key}` beside `{'cases' if 'cases' in root else 'dataset'}`: put it under `defaults`"
            else:
                message = f"unknown key {key!r}{nearest(key, FILE_KEYS)}"
            self.mistakes.append(Mistake(source, (key,), message, on_key=True))

    def _defaults(self, source: SourceFile, root: dict[str, Json]) -> CheckedKeys | None:
        value = root.get("defaults")
        if value is None:
            return None
        steps: Steps = ("defaults",)
        if isinstance(value, str):
            path = Path(self._cache.place(source.folder, value))
            try:
                named = self._cache.keep("yaml", str(path), _read_yaml)
            except CaseFileError as error:
                missing = Mistake(source, steps, no_file("defaults", path))
                self.mistakes.append(mistake_in(error) if is_file(path) else missing)
                return _broken(source, steps)
            self.mistakes += named.mistakes
            source, steps, value = named, (), named.value
        if not isinstance(value, dict):
            message = f"`defaults` must be a mapping of case keys, or the path of a YAML file, not {json_type(value)}"
            self.mistakes.append(Mistake(source, steps, message))
            return _broken(source, steps)
        return check_keys(source, steps, value, self.mistakes)

    def _cases(self, source: SourceFile, cases: Json, defaults: CheckedKeys | None) -> Iterator[Case]:
        if not isinstance(cases, list) or not cases:
            self.mistakes.append(Mistake(source, ("cases",), "`cases` must be a list with at least one case"))
            return
        lines = source.parsed.rows.get("cases", [])
        for index, raw in enumerate(cases):
            name = f"{case_name(self._path)}-{index + 1}"
            line = lines[index] if index < len(lines) else 1
            if isinstance(raw, dict):
                yield from self._case(source, ("cases", index), raw, defaults, name, line)
            else:
                message = f"a case is a mapping with document, schema and gold, not {json_type(raw)}"
                self.mistakes.append(Mistake(source, ("cases", index), message))

    def _dataset(self, source: SourceFile, value: Json, defaults: CheckedKeys | None) -> Iterator[Case]:
        if not isinstance(value, str) or not value.strip():
            message = f"`dataset` must be the path of a JSONL file, not {json_type(value)}"
            self.mistakes.append(Mistake(source, ("dataset",), message))
            return
        path = Path(self._cache.place(source.folder, value))
        is_empty = True
        try:
            for number, line in read_lines(path):
                if isinstance(line, CaseFileError):
                    self.mistakes.append(mistake_in(line))
                elif line.strip():
                    yield from self._record(path, line, number, defaults)
                else:
                    continue
                is_empty = False
            if is_empty:
                message = f"`dataset`: {path} has no line; a dataset is JSONL with at least one case, an object a line"
                self.mistakes.append(Mistake(source, ("dataset",), message))
        except CaseFileError as error:
            missing = Mistake(source, ("dataset",), no_file("dataset", path))
            self.mistakes.append(mistake_in(error) if is_file(path) else missing)

    def _record(self, path: Path, line: str, number: int, defaults: CheckedKeys | None) -> Iterator[Case]:
        try:
            source = parse_source(path, line, "json", number)
        except CaseFileError as error:
            self.mistakes.append(mistake_in(error))
            return
        self.mistakes += source.mistakes
        if isinstance(source.value, dict):
            yield from self._case(source, (), source.value, defaults, f"{case_name(self._path)}-{number}", number)
        else:
            message = f"a line of a dataset is an object with document, schema and gold, not {json_type(source.value)}"
            self.mistakes.append(Mistake(source, (), message))

    def _case(
        self, source: SourceFile, steps: Steps, raw: dict[str, Json], defaults: CheckedKeys | None, name: str, line: int
    ) -> Iterator[Case]:
        begin = len(self.mistakes)
        own = check_keys(source, steps, raw, self.mistakes)
        settings = merge_defaults(own, defaults)
        is_broken = own.broken or (defaults is not None and defaults.broken)
        if "documents" in settings.values and len(self.mistakes) == begin and not is_broken:
            yield from self._case_of_each(settings, line)
            return
        name = str(settings.values.get("id", name))
        other = self._ids.setdefault(name, (line, steps))
        if other != (line, steps):
            at = Mistake(source, (*steps, "id"), f"the id {name!r} is taken by the case of line {other[0]}")
            self.mistakes.append(at)
        case = CaseBuilder(settings, self._cache, self.mistakes).build(name, line)
        if case is not None and len(self.mistakes) == begin and not is_broken:
            yield from self._with_altered(case, settings)

    def _with_altered(self, case: Case, settings: CaseSettings) -> Iterator[Case]:
        """Yield a case and those that its `variants` make of it; a run that writes golds has no use for them."""
        yield case
        if "variants" in settings.values and not self._cache.updates_golds:
            from pytest_extract.cases.altered import altered_cases

            layer = settings.layer_of("variants")
            for altered in altered_cases(case, settings.values["variants"]):
                if altered.id in self._ids:
                    message = f"the id {altered.id!r} is taken; keep one of the variants, or cases, that have it"
                    self.mistakes.append(Mistake(layer.source, (*layer.steps, "variants"), message))
                    continue
                self._ids[altered.id] = (case.line, (*case.steps, "variants"))
                yield altered

    def _case_of_each(self, settings: CaseSettings, line: int) -> Iterator[Case]:
        """Yield a case for each document that the patterns of `documents` match."""
        layer = settings.layer_of("documents")
        at = (*layer.steps, "documents")
        golds: dict[str, str] = {}
        place = line, settings.own.steps
        try:
            for document in matched_documents(Path(layer.source.folder), settings.values["documents"]):
                begin = len(self.mistakes)
                values = filled_keys(settings.values, document)
                name, gold = str(values["id"]), values.get("gold")
                unfit = checked_value("id", name, at)[1]
                if unfit:
                    self.mistakes.append(Mistake(layer.source, at, f"the id of {document.file} {unfit[0].message}"))
                    continue
                if self._ids.setdefault(name, place) != place or name in golds:
                    message = (
                        f"{document.file} has the id {name!r} of another case; write `id` with {{name}} or {{path}}, "
                        "or give each pattern its own entry of `cases`, with an `id` of its own"
                    )
                    self.mistakes.append(Mistake(layer.source, at, message))
                    continue
                if isinstance(gold, str) and gold in golds.values():
                    message = (
                        f"{document.file} has the gold {gold} of another document; write it with {{path}} or {{name}}"
                    )
                    self.mistakes.append(Mistake(layer.source, at, message))
                    continue
                golds[name] = gold if isinstance(gold, str) else ""
                case = CaseBuilder(replace(settings, values=values), self._cache, self.mistakes).build(name, line)
                if case is not None and len(self.mistakes) == begin:
                    yield from self._with_altered(case, settings)
        except CaseFileError as error:
            self.mistakes.append(Mistake(layer.source, at, f"`documents`: {error.message}"))


def _read_yaml(path: Path) -> SourceFile:
    return parse_source(path, read_text(path), "yaml")


def _broken(source: SourceFile, steps: Steps) -> CheckedKeys:
    return CheckedKeys(source, steps, {}, clean={}, invalid=frozenset(), broken=True)
