"""Commands in a folder of their own, and the files that they read, each in a line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_extract.cli import main


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def rows(self) -> list[str]:
        """The lines with single spaces."""
        return [" ".join(line.split()) for line in self.lines]

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def assert_refused(self, message: str) -> None:
        """The command ended as for wrong usage, and said why."""
        assert message in self.err
        assert self.status == 2


Run = Callable[..., Ended]


def write(files: Mapping[str, object], folder: Path | str = ".") -> None:
    """Write files with their folders: text and bytes as they are, all else as JSON, which a case file may be as well."""
    for name, content in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run `pytest-extract` with words of one text and further arguments, in a folder of the test; `status`: expected."""
    monkeypatch.chdir(tmp_path)

    def run(command: str, *more: object, status: int | None = None) -> Ended:
        capfd.readouterr()
        try:
            found = main([*shlex.split(command), *map(str, more)])
        except SystemExit as wrong_usage:
            found = int(str(wrong_usage.code))
        ended = Ended(found, *capfd.readouterr())
        assert status in (None, found), ended.err
        return ended

    return run
