"""Another git revision: its prompts and schemas for a variant, or which cases differ from it and are called."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import Final

from pytest_extract.cases.load import SUFFIXES
from pytest_extract.cases.model import Case
from pytest_extract.changed import (
    Revision,
    Selection,
    case_key_below,
    cases_at,
    declared_files,
    extractor_sources,
    file_of,
    gone_files,
    inputs_at,
    inputs_now,
    open_tree,
    select_cases,
)
from pytest_extract.plugin.items import ExtractItem
from pytest_extract.plugin.options import Settings
from pytest_extract.plugin.project import EXTRACTOR

_NO_INPUTS: Final = (
    *("test_*.py", "*_test.py", "README*", "CHANGELOG*", "CONTRIBUTING*", "LICENSE*", "*.lock", "requirements*.txt"),
    *("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "setup.py"),
)


class RevisionView:
    """A revision's files, written to a folder of their own, so that case files load from there."""

    def __init__(self, root: Path, ref: str) -> None:
        """Raise ConfigError where there is no git, no repository or no such revision."""
        self.ref = ref
        self.tree = open_tree(root, ref)
        self._folder = Path(tempfile.mkdtemp(prefix="pytest-extract-view-")).resolve()
        self.tree.write(self._folder)
        self._files: dict[Path, Revision] = {}

    def load(self, file: Path, cases: Iterable[Case]) -> str | None:
        """Load a case file of the revision and return its mistake; git need not keep the documents of today's cases."""
        if file not in self._files:
            documents = [case.document.file for case in cases if case.document.file is not None]
            self._files[file] = cases_at(self.tree, [file], self._folder, documents=documents)
        return next(iter(self._files[file].unread.values()), None)

    def case_at_revision(self, case: Case, file: Path) -> Case | None:
        """Return a case of a loaded file with the revision's prompt and schema; None where it has no such case.

        Document, gold, scoring and thresholds are today's: the variants differ in what the extractor is given.
        """
        old = self._files[file].cases.get(case_key_below(case, self.tree.root))
        if old is None:
            return None
        prompt = old.prompt and replace(old.prompt, path=self._place_now(old.prompt.path))
        return replace(case, prompt=prompt, schema=old.schema, schema_sha256=old.schema_sha256)

    def _place_now(self, path: Path) -> Path:
        """Return where the work tree has a file of the view; one elsewhere is the same at each revision."""
        return self.tree.root / path.relative_to(self._folder) if path.is_relative_to(self._folder) else path

    def prompt_path(self, path: Path) -> Path | None:
        """Return the revision's version of a prompt file of the command line."""
        name = self.tree.name(path)
        return self._folder / name if name is not None and name in self.tree.files else None

    def selections(self, items: Sequence[ExtractItem], root: Path, settings: Settings) -> dict[str, Selection]:
        """Decide for each item, by node id, whether it is called or replayed."""
        cases = {case_key_below(item.case, self.tree.root): item.case for item in items}
        documents = [case.document.file for case in cases.values() if case.document.file is not None]
        files = [*dict.fromkeys(item.path for item in items), *gone_files(self.tree, root)]
        old = cases_at(self.tree, files, self._folder, documents=documents)
        before = inputs_at(old, self.tree, self._folder)
        now = inputs_now(cases.values(), self.tree)
        known = self._files_of((*cases.values(), *old.cases.values()))
        selections: dict[str, Selection] = {}
        groups = self._by_changed_sources(items, root, settings, known)
        for (sources, unknown), group in groups.items():
            parts = {name: now[name] for item in group if (name := case_key_below(item.case, self.tree.root)) in now}
            chosen = select_cases(parts, before, sources=sources, unread=old.unread, ref=self.ref)
            selected = {each.case: replace(each, unknown=unknown) for each in chosen}
            selections |= {item.nodeid: selected[case_key_below(item.case, self.tree.root)] for item in group}
        return selections

    def _files_of(self, cases: Iterable[Case]) -> set[Path]:
        """Return the files of cases, as the work tree has them, besides those of their extractors."""
        prompts = ((case, None if case.prompt is None else case.prompt.path) for case in cases)
        files = (
            (case.path, case.document.file, case.schema_path, *case.schema_files, case.gold_path, prompt)
            for case, prompt in prompts
        )
        return {self._place_now(path) for paths in files for path in paths if path is not None}

    def _by_changed_sources(
        self, items: Iterable[ExtractItem], root: Path, settings: Settings, known: AbstractSet[Path]
    ) -> dict[tuple[tuple[str, ...], tuple[str, ...]], list[ExtractItem]]:
        """Group items by the changed source files of their extractor (each conftest may have one)."""
        changes: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[ExtractItem]] = {}
        declared = self.declared_files(settings.files, root)
        for item in items:
            definitions = item._fixtureinfo.name2fixturedefs.get(EXTRACTOR)  # noqa: SLF001  # as in items.py
            function = definitions[-1].func if definitions else None
            if id(function) not in changes:
                sources = () if function is None else extractor_sources(function, root, declared)
                changed = tuple(sorted(map(self._shown, self.tree.changed(sources))))
                changes[id(function)] = changed, self._unknown_changes(function, root, settings, {*known, *sources})
            groups.setdefault(changes[id(function)], []).append(item)
        return groups

    def _shown(self, path: Path) -> str:
        return self.tree.name(path) or str(path)

    def declared_files(self, patterns: Sequence[str], root: Path) -> list[Path]:
        """Return the files that `extract_files` declares, also those of the revision that are gone."""
        view = self._folder / root.resolve().relative_to(self.tree.root)
        then = (self.tree.root / path.relative_to(self._folder) for path in declared_files(patterns, view))
        return [*declared_files(patterns, root), *(path for path in then if not path.exists())]

    def _unknown_changes(
        self, function: object, root: Path, settings: Settings, known: AbstractSet[Path]
    ) -> tuple[str, ...]:
        """Return the changed files beside the extractor, or below, that may be read by it and are no file of a case."""
        file = file_of(function)
        if file is None or not file.is_relative_to(root.resolve()):
            return ()
        written = [value.resolve() for value in vars(settings).values() if isinstance(value, Path)]
        written += [each.path.resolve() for each in settings.report]
        known = {path.resolve() for path in (*known, *settings.prompt)}
        return tuple(
            self._shown(path)
            for path in self.tree.changed_below(file.parent)
            if path.resolve() not in known
            and not any(path.is_relative_to(each) for each in written)
            and not _is_no_input(path.relative_to(self.tree.root))
        )

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _is_no_input(path: PurePath) -> bool:
    """Whether a file is known to be none that an extractor reads: tests, settings, pages for people, case files."""
    return (
        path.name.endswith(SUFFIXES)
        or any(part.startswith(".") or part == "__pycache__" for part in path.parts)
        or any(fnmatch(path.name, pattern) for pattern in _NO_INPUTS)
    )
