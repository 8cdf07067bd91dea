"""Files that are whole or not there."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_extract import files
from pytest_extract.errors import NotWritten, StoreError
from pytest_extract.files import check_file, check_folder, write_atomic, write_once
from pytest_extract.results import write_results


def refuse(*_):
    raise OSError("no hard links here")


@pytest.fixture(params=["links", "no links"])
def path(request, tmp_path, monkeypatch):
    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse)
    return tmp_path / "deep" / "er" / "a.json"


def test_the_last_writer_wins(path):
    write_atomic(path, "one")
    write_atomic(path, "two\n")
    assert path.read_bytes() == b"two\n"
    assert [item.name for item in path.parent.iterdir()] == ["a.json"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other permissions")
def test_a_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("one")
    path.chmod(0o664)
    before = os.umask(0o077)
    try:
        write_atomic(path, "two")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o664


def test_the_first_writer_wins(path):
    assert write_once(path, "one\n") is True
    assert write_once(path, "two") is False
    assert path.read_bytes() == b"one\n"
    assert [item.name for item in path.parent.iterdir()] == ["a.json"]


@pytest.mark.parametrize("write", [write_atomic, write_once])
def test_a_folder_that_is_a_file_is_told(tmp_path, write):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"a\.json: cannot be written"):
        write(tmp_path / "file" / "a.json", "x")


def test_a_file_that_is_a_folder_is_told(tmp_path):
    (tmp_path / "a.json").mkdir()
    with pytest.raises(StoreError, match=r"a\.json: cannot be written"):
        write_atomic(tmp_path / "a.json", "x")
    assert [item.name for item in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("write", [write_atomic, write_once, lambda path, _: write_results(path, [])])
def test_what_a_killed_writer_left_is_removed_after_an_hour(tmp_path, monkeypatch, write):
    monkeypatch.setattr(files, "_tidied", set())
    others = [tmp_path / ".0123456789abcdef.tmp", tmp_path / "pytest-extract-1.tmp"]
    old, young = tmp_path / ".pytest-extract-0.tmp", tmp_path / ".pytest-extract-1.tmp"
    for path in (*others, old, young):
        path.write_text("half")
    for path in (*others, old):
        os.utime(path, (0, 0))
    write(tmp_path / "a.json", "x")
    assert sorted(tmp_path.iterdir()) == sorted([*others, young, tmp_path / "a.json"])


@pytest.mark.parametrize("write", [write_atomic, write_once])
def test_a_writer_that_fails_leaves_nothing(tmp_path, write):
    with pytest.raises(TypeError):
        write(tmp_path / "a.json", 3)
    assert [item.name for item in tmp_path.iterdir()] == []


def test_lone_surrogates_are_written(tmp_path):
    write_atomic(tmp_path / "a", "\ud800")
    assert (tmp_path / "a").read_bytes() == b"\xed\xa0\x80"


@pytest.mark.skipif(os.name == "nt", reason="Windows gives no right to make links")
def test_what_a_link_points_to_is_replaced(tmp_path):
    (tmp_path / "file").write_text("one")
    link = tmp_path / "link"
    link.symlink_to("file")
    write_atomic(link, "two")
    assert link.is_symlink()
    assert (tmp_path / "file").read_text() == "two"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder that its user may read only: root is somebody else while the test runs."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o555)
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits of a folder mean nothing on Windows")
@pytest.mark.parametrize("name", ["r.html", "new/r.html"])
def test_a_read_only_folder_is_found_out(read_only: Path, name: str) -> None:
    with pytest.raises(NotWritten, match="Permission denied"):
        check_file(read_only / name)
    with pytest.raises(NotWritten, match="Permission denied"):
        check_folder((read_only / name).parent)
    assert list(read_only.iterdir()) == []


def test_a_check_leaves_nothing(tmp_path: Path) -> None:
    check_file(tmp_path / "a" / "b" / "r.html")
    check_folder(tmp_path / "c" / "d")
    assert list(tmp_path.iterdir()) == []


def test_a_check_does_not_touch_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")
    check_file(path)
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotWritten, match="it is a folder"):
        check_file(tmp_path)
