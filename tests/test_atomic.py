"""Files that are whole or not there."""

from __future__ import annotations

import os

import pytest

from pytest_extract.atomic import write_atomic, write_once
from pytest_extract.errors import StoreError


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
