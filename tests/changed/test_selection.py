"""What a git revision changed, case by case: over real repositories made for the test."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_extract.cases.load import load_cases
from pytest_extract.changed import (
    Input,
    Selection,
    cases_at,
    extractor_sources,
    inputs_at,
    inputs_now,
    open_tree,
    select_cases,
    sources_digest,
    work_blobs,
)
from pytest_extract.errors import ConfigError
from tests.commands import write

SCHEMA = '{"type": "object", "properties": {"n": {"type": "string"}}}'
CASES = """\
defaults: {schema: s.json, prompt: p.md}
cases:
  - {id: file, document: d.txt, gold: {n: a}}
  - {id: pdf, document: d.pdf, gold: {n: a}}
  - {id: inline, text: some text, gold: {n: a}, question: what?}
"""
FILES = {
    "x.extract.yaml": CASES,
    "s.json": SCHEMA,
    "p.md": "Extract it.\n",
    "d.txt": "document\n",
    "d.pdf": b"%PDF \x00\xff",
}


@pytest.fixture
def repo(git):
    git.commit({f"cases/{name}": content for name, content in FILES.items()})
    return git.root


def edit(repo, name, old, new):
    path = repo / "cases" / name
    path.write_text(path.read_text().replace(old, new))


def choices(repo, ref="HEAD", sources=()):
    """Return why each case has changed since a revision; empty reasons for one that has not."""
    tree = open_tree(repo / "cases", ref)
    view = Path(tempfile.mkdtemp(dir=repo.parent))
    tree.write_view(view)
    files = sorted((repo / "cases").glob("*.extract.yaml"))
    now = [case for file in files for case in load_cases(file).cases]
    documents = [case.document.path for case in now if case.document.path]
    revision = cases_at(tree, files, view, documents=documents)
    made = select_cases(inputs_now(now, tree), inputs_at(revision, tree, view), sources=sources, ref=ref)
    return {choice.case.rpartition("::")[2]: choice.reasons for choice in made}


NOTHING = {"file": (), "pdf": (), "inline": ()}
PROMPT = dict.fromkeys(NOTHING, ("prompt changed (cases/p.md)",))
SUITE = "x.extract.yaml"


@pytest.mark.parametrize(
    ("name", "old", "new", "changed"),
    [
        (SUITE, "some text", "other text", {"inline": "document changed (text in cases/x.extract.yaml)"}),
        (SUITE, "what?", "who?", {"inline": "question changed (cases/x.extract.yaml)"}),
        (SUITE, ", question: what?", "", {"inline": "question removed (cases/x.extract.yaml)"}),
        (SUITE, "{id: file,", "{id: file, question: q,", {"file": "question added (cases/x.extract.yaml)"}),
        (SUITE, "document: d.txt", "document: p.md", {"file": "document changed (cases/d.txt -> cases/p.md)"}),
        (SUITE, "gold: {n: a}", "gold: {n: b}", {}),
        (SUITE, "cases:", "# a comment\ncases:", {}),
        ("d.txt", "document", "another", {"file": "document changed (cases/d.txt)"}),
        ("s.json", " ", "\n", {}),
        ("s.json", '"string"', '"string", "description": "d"', dict.fromkeys(NOTHING, "schema changed (cases/s.json)")),
    ],
)
def test_a_change_touches_the_cases_whose_output_hangs_on_it(repo, name, old, new, changed):
    edit(repo, name, old, new)
    assert choices(repo) == NOTHING | {case: (why,) for case, why in changed.items()}


def test_a_changed_prompt_document_or_source_and_new_cases(repo, git):
    assert choices(repo) == NOTHING
    assert set(choices(repo, sources=["conftest.py"]).values()) == {("extractor changed (conftest.py)",)}
    write({"cases/d.pdf": b"%PDF \x00\xfe"}, repo)
    assert choices(repo) == NOTHING | {"pdf": ("document changed (cases/d.pdf)",)}
    write({"cases/y.extract.yaml": f"{{id: y, text: t, schema: {SCHEMA}, gold: {{n: a}}}}"}, repo)
    edit(repo, SUITE, "id: pdf, document: d.pdf", "id: new, document: p.md")
    assert choices(repo) == {"file": (), "new": ("not at HEAD",), "inline": (), "y": ("not at HEAD",)}
    git.commit({"cases/p.md": "Second.\n"})
    assert not any(choices(repo).values())
    found = choices(repo, "HEAD~1")
    assert {name: found[name] for name in ("file", "inline")} == {name: PROMPT[name] for name in ("file", "inline")}


def test_what_git_converts_or_does_not_keep_is_no_change(repo, git):
    git("rm", "-q", "--cached", "cases/d.pdf")
    git.commit({".gitattributes": "*.txt text\n", ".gitignore": "d.pdf\n"})
    write({"cases/d.txt": b"document\r\n", "cases/d.pdf": b"other"}, repo)
    assert choices(repo) == NOTHING


def test_a_case_of_another_name_is_known_by_its_content():
    before = {"old": {"document": Input("d.txt", "1"), "prompt": Input("p.md", "2")}}
    now = {
        "renamed": {"document": Input("e.txt", "1"), "prompt": Input("q.md", "2")},
        "new": {"document": Input("d.txt", "1"), "question": Input("p.md", "2")},
    }
    renamed, new = select_cases(now, before, ref="main")
    assert renamed == Selection(case="renamed", live=False)
    assert new == Selection(case="new", live=True, reasons=("not at main",))
    unkept = {name: {"document": Input(f"{name}.txt", "")} for name in ("here", "there")}
    chosen = select_cases(unkept, {"old": unkept["here"]})
    assert [choice.live for choice in chosen] == [False, True]  # the same only in its place


def test_three_dots_name_the_place_where_two_branches_went_apart(repo, git):
    git("branch", "main-line")
    git("checkout", "-qb", "topic")
    git.commit({"cases/d.txt": "my document\n"})
    git("checkout", "-q", "main-line")
    git.commit({"cases/p.md": "Their prompt.\n"})
    git("checkout", "-q", "topic")
    mine = NOTHING | {"file": ("document changed (cases/d.txt)",)}
    assert choices(repo, "main-line...") == choices(repo, "main-line...HEAD") == mine
    assert choices(repo, "main-line") != mine
    git("checkout", "-q", "--orphan", "other")
    git.commit()
    with pytest.raises(ConfigError, match=r"no common ancestor.*--unshallow"):
        open_tree(repo, "main-line...other")


@pytest.mark.parametrize("ref", ["nonsense", "nonsense...", "--help", "-n", "HEAD^{tree}x", "a b", ""])
def test_an_unknown_revision_is_one_clear_error(repo, ref):
    with pytest.raises(ConfigError, match="no git revision"):
        open_tree(repo, ref)


def test_outside_a_repository_is_one_clear_error(tmp_path):
    with pytest.raises(ConfigError, match="git"):
        open_tree(tmp_path, "HEAD")


def test_changed_new_and_gone_files(repo):
    write({"cases/p.md": "Second.\n", "cases/new.py": "x = 1\n"}, repo)
    (repo / "cases/d.txt").unlink()
    paths = [repo / "cases" / name for name in ("p.md", "new.py", "d.txt", "s.json", "never.py")]
    assert [path.name for path in open_tree(repo, "HEAD").changed(paths)] == ["p.md", "new.py", "d.txt"]
    assert [path.name for path in work_blobs(repo, paths)] == ["p.md", "new.py", "s.json"]


def test_a_view_has_small_files_and_placeholders_and_nothing_outside(repo, git, tmp_path):
    (repo / "link.md").symlink_to("/etc/passwd")
    lfs = {".gitattributes": "*.md filter=lfs\nunexported.md export-ignore\n", "unexported.md": "here"}
    git.commit({"big.md": b"x" * 1_000_001, "big.jsonl": b" " * 1_000_001, "odd name\n.md": "odd", **lfs})
    git("config", "filter.lfs.smudge", "false")
    git("config", "filter.lfs.required", "true")
    view = tmp_path / "elsewhere"
    open_tree(repo, "HEAD").write_view(view)
    sizes = {path.relative_to(view).as_posix(): path.stat().st_size for path in view.rglob("*") if path.is_file()}
    files = {f"cases/{name}": len(content) for name, content in FILES.items()}
    others = {"big.md": 0, "big.jsonl": 1_000_001, "odd name\n.md": 3}
    assert sizes == files | others | {name: len(content) for name, content in lfs.items()}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose extractor imports a package of its own."""
    code = "from gating_demo.rules import W\nclass Extractor:\n    def __call__(self, document): return W\n"
    files = {
        "gating_demo/__init__.py": "",
        "gating_demo/rules.py": "from . import words\nfrom .words import W\nimport json\n",
        "gating_demo/words.py": "W = 1\n",
        "gating_demo/unused.py": "",
        "gating_demo_extract.py": f"{code}    def method(self, document): return W\ndef extract(document): return W\n",
    }
    write(files, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("gating_demo_extract")
    for name in [name for name in sys.modules if name.startswith("gating_demo")]:
        del sys.modules[name]


def test_sources_of_an_extractor_are_its_file_and_what_of_the_project_it_imports(project, tmp_path):
    made = project.Extractor()
    for extractor in (project.extract, functools.partial(project.extract), project.Extractor, made, made.method):
        paths = extractor_sources(extractor, tmp_path)
        names = [path.relative_to(tmp_path.resolve()).as_posix() for path in paths]
        package = [f"gating_demo/{name}.py" for name in ("__init__", "rules", "words")]
        assert names == [*package, "gating_demo_extract.py"]
    before = sources_digest(paths, tmp_path)
    assert sources_digest(paths, tmp_path) == before
    write({"gating_demo/words.py": "W = 2\n"}, tmp_path)
    assert sources_digest(paths, tmp_path) != before


def test_an_extractor_that_is_defined_elsewhere_has_no_sources_here(tmp_path):
    for extractor in (len, print, 7, None, subprocess.run):
        assert extractor_sources(extractor, tmp_path) == ()
