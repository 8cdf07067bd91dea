"""What changed since a revision of git: which inputs of a case, and which sources of its extractor, differ.

Cases that a change touches run live under `--extract-changed REF`, all others are replayed. The sources of an extractor
are where it is defined, and what of the project that file imports.

A revision is read only. Contents are compared as git compares them (by blob, after its filters), so line endings and
LFS pointers do not count. A revision's files are written to a folder elsewhere, and the repository is not written to.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import resolve_name
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_extract.errors import ConfigError
from pytest_extract.files import display_path, own_place

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case

_LFS_OFF: Final = ("-c", "filter.lfs.smudge=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class GitTree:
    """A revision. `root`: top folder of the work tree.

    `files`: paths relative to it, with `/`, and the id of the content of each; no symbolic links. `large`: those that a
    view has a placeholder for.
    """

    root: Path
    ref: str
    commit: str
    files: Mapping[str, str]
    large: AbstractSet[str]

    def name(self, path: Path) -> str | None:
        """Return the path as the revision names it, None for one outside of the work tree."""
        place = own_place(path)
        return place.relative_to(self.root).as_posix() if place.is_relative_to(self.root) else None

    def text(self, name: str) -> str:
        """Return the text of a file."""
        return _git(self.root, "cat-file", "blob", self.files[name]).decode("utf-8", "replace")

    def changed(self, paths: Iterable[Path]) -> list[Path]:
        """Return those of `paths` that are not as at the revision: changed, new or gone."""
        wanted = list(dict.fromkeys(paths))
        now = work_blobs(self.root, wanted)
        return [path for path in wanted if self.files.get(self.name(path) or "") != now.get(path)]

    def changed_below(self, folder: Path) -> list[Path]:
        """Return the files below a folder that are not as at the revision, also new ones that git does not ignore."""
        changed = _git(self.root, "diff", "--name-only", "--no-renames", "-z", self.commit, "--", str(folder))
        new = _git(self.root, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", str(folder))
        names = [os.fsdecode(name) for name in (changed + new).split(b"\0") if name]
        return [self.root / name for name in dict.fromkeys(names)]

    def write(self, into: Path) -> None:
        """Write all files of the revision below `into`, as a checkout does: links are links, LFS fetches."""
        self._check_out(into, "checkout-index", "--all")

    def write_view(self, into: Path) -> None:
        """Write the revision's files below `into` to be read as cases: without links, and pointers for what LFS has.

        Large documents are empty placeholders: what a case file names is there to be found.
        """
        names = b"".join(os.fsencode(name) + b"\0" for name in self.files.keys() - self.large)
        self._check_out(into, *_LFS_OFF, "checkout-index", "-z", "--stdin", stdin=names)
        for name in self.large:
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).touch()

    def _check_out(self, into: Path, *words: str, stdin: bytes = b"") -> None:
        """Run `git checkout-index` over an index of our own; reading that refuses names that lead out of a folder."""
        with tempfile.TemporaryDirectory(prefix="pytest-extract-index-") as folder:
            index = Path(folder) / "index"
            own = ("-c", "core.splitIndex=false", "-c", f"core.hooksPath={os.devnull}")
            _git(self.root, *own, "read-tree", self.commit, index=index)
            _git(self.root, *words, f"--prefix={into}/", index=index, stdin=stdin)


def open_tree(folder: Path, ref: str) -> GitTree:
    """Read which files a revision has; `A...B` is where the two went apart, `A...` where A and HEAD did.

    Raises ConfigError: no git, no repository, no such revision.
    """
    root = Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel")).rstrip("\n"))
    left, apart, right = ref.partition("...")
    if apart:
        told = f"{ref!r}: no common ancestor in {root}; in a shallow clone, fetch more of it (git fetch --unshallow)"
        commit = _answer(root, told, "merge-base", *(_commit(root, side or "HEAD") for side in (left, right)))
    else:
        commit = _commit(root, ref)
    files: dict[str, str] = {}
    large: set[str] = set()
    for entry in _git(root, "ls-tree", "-r", "-l", "-z", commit).split(b"\0")[:-1]:
        head, _, path = entry.partition(b"\t")
        mode, kind, blob, size = head.split()
        if kind == b"blob" and mode != b"120000":
            name = os.fsdecode(path)
            files[name] = blob.decode()
            # Cases, schemas and golds are wanted at any size. It is `BAD` where this clone lacks the content: who
            # writes it is told.
            is_data = name.lower().endswith((".yaml", ".yml", ".json", ".jsonl"))
            if not is_data and size.isdigit() and int(size) > 1_000_000:
                large.add(name)
    return GitTree(root=root, ref=ref, commit=commit, files=files, large=large)


def _commit(root: Path, ref: str) -> str:
    told = f"no git revision {ref!r} in {root}; in a shallow clone, fetch it first (git fetch origin {ref})"
    return _answer(root, told, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")


def _answer(root: Path, otherwise: str, *arguments: str) -> str:
    """Return the line that git answers with; raises ConfigError, which says `otherwise`."""
    try:
        return _git(root, *arguments).decode().strip()
    except ConfigError as error:
        raise ConfigError(otherwise) from error


def work_blobs(root: Path, paths: Collection[Path]) -> dict[Path, str]:
    """Return the id that git would give each file's content now; files that are not there are left out."""
    there = [path for path in paths if path.is_file() and "\n" not in str(path)]
    if not there:
        return {}
    names = b"".join(os.fsencode(os.path.abspath(path)) + b"\n" for path in there)  # noqa: PTH100
    ids = _git(root, "hash-object", "--stdin-paths", stdin=names).decode().split()
    return dict(zip(there, ids, strict=True))


def git_line(folder: Path, *arguments: str) -> str:
    """Return the line that git answers with; empty without git or an answer, and after ten seconds."""
    with suppress(ConfigError):
        return _git(folder, *arguments, timeout_s=10).decode(errors="replace").strip()
    return ""


def _git(
    folder: Path, *arguments: str, stdin: bytes = b"", index: Path | None = None, timeout_s: float | None = None
) -> bytes:
    """Run git in `folder`; no shell, no pager, no optional locks. Raises ConfigError with what git said.

    `index`: in place of the repository's own.
    """
    import subprocess  # every run of a case looks for its extractor's sources, few for a revision

    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in {"GIT_DIR", "GIT_WORK_TREE"}}
    environment |= {"LC_ALL": "C"} | ({} if index is None else {"GIT_INDEX_FILE": str(index)})
    try:
        done = subprocess.run(  # noqa: S603 - fixed command, arguments are no shell text
            command, input=stdin, capture_output=True, check=False, env=environment, timeout=timeout_s
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"git cannot be run: {error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
        raise ConfigError(f"git: {said}")
    return done.stdout


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

    `unknown`: changed files beside the extractor of which nobody knows if it reads them.
    """

    case: str
    live: bool
    reasons: tuple[str, ...] = ()
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

    Only inputs of the output count: another gold or threshold affects scoring only, which costs no call. The name of a
    case that the revision has under another one does not count, because recordings are found by content.
    """
    everywhere = [f"extractor changed ({source})" for source in sources]
    contents = {_content_of(parts) for parts in before.values()}
    chosen = []
    for case, parts in now.items():
        old = before.get(case, parts if _content_of(parts) in contents else None)
        if old is not None:
            changes = (_input_change(name, parts.get(name), old.get(name)) for name in dict.fromkeys((*parts, *old)))
            reasons = [text for text in changes if text is not None]
        elif (mistake := unread.get(case.partition("::")[0])) is not None:
            reasons = [f"unreadable at {ref}: {mistake}"]
        else:
            reasons = [f"not at {ref}"]
        reasons += everywhere
        chosen.append(Selection(case=case, live=bool(reasons), reasons=tuple(reasons)))
    return tuple(chosen)


def _content_of(parts: InputsByKind) -> frozenset[tuple[str, str]]:
    """Return what identifies the parts: their content, or, of a document that git does not keep, its place."""
    return frozenset((what, part.identity or part.name) for what, part in parts.items())


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
    found = work_blobs(tree.root, [path for case in listed if (path := case.document.file) is not None])
    blobs = {_relative(path, tree.root): blob for path, blob in found.items()}
    return {case_key_below(case, tree.root): _parts(case, tree.root, blobs) for case in listed}


def inputs_at(revision: Revision, tree: GitTree, view: Path) -> dict[str, InputsByKind]:
    """Return the parts of the cases at a revision that was written to `view`."""
    return {name: _parts(case, view, tree.files) for name, case in revision.cases.items()}


def _parts(case: Case, root: Path, blobs: Mapping[str, str]) -> dict[str, Input]:
    holder = _relative(case.path, root)
    if case.document.file is None:
        parts = {"document": Input(f"text in {holder}", case.document.sha256)}
    else:
        name = _relative(case.document.file, root)
        parts = {"document": Input(name, blobs.get(name, ""))}
    parts["schema"] = Input(_relative(case.schema_path, root), case.schema_sha256)
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
    """Load the case files as the revision has them, from `view`, where `tree.write_view(view)` has put it.

    A file that the revision does not have, or a case with a mistake, gives no case; the mistake is in `unread`.
    `documents`: of today's cases. Those that git does not keep get a placeholder in the view, so that cases load.
    """
    from pytest_extract.cases.load import load_cases
    from pytest_extract.cases.schemas import SchemaCache, compile_structure

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


def extractor_sources(extractor: object, root: Path, declared: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return the files below `root` that make the extractor, sorted: its own, what that imports, and `declared`.

    Imports are followed by the statements of the source, wherever they stand, and without importing anything: the
    answer is the same before the first call and after it. Installed packages are not part of it: their versions are a
    matter of the lock file. Of an extractor that is defined elsewhere, only what is declared.
    """
    root = root.resolve()
    start = file_of(extractor)
    module = sys.modules.get(getattr(_definition(extractor), "__module__", ""))
    package = getattr(module, "__package__", None) or ""
    found: set[Path] = set()
    waiting = [(start, package)] if start is not None and is_own(start, root) else []
    while waiting:
        path, package = waiting.pop()
        if path not in found:
            found.add(path)
            modules = map(_find_module, _imported_modules(path, package))
            waiting += [module for module in modules if module is not None and is_own(module[0], root)]
    return tuple(sorted(found.union(declared)))


def declared_files(patterns: Iterable[str], root: Path) -> tuple[Path, ...]:
    """Return the files below `root` that `extract_files` declares: globs, relative to `root`; a folder has all below.

    What Python compiles is no source.
    """
    found: list[Path] = []
    for pattern in map(PurePath, patterns):
        whole = pattern / "**" if (root / pattern).is_dir() else pattern
        everything = whole.name == "**"  # before Python 3.13, `**` at the end means folders only
        found += sorted(root.resolve().glob(str(whole / "*" if everything else whole)))
    return tuple(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def sources_digest(paths: tuple[Path, ...], root: Path) -> str:
    """Return one digest (SHA-256, hex) of the files' names below `root` and their contents, apart from line endings."""
    digest = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
        digest.update(f"{path.relative_to(root.resolve()).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def _find_module(name: str) -> tuple[Path, str] | None:
    """Return the source file and the package of a module, which need not be loaded; None without a source."""
    module = sys.modules.get(name)
    if module is not None:
        file, package = getattr(module, "__file__", None), getattr(module, "__package__", None)
        return (Path(file).resolve(), package or "") if isinstance(file, str) and file.endswith(".py") else None
    parts = name.split(".")
    if parts[0] in sys.stdlib_module_names:
        return None
    for place in (Path(folder, *parts) for folder in sys.path):
        for file, package in (place / "__init__.py", name), (Path(f"{place}.py"), name.rpartition(".")[0]):
            if file.is_file():
                return file.resolve(), package
    return None


def _definition(extractor: object) -> Any:
    """Return the function behind a partial or a wrapper, or the class of a callable object."""
    while isinstance(extractor, functools.partial):
        extractor = extractor.func
    target = inspect.unwrap(extractor) if callable(extractor) else extractor
    return target if inspect.isroutine(target) or inspect.isclass(target) else type(target)


def file_of(extractor: object) -> Path | None:
    """Return the file that defines a function, a method, a partial, or a callable object's class."""
    with suppress(TypeError):  # built in, or made without a source
        if file := inspect.getsourcefile(_definition(extractor)):
            return Path(file).resolve()
    return None


def is_own(path: Path, root: Path) -> bool:
    """Whether a file is part of the project at `root`, and no installed package."""
    return path.is_relative_to(root) and "site-packages" not in path.parts and path.is_file()


def _imported_modules(path: Path, package: str) -> Iterator[str]:
    """Yield the names of modules that a file's imports may mean, wherever they stand, each after its packages."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.ImportFrom(module=module, names=aliases, level=level):
                base = "." * level + (module or "")
                names = [f"{base}{'.' * bool(module)}{alias.name}" for alias in aliases]
            case ast.Call(
                func=ast.Attribute(attr="import_module" | "__import__") | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(text)), *_],
            ):
                names = [text]
            case _:
                continue
        for name in names:
            with suppress(ImportError):  # more dots than the package has parents
                parts = resolve_name(name, package).split(".")
                yield from (".".join(parts[: count + 1]) for count in range(len(parts)))
