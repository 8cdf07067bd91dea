"""Another git revision: its prompts and schemas for an arm, or which cases differ from it and are called."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_extract.cases.model import Case
from pytest_extract.plugin.fixtures import EXTRACTOR
from pytest_extract.plugin.items import ExtractItem
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


class RevisionView:
    """A revision's files, written to a folder of their own, so that case files load from there."""

    def __init__(self, root: Path, ref: str) -> None:
        """Raise ConfigError where there is no git, no repository or no such revision."""
        self.ref = ref
        self.tree = open_tree(root, ref)
        self._folder = Path(tempfile.mkdtemp(prefix="pytest-extract-view-")).resolve()
        self.tree.write(self._folder)
        self._files: dict[Path, Revision] = {}

    def load(self, file: Path, cases: Iterable[Case]) -> None:
        """Load a case file of the revision; `cases` are today's, whose documents git need not keep."""
        if file not in self._files:
            documents = [case.document.path for case in cases if case.document.path is not None]
            self._files[file] = cases_at(self.tree, [file], self._folder, documents=documents)

    def case_at_revision(self, case: Case, file: Path) -> Case | None:
        """Return a case of a loaded file with the revision's prompt and schema; None where it has no such case.

        Document, gold, scoring and thresholds are today's: the arms differ in what the extractor is given.
        """
        old = self._files[file].cases.get(case_key_below(case, self.tree.root))
        if old is None:
            return None
        prompt = old.prompt and replace(old.prompt, path=self.tree.root / old.prompt.path.relative_to(self._folder))
        return replace(case, prompt=prompt, schema=old.schema, schema_sha256=old.schema_sha256)

    def prompt_path(self, path: Path) -> Path | None:
        """Return the revision's version of a prompt file of the command line."""
        name = self.tree.name(path)
        return self._folder / name if name is not None and name in self.tree.files else None

    def selections(self, items: Sequence[ExtractItem], root: Path) -> dict[str, Selection]:
        """Decide for each item, by node id, whether it is called or replayed."""
        cases = {case_key_below(item.case, self.tree.root): item.case for item in items}
        documents = [case.document.path for case in cases.values() if case.document.path is not None]
        files = [*dict.fromkeys(item.path for item in items), *gone_files(self.tree, root)]
        before = inputs_at(cases_at(self.tree, files, self._folder, documents=documents), self.tree, self._folder)
        now = inputs_now(cases.values(), self.tree)
        selections: dict[str, Selection] = {}
        for sources, group in self._by_changed_sources(items, root).items():
            parts = {name: now[name] for item in group if (name := case_key_below(item.case, self.tree.root)) in now}
            selected = {each.case: each for each in select_cases(parts, before, sources=sources, ref=self.ref)}
            selections |= {item.nodeid: selected[case_key_below(item.case, self.tree.root)] for item in group}
        return selections

    def _by_changed_sources(self, items: Iterable[ExtractItem], root: Path) -> dict[tuple[str, ...], list[ExtractItem]]:
        """Group items by the changed source files of their extractor (each conftest may have one)."""
        sources: dict[int, tuple[str, ...]] = {}
        groups: dict[tuple[str, ...], list[ExtractItem]] = {}
        for item in items:
            definitions = item._fixtureinfo.name2fixturedefs.get(EXTRACTOR)  # noqa: SLF001  # as in items.py
            function = definitions[-1].func if definitions else None
            if id(function) not in sources:
                changed = () if function is None else self.tree.changed(extractor_sources(function, root))
                sources[id(function)] = tuple(sorted(self.tree.name(path) or str(path) for path in changed))
            groups.setdefault(sources[id(function)], []).append(item)
        return groups

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)
