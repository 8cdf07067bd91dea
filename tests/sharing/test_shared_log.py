"""What several that are at work with one folder hear of each other."""

from __future__ import annotations

import gc
import tempfile

from pytest_extract.sharing import SharedLog, SharedNotes


def test_each_hears_what_all_have_told_once(tmp_path):
    first, second = SharedLog(tmp_path), SharedLog(tmp_path)
    first.append("a")
    second.append("ü")
    assert first.read_new() == second.read_new() == ["a", "ü"]
    second.append("c")
    assert first.read_new() == ["c"]
    assert SharedLog(tmp_path).read_new() == ["a", "ü", "c"]


def test_a_line_that_is_not_whole_yet_is_heard_later(tmp_path):
    news, other = SharedLog(tmp_path), SharedLog(tmp_path)
    other.append("whole\nha")
    with SharedNotes(tmp_path).exclusive() as folder:
        (path,) = SharedNotes(tmp_path).paths(folder, "news")
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert news.read_new() == ["whole"]
    other.append("lf")
    assert news.read_new() == ["half"]


def test_the_last_one_takes_the_news_away(tmp_path):
    first, second = SharedLog(tmp_path), SharedLog(tmp_path)
    first.append("a")
    del first
    gc.collect()
    assert SharedLog(tmp_path).read_new() == ["a"]
    del second
    gc.collect()
    with SharedNotes(tmp_path).exclusive() as folder:
        assert SharedNotes(tmp_path).paths(folder, "") == []


def test_news_left_by_the_dead_are_old(tmp_path):
    with SharedNotes(tmp_path).exclusive() as folder:
        SharedNotes(tmp_path).path(folder, "news").write_text("a\n")
    assert SharedLog(tmp_path).read_new() == []


def test_where_notes_cannot_be_left_nothing_is_heard(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    news = SharedLog(tmp_path)
    news.append("a")
    assert news.read_new() == []
