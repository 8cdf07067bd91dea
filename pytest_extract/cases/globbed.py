"""`documents:` of a case file: the documents that a pattern matches, and the keys of the case of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from pytest_extract.errors import CaseFileError

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
