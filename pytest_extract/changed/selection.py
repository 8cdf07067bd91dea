"""Which cases a change touches, and why: those run live under `--extract-changed REF`, all others are replayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pytest_extract.changed.git_tree import GitTree, work_blobs
from pytest_extract.files import display_path, own_place

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case


class Input(NamedTuple):
    """One input of an output: its name for people (a path), and a text that changes with its content.

    An empty identity is unknown (a document that git does not keep), and then no change is claimed: a recording
    of another document is stale anyway.
    """

    name: str
    identity: str


InputsByKind = Mapping[str, Input]
"""`document`, `schema`, `prompt`, `question` -> part; a part that the case does not have is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Whether a case runs live, and why: `prompt changed (prompts/invoice.md)`. Replayed cases have no reason.

    `same_as`: the case of the revision that has all the same parts, where it has none of this name (a renamed case).
    `unknown`: changed files beside the extractor of which nobody knows if it reads them.
    """

    case: str
    live: bool
    reasons: tuple[str, ...] = ()
    same_as: str | None = None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The cases of a revision by `file::id`; and the files of which some case could not be read, with a mistake."""

    cases: Mapping[str, Case]
    unread: Mapping[str, str] = field(default_factory=dict)


def select_cases(
    now: Mapping[str, InputsByKind],
    before: Mapping[str, InputsByKind],
    *,
    sources: Iterable[str] = (),
    unread: Mapping[str, str] = MappingProxyType({}),
    ref: str = "the revision",
) -> tuple[Selection, ...]:
    """Decide for each case. `sources`: what of the extractor's source changed; it touches every case.

    `unread`: the mistakes of files that the revision has and that cannot be read (`Revision.unread`).

    Only inputs of the output count: another gold or threshold affects scoring only, which costs no call. A case's name
    does not count, because recordings are found by content.
    """
    everywhere = [f"extractor changed ({source})" for source in sources]
    contents: dict[frozenset[tuple[str, str]], str] = {}
    for case in sorted(before, key=lambda case: case in now):  # of several, one that has lost its name
        contents.setdefault(_content_of(before[case]), case)
    chosen = []
    for case, parts in now.items():
        same_as = contents.get(_content_of(parts)) if case not in before else None
        old = before.get(case) if same_as is None else parts
        mistake = unread.get(case.partition("::")[0])
        missing = f"not at {ref}" if mistake is None else f"unreadable at {ref}: {mistake}"
        chosen.append(_select(Selection(case=case, live=False, same_as=same_as), parts, old, everywhere, missing))
    return tuple(chosen)


def _content_of(parts: InputsByKind) -> frozenset[tuple[str, str]]:
    """Return what identifies the parts: their content, or, of a document that git does not keep, its place."""
    return frozenset((what, part.identity or part.name) for what, part in parts.items())


def _select(
    choice: Selection, now: InputsByKind, before: InputsByKind | None, everywhere: Sequence[str], missing: str
) -> Selection:
    if before is None:
        reasons = [missing, *everywhere]
    else:
        names = [*now, *(name for name in before if name not in now)]
        reasons = [text for name in names if (text := _input_change(name, now.get(name), before.get(name)))]
        reasons += everywhere
    return replace(choice, live=bool(reasons), reasons=tuple(reasons))


def _input_change(what: str, now: Input | None, before: Input | None) -> str | None:
    if now is None or before is None:
        part = now or before
        how = "added" if before is None else "removed"
        return f"{what} {how} ({part.name})" if part is not None else None
    if now.identity == before.identity or (now.name == before.name and not (now.identity and before.identity)):
        return None
    moved = f"{before.name} -> " if now.name != before.name else ""
    return f"{what} changed ({moved}{now.name})"


def inputs_now(cases: Iterable[Case], tree: GitTree) -> dict[str, InputsByKind]:
    """Return the parts of the cases as they stand in the work tree, by `file::id` (files relative to the tree's root).

    A document is known by its blob, as git would store it, so that it is neither read here nor missed in LFS.
    """
    listed = list(cases)
    blobs = work_blobs(tree.root, [path for case in listed if (path := case.document.file) is not None])
    return {
        case_key_below(case, tree.root): _parts(case, tree.root, blobs.get(case.document.file or Path(), ""))
        for case in listed
    }


def inputs_at(revision: Revision, tree: GitTree, view: Path) -> dict[str, InputsByKind]:
    """Return the parts of the cases at a revision that was written to `view`."""
    parts: dict[str, InputsByKind] = {}
    for name, case in revision.cases.items():
        path = case.document.file
        blob = None if path is None else tree.files.get(_relative(path, view))
        parts[name] = _parts(case, view, blob.id if blob else "")
    return parts


def _parts(case: Case, root: Path, blob: str) -> dict[str, Input]:
    holder = _relative(case.path, root)
    path = case.document.file
    parts = {
        "document": Input(_relative(path, root), blob) if path else Input(f"text in {holder}", case.document.sha256),
        "schema": Input(_relative(case.schema_path, root), case.schema_sha256),
    }
    if case.prompt is not None:
        parts["prompt"] = Input(_relative(case.prompt.path, root), case.prompt.sha256)
    if case.question is not None:
        parts["question"] = Input(holder, case.question)
    return parts


def case_key_below(case: Case, root: Path) -> str:
    """Return `file::id`, the file relative to `root`."""
    return f"{_relative(case.path, root)}::{case.id}"


def _relative(path: Path, root: Path) -> str:
    return display_path(own_place(path), root)


def gone_files(tree: GitTree, root: Path) -> list[Path]:
    """Return the case files below `root` that the revision has and the work tree has not: renamed ones, say."""
    from pytest_extract.cases.load import SUFFIXES

    files = [tree.root / name for name in tree.files if name.endswith(SUFFIXES)]
    return [file for file in files if file.is_relative_to(root.resolve()) and not file.exists()]


def cases_at(tree: GitTree, files: Iterable[Path], view: Path, *, documents: Iterable[Path] = ()) -> Revision:
    """Load the case files as the revision has them, from `view`, where `tree.write(view)` has put it.

    A file that the revision does not have, or a case with a mistake, gives no case; the mistake is in `unread`.
    `documents`: of today's cases. Those that git does not keep get a placeholder in the view, so that cases load.
    """
    from pytest_extract.cases.cache import SchemaCache, compile_structure
    from pytest_extract.cases.load import load_cases

    for document in documents:
        name = tree.name(document)
        if name is not None and name not in tree.files:
            (view / name).parent.mkdir(parents=True, exist_ok=True)
            (view / name).touch()
    cache = SchemaCache(compile_structure)
    cases: dict[str, Case] = {}
    unread: dict[str, str] = {}
    for name in dict.fromkeys(tree.name(file) for file in files):
        if name is None or name not in tree.files:
            continue
        loaded = load_cases(view / name, cache)
        cases.update({case_key_below(case, view): case for case in loaded.cases})
        if loaded.errors:
            unread[name] = loaded.errors[0].message
    return Revision(cases=cases, unread=unread)
