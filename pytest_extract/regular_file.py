"""Reads regular files up to a size limit. A device has no end, and a pipe waits for a writer forever."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

MOST_BYTES: Final = 64 * 1024**2
"""Largest case file, schema, gold, prompt, recording, or the like."""
MOST_BULK_BYTES: Final = 2 * 1024**3
"""Largest file of many records, and largest document: a dataset, results, a baseline."""
_PART: Final = 65_536
"""Bytes asked for at once behind the size that the system tells: of a file that grows, of /proc, of a pipe."""
_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
)


def read_regular(path: str | Path, most: int = MOST_BYTES, *, streams: bool = False) -> bytes:
    """Return the bytes of a file; OSError, with `strerror`, for what is no regular file or larger than `most`.

    `streams`: somebody names the file to have it read now, so that a pipe or device will do (`/dev/stdin`).
    """
    kind = other_kind(os.stat(path).st_mode)  # noqa: PTH116 - a file a case, and pathlib takes five times as long
    if kind is not None and not streams:  # not even opened, as that waits for the other end of a pipe
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file")
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {most:,} are read")
        parts: list[bytes] = []
        count = 0
        while part := file.read(max(size + 1 - count, _PART)):
            parts.append(part)
            count += len(part)
            if count > most:
                raise OSError(errno.EFBIG, f"it has more than {most:,} bytes, the most that are read")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def open_regular(path: Path, most: int = MOST_BYTES) -> BinaryIO:
    """Open a file to be read line by line; OSError as `read_regular`."""
    found = path.stat()
    kind = other_kind(found.st_mode)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file")
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, and at most {most:,} are read")
    return path.open("rb")


def read_regular_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a UTF-8 file, line ends as newlines; OSError as `read_regular`, or UnicodeDecodeError."""
    text = read_regular(path, most).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def other_kind(mode: int) -> str | None:
    """Name what a file is where it is no regular one: `a named pipe`."""
    if stat.S_ISREG(mode):
        return None
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
