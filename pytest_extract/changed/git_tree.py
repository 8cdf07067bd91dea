"""One git revision, read only: which files it has, what is in them, and whether the work tree still has the same.

Contents are compared as git compares them (by blob, after its filters), so line endings and LFS pointers do not count.
Nothing is checked out, and the repository is not written to.

Hunks are what differs between two revisions of a file. The search for those that make a field fall halves a set of
hunks until one is left; two that fall only together are found as a pair.
Source: Zeller (1999), "Yesterday, my program worked. Today, it does not. Why?", the algorithm dd.
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from pytest_extract.errors import ConfigError
from pytest_extract.files import own_place

_LARGEST: Final = 1_000_000
_ALWAYS: Final = (".yaml", ".yml", ".json", ".jsonl")
_BINARY: Final = (
    *(".pdf", ".png", ".jpg", ".jpeg", ".gif", ".tif", ".tiff", ".webp", ".bmp", ".mp3", ".wav", ".ogg", ".flac"),
    *(".m4a", ".mp4", ".docx", ".xlsx", ".pptx", ".zip", ".gz", ".tar", ".whl", ".so"),
)
"""Suffixes of files that are no text; media types are no help, as each machine knows others (/etc/mime.types)."""


class Blob(NamedTuple):
    """A file of a revision: its content's id and its size in bytes."""

    id: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GitTree:
    """A revision. `root`: top folder of the work tree; `files`: paths relative to it, with `/`; no symbolic links."""

    root: Path
    ref: str
    commit: str
    files: Mapping[str, Blob]

    def name(self, path: Path) -> str | None:
        """Return the path as the revision names it, None for one outside of the work tree."""
        place = own_place(path)
        return place.relative_to(self.root).as_posix() if place.is_relative_to(self.root) else None

    def text(self, name: str) -> str:
        """Return the text of a file; empty where the revision does not have it."""
        blob = self.files.get(name)
        return "" if blob is None else _contents(self.root, [blob.id])[0].decode("utf-8", "replace")

    def archive(self) -> bytes:
        """Return all files of the revision as a tar archive."""
        return _git(self.root, "archive", "--format=tar", self.commit)

    def changed(self, paths: Iterable[Path]) -> dict[Path, str]:
        """Return those of `paths` that are not as at the revision, each with what happened: changed, new or gone."""
        wanted = list(dict.fromkeys(paths))
        now = work_blobs(self.root, wanted)
        told: dict[Path, str] = {}
        for path in wanted:
            blob = self.files.get(self.name(path) or "")
            old, new = blob and blob.id, now.get(path)
            if old != new:
                told[path] = "new" if old is None else "gone" if new is None else "changed"
        return told

    def changed_below(self, folder: Path) -> list[Path]:
        """Return the files below a folder that are not as at the revision, also new ones that git does not ignore."""
        changed = _git(self.root, "diff", "--name-only", "--no-renames", "-z", self.commit, "--", str(folder))
        new = _git(self.root, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", str(folder))
        names = [os.fsdecode(name) for name in (changed + new).split(b"\0") if name]
        return [self.root / name for name in dict.fromkeys(names)]

    def write(self, into: Path) -> None:
        """Write the revision's files below `into`; binary documents and large files as empty placeholders.

        What a case file names is thereby there to be found and, where it is text, to be read.
        """
        names = [name for name in self.files if _is_safe(name)]
        real = [name for name in names if _is_text(name, self.files[name].size)]
        contents = _contents(self.root, [self.files[name].id for name in real])
        by_name = dict(zip(real, contents, strict=True))
        for name in names:
            target = into / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(by_name.get(name, b""))


def open_tree(folder: Path, ref: str) -> GitTree:
    """Read which files a revision has; `A...B` is where the two went apart, `A...` where A and HEAD did.

    Raises ConfigError: no git, no repository, no such revision.
    """
    root = Path(os.fsdecode(_git(folder, "rev-parse", "--show-toplevel")).rstrip("\n"))
    left, apart, right = ref.partition("...")
    if apart:
        told = f"{ref!r}: no common ancestor in {root}; in a shallow clone, fetch more of it (git fetch --unshallow)"
        name = _answer(root, told, "merge-base", *(_commit(root, side or "HEAD") for side in (left, right)))
    else:
        name = _commit(root, ref)
    return GitTree(root=root, ref=ref, commit=name, files=_files(_git(root, "ls-tree", "-r", "-l", "-z", name)))


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


def _files(listing: bytes) -> dict[str, Blob]:
    files: dict[str, Blob] = {}
    for entry in listing.split(b"\0"):
        if not entry:
            continue
        head, _, name = entry.partition(b"\t")
        mode, kind, blob, size = head.split()
        if kind == b"blob" and mode != b"120000":
            files[os.fsdecode(name)] = Blob(blob.decode(), int(size))
    return files


def _contents(root: Path, ids: list[str]) -> list[bytes]:
    if not ids:
        return []
    answer = _git(root, "cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in ids).encode())
    contents: list[bytes] = []
    place = 0
    for blob in ids:
        end = answer.index(b"\n", place)
        head = answer[place:end].split()
        if len(head) != 3:
            raise ConfigError(f"git has no content for {blob} here (a partial clone?); fetch it first")
        size = int(head[2])
        contents.append(answer[end + 1 : end + 1 + size])
        place = end + size + 2
    return contents


def _is_safe(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name


def _is_text(name: str, size: int) -> bool:
    lower = name.lower()
    return lower.endswith(_ALWAYS) or (size <= _LARGEST and not lower.endswith(_BINARY))


def _git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """Run git in `folder`; no shell, no pager, no optional locks. Raises ConfigError with what git said."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in {"GIT_DIR", "GIT_WORK_TREE"}}
    try:
        done = subprocess.run(  # noqa: S603 - fixed command, arguments are no shell text
            command, input=stdin, capture_output=True, check=False, env={**environment, "LC_ALL": "C"}
        )
    except OSError as error:
        raise ConfigError(f"git cannot be run: {error.strerror or error}") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
        raise ConfigError(f"git {arguments[0]}: {said}")
    return done.stdout


SUFFIXES: Final = (".md", ".txt", ".prompt", ".jinja", ".j2", ".json", ".yaml", ".yml")
"""Of files that may be prompts or schemas; case files, golds and their reviews are none."""
_OTHERS: Final = (".extract.yaml", ".extract.yml", ".gold.json", ".gold.yaml", ".review.json")


@dataclass(frozen=True, slots=True, order=True)
class Hunk:
    """One change of a file: `old` lines, from index `start` of the old text, become `new`.

    `first`, `last`: the lines from 1 where it stands in the new text; `last` is less than `first` where lines are gone.
    """

    file: str
    start: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    first: int
    last: int

    def __str__(self) -> str:
        if self.last < self.first:
            where = f"after line {self.first - 1}, {len(self.old)} gone"
        else:
            where = f"line {self.first}" if self.first == self.last else f"lines {self.first} to {self.last}"
        return f"{self.file}: {where}"


def is_searched(name: str) -> bool:
    """Whether a file may be a prompt or a schema."""
    return PurePosixPath(name).suffix in SUFFIXES and not name.endswith(_OTHERS)


def is_output(text: str) -> bool:
    """Whether the text of a file is a recording or a baseline: what runs write, and no input of them."""
    return re.match(r'\{\s*"(?:format": \d+,\s*"case"|kind": "pytest-extract)', text) is not None


def hunks_between(file: str, old: str, new: str) -> list[Hunk]:
    """Return the hunks that make one text of another, in their order."""
    one, other = old.splitlines(keepends=True), new.splitlines(keepends=True)
    return [
        Hunk(file, i, tuple(one[i:j]), tuple(other[k:m]), k + 1, m)
        for kind, i, j, k, m in difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        if kind != "equal"
    ]


def with_hunks(old: str, hunks: Iterable[Hunk]) -> str:
    """Return a text with some of its hunks."""
    lines = old.splitlines(keepends=True)
    for hunk in sorted(hunks, reverse=True):
        lines[hunk.start : hunk.start + len(hunk.old)] = hunk.new
    return "".join(lines)


class Search:
    """Finds the hunks that make fields fall; `measure` gives the share of each field that is right with some hunks.

    Each set is measured once, whatever it is measured for. `runs` counts the sets. A field without a share has not
    fallen: some hunks give no result without others.
    """

    def __init__(self, hunks: Sequence[Hunk], measure: Callable[[frozenset[Hunk]], Mapping[str, float]]) -> None:
        self._hunks = tuple(hunks)
        self._measure = measure
        self._known: dict[frozenset[Hunk], Mapping[str, float]] = {}

    @property
    def runs(self) -> int:
        """Sets that were measured."""
        return len(self._known)

    def rates(self, hunks: Iterable[Hunk]) -> Mapping[str, float]:
        """Return the share of each field that is right with these hunks."""
        key = frozenset(hunks)
        if key not in self._known:
            self._known[key] = self._measure(key)
        return self._known[key]

    def causes(self, field: str) -> list[Hunk]:
        """Return the hunks that a field falls by: with them it is nearer to all hunks than to none."""
        before, after = self.rates(()).get(field, 0.0), self.rates(self._hunks).get(field, 0.0)

        def has_fallen(hunks: tuple[Hunk, ...]) -> bool:
            rates = self.rates(hunks)
            return field in rates and rates[field] <= (before + after) / 2

        def reduced(hunks: tuple[Hunk, ...], beside: tuple[Hunk, ...]) -> tuple[Hunk, ...]:
            if len(hunks) == 1:
                return hunks
            halves = hunks[: len(hunks) // 2], hunks[len(hunks) // 2 :]
            for half in halves:
                if has_fallen((*beside, *half)):
                    return reduced(half, beside)
            return (*reduced(halves[0], (*beside, *halves[1])), *reduced(halves[1], (*beside, *halves[0])))

        found = reduced(self._hunks, ())
        for hunk in found if len(found) > 1 else ():
            rest = tuple(each for each in found if each != hunk)
            found = rest if rest and has_fallen(rest) else found
        return sorted(found)

    def most_runs(self, fields: int) -> int:
        """Return how many sets are measured at most where each field falls by one hunk."""
        return 2 + fields * 2 * max(0, (len(self._hunks) - 1).bit_length())
