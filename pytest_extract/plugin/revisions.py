"""Another git revision: an arm with its prompts and schemas, or what tells which cases are to be called."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_extract.cases.model import Case
from pytest_extract.plugin.arms import EXTRACTOR
from pytest_extract.regression.extractor_sources import extractor_sources
from pytest_extract.regression.git_tree import open_tree
from pytest_extract.regression.selection import (
    Revision,
    Selection,
    case_key_below,
    cases_at,
    gone_files,
    inputs_at,
    inputs_now,
    select_cases,
)

if TYPE_CHECKING:
    from pytest_extract.plugin.items import ExtractItem


class View:
    """A revision's files, written to a folder of their own, so that case files load there as they do here."""

    def __init__(self, root: Path, ref: str) -> None:
        """Raise ConfigError where there is no git, no repository or no such revision."""
        self.ref = ref
        self.tree = open_tree(root, ref)
        self._folder = Path(tempfile.mkdtemp(prefix="pytest-extract-view-")).resolve()
        self.tree.write(self._folder)
        self._files: dict[Path, Revision] = {}

    def load(self, file: Path, cases: Iterable[Case]) -> None:
        """Load a case file as the revision has it; `cases` are today's, whose documents git need not keep."""
        if file not in self._files:
            documents = [case.document.path for case in cases if case.document.path is not None]
            self._files[file] = cases_at(self.tree, [file], self._folder, documents=documents)

    def twin(self, case: Case, file: Path) -> Case | None:
        """Return a case of a loaded file with the revision's prompt and schema; None where it has no such case.

        Document, gold, scoring and thresholds are today's: the arms differ in what the extractor is given.
        """
        old = self._files[file].cases.get(case_key_below(case, self.tree.root))
        if old is None:
            return None
        prompt = old.prompt and replace(old.prompt, path=self.tree.root / old.prompt.path.relative_to(self._folder))
        return replace(case, prompt=prompt, schema=old.schema, schema_sha256=old.schema_sha256)

    def prompt(self, path: Path) -> Path | None:
        """Return the revision's version of a prompt file of the command line."""
        name = self.tree.name(path)
        return self._folder / name if name is not None and name in self.tree.files else None

    def choices(self, items: Sequence[ExtractItem], root: Path) -> dict[str, Selection]:
        """Decide for each item, by node id, whether it is called or replayed."""
        cases = {case_key_below(item.case, self.tree.root): item.case for item in items}
        documents = [case.document.path for case in cases.values() if case.document.path is not None]
        files = [*dict.fromkeys(item.path for item in items), *gone_files(self.tree, root)]
        before = inputs_at(cases_at(self.tree, files, self._folder, documents=documents), self.tree, self._folder)
        now = inputs_now(cases.values(), self.tree)
        found: dict[str, Selection] = {}
        for sources, group in self._by_sources(items, root).items():
            chosen = {name: now[name] for item in group if (name := case_key_below(item.case, self.tree.root)) in now}
            by_case = {choice.case: choice for choice in select_cases(chosen, before, sources=sources, ref=self.ref)}
            found |= {item.nodeid: by_case[case_key_below(item.case, self.tree.root)] for item in group}
        return found

    def _by_sources(self, items: Iterable[ExtractItem], root: Path) -> dict[tuple[str, ...], list[ExtractItem]]:
        """Group items by the changed source files of the extractor that they use (conftests may each have one)."""
        known: dict[int, tuple[str, ...]] = {}
        groups: dict[tuple[str, ...], list[ExtractItem]] = {}
        for item in items:
            definitions = item._fixtureinfo.name2fixturedefs.get(EXTRACTOR)  # noqa: SLF001  # as in items.py
            function = definitions[-1].func if definitions else None
            if id(function) not in known:
                known[id(function)] = self._changed_sources(function, root)
            groups.setdefault(known[id(function)], []).append(item)
        return groups

    def _changed_sources(self, function: object, root: Path) -> tuple[str, ...]:
        if function is None:
            return ()
        changed = self.tree.changed(extractor_sources(function, root))
        return tuple(sorted(self.tree.name(path) or str(path) for path in changed))

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)
