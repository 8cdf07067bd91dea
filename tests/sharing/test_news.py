"""What several that are at work with one folder hear of each other."""

from __future__ import annotations

import gc
import tempfile

from pytest_extract.sharing.news import News
from pytest_extract.sharing.place import SharedFolder


def test_each_hears_what_all_have_told_once(tmp_path):
    first, second = News(tmp_path), News(tmp_path)
    first.tell("a")
    second.tell("ü")
    assert first.heard() == second.heard() == ["a", "ü"]
    second.tell("c")
    assert first.heard() == ["c"]
    assert News(tmp_path).heard() == ["a", "ü", "c"]


def test_a_line_that_is_not_whole_yet_is_heard_later(tmp_path):
    news, other = News(tmp_path), News(tmp_path)
    other.tell("whole\nha")
    with SharedFolder(tmp_path).turn() as folder:
        (path,) = SharedFolder(tmp_path).paths(folder, "news")
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    assert news.heard() == ["whole"]
    other.tell("lf")
    assert news.heard() == ["half"]


def test_the_last_one_takes_the_news_away(tmp_path):
    first, second = News(tmp_path), News(tmp_path)
    first.tell("a")
    del first
    gc.collect()
    assert News(tmp_path).heard() == ["a"]
    del second
    gc.collect()
    with SharedFolder(tmp_path).turn() as folder:
        assert SharedFolder(tmp_path).paths(folder, "") == []


def test_news_left_by_the_dead_are_old(tmp_path):
    with SharedFolder(tmp_path).turn() as folder:
        SharedFolder(tmp_path).path(folder, "news").write_text("a\n")
    assert News(tmp_path).heard() == []


def test_where_notes_cannot_be_left_nothing_is_heard(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    news = News(tmp_path)
    news.tell("a")
    assert news.heard() == []
