"""What a git revision changed, case by case: over real repositories made for the test."""

from __future__ import annotations

import subprocess
import sys

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

SCHEMA = '{"type": "object", "properties": {"n": {"type": "string"}}}'
CASES = """\
defaults: {schema: s.json, prompt: p.md}
cases:
  - {id: file, document: d.txt, gold: {n: a}}
  - {id: pdf, document: d.pdf, gold: {n: a}}
  - {id: inline, text: some text, gold: {n: a}, question: what?}
"""


def git(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path):
    root = (tmp_path / "repo").resolve()
    folder = root / "cases"
    folder.mkdir(parents=True)
    git(tmp_path, "init", "-q", str(root))
    (folder / "x.extract.yaml").write_text(CASES)
    (folder / "s.json").write_text(SCHEMA)
    (folder / "p.md").write_text("Extract it.\n")
    (folder / "d.txt").write_text("document\n")
    (folder / "d.pdf").write_bytes(b"%PDF \x00\xff")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def choices(repo, ref="HEAD", sources=()):
    tree = open_tree(repo / "cases", ref)
    view = repo.parent / "view"
    tree.write(view)
    files = sorted((repo / "cases").glob("*.extract.yaml"))
    now = [case for file in files for case in load_cases(file).cases]
    documents = [case.document.path for case in now if case.document.path]
    revision = cases_at(tree, files, view, documents=documents)
    made = select_cases(inputs_now(now, tree), inputs_at(revision, tree, view), sources=sources, ref=ref)
    return {choice.case.rpartition("::")[2]: choice.reasons for choice in made}


NOTHING = {"file": (), "pdf": (), "inline": ()}


def test_nothing_changed(repo):
    assert choices(repo) == NOTHING


def test_a_changed_prompt_touches_the_cases_that_use_it(repo):
    (repo / "cases" / "p.md").write_text("Extract it well.\n")
    why = ("prompt changed (cases/p.md)",)
    assert choices(repo) == {"file": why, "pdf": why, "inline": why}


@pytest.mark.parametrize(
    ("name", "case", "why"),
    [
        ("d.txt", "file", "document changed (cases/d.txt)"),
        ("d.pdf", "pdf", "document changed (cases/d.pdf)"),
    ],
)
def test_a_changed_document_touches_its_case(repo, name, case, why):
    with (repo / "cases" / name).open("ab") as file:
        file.write(b"more")
    assert choices(repo) == NOTHING | {case: (why,)}


@pytest.mark.parametrize(
    ("old", "new", "case", "why"),
    [
        ("some text", "other text", "inline", "document changed (text in cases/x.extract.yaml)"),
        ("what?", "who?", "inline", "question changed (cases/x.extract.yaml)"),
        (", question: what?", "", "inline", "question removed (cases/x.extract.yaml)"),
        ("document: d.txt", "document: p.md", "file", "document changed (cases/d.txt -> cases/p.md)"),
        ("id: pdf, document: d.pdf", "id: new, document: p.md", "new", "not at HEAD"),
        ("{id: file,", "{id: file, question: q,", "file", "question added (cases/x.extract.yaml)"),
    ],
)
def test_a_changed_case_file_touches_what_it_changes(repo, old, new, case, why):
    (repo / "cases" / "x.extract.yaml").write_text(CASES.replace(old, new))
    found = choices(repo)
    assert found.pop(case) == (why,)
    assert not any(found.values())


@pytest.mark.parametrize("change", [("gold: {n: a}", "gold: {n: b}"), ("cases:", "# a comment\ncases:")])
def test_what_no_output_hangs_on_costs_no_call(repo, change):
    (repo / "cases" / "x.extract.yaml").write_text(CASES.replace(*change))
    assert choices(repo) == NOTHING


def test_white_space_in_a_schema_file_is_no_change_but_a_description_is(repo):
    schema = repo / "cases" / "s.json"
    schema.write_text(SCHEMA.replace(" ", "\n"))
    assert choices(repo) == NOTHING
    schema.write_text(SCHEMA.replace('"string"', '"string", "description": "the number"'))
    assert set(choices(repo).values()) == {("schema changed (cases/s.json)",)}


def test_a_new_case_file_is_not_at_the_revision(repo):
    (repo / "cases" / "y.extract.yaml").write_text(f"{{id: y, text: t, schema: {SCHEMA}, gold: {{n: a}}}}")
    assert choices(repo)["y"] == ("not at HEAD",)


def test_line_endings_that_git_converts_are_no_change(repo):
    (repo / ".gitattributes").write_text("*.txt text\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "attributes")
    (repo / "cases" / "d.txt").write_bytes(b"document\r\n")
    assert choices(repo) == NOTHING


def test_a_document_that_git_does_not_keep_is_left_to_the_recordings(repo):
    (repo / ".gitignore").write_text("d.pdf\n")
    git(repo, "rm", "-q", "--cached", "cases/d.pdf")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "ignore")
    (repo / "cases" / "d.pdf").write_bytes(b"other")
    assert choices(repo) == NOTHING


def test_changed_source_touches_everything(repo):
    found = choices(repo, sources=["conftest.py"])
    assert set(found.values()) == {("extractor changed (conftest.py)",)}


def test_choosing_is_a_function_of_parts():
    now = {"a": {"prompt": Input("p", "1")}, "b": {"prompt": Input("p", "1")}}
    before = {"a": {"prompt": Input("p", "1")}, "b": {"prompt": Input("p", "0")}}
    assert select_cases(now, before) == (
        Selection(case="a", live=False),
        Selection(case="b", live=True, reasons=("prompt changed (p)",)),
    )


def test_a_case_of_another_name_with_the_same_parts_is_no_new_one():
    parts = {"document": Input("d.txt", "1"), "prompt": Input("p.md", "2")}
    moved = {"document": Input("e.txt", "1"), "prompt": Input("q.md", "2")}
    other = {"document": Input("d.txt", "1"), "question": Input("p.md", "2")}
    before = {"still": parts, "old": parts}
    assert select_cases({"still": parts, "new": moved, "other": other}, before, ref="main") == (
        Selection(case="still", live=False),
        Selection(case="new", live=False),
        Selection(case="other", live=True, reasons=("not at main",)),
    )
    assert select_cases({"new": moved}, before, sources=["conftest.py"]) == (
        Selection(case="new", live=True, reasons=("extractor changed (conftest.py)",)),
    )


def test_a_document_that_git_does_not_keep_is_the_same_only_in_its_place():
    before = {"old": {"document": Input("d.txt", "")}}
    chosen = select_cases({"here": {"document": Input("d.txt", "")}, "there": {"document": Input("e.txt", "")}}, before)
    assert [choice.live for choice in chosen] == [False, True]


def test_an_older_revision_can_be_named(repo):
    (repo / "cases" / "p.md").write_text("Second.\n")
    git(repo, "commit", "-qam", "second")
    assert choices(repo) == NOTHING
    assert set(choices(repo, "HEAD~1").values()) == {("prompt changed (cases/p.md)",)}


def test_three_dots_name_the_place_where_two_branches_went_apart(repo):
    git(repo, "branch", "main-line")
    git(repo, "checkout", "-qb", "topic")
    (repo / "cases" / "d.txt").write_text("my document\n")
    git(repo, "commit", "-qam", "mine")
    git(repo, "checkout", "-q", "main-line")
    (repo / "cases" / "p.md").write_text("Their prompt.\n")
    git(repo, "commit", "-qam", "theirs")
    git(repo, "checkout", "-q", "topic")
    mine = NOTHING | {"file": ("document changed (cases/d.txt)",)}
    assert choices(repo, "main-line...") == choices(repo, "main-line...HEAD") == mine
    assert set(choices(repo, "main-line").values()) != set(mine.values())


def test_branches_without_a_common_ancestor_are_one_clear_error(repo):
    git(repo, "branch", "-m", "main-line")
    git(repo, "checkout", "-q", "--orphan", "other")
    git(repo, "commit", "-qm", "other")
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
    cases = repo / "cases"
    (cases / "p.md").write_text("Second.\n")
    (cases / "new.py").write_text("x = 1\n")
    (cases / "d.txt").unlink()
    names = ["p.md", "new.py", "d.txt", "s.json", "never.py"]
    found = open_tree(repo, "HEAD").changed(cases / name for name in names)
    assert {path.name: what for path, what in found.items()} == {"p.md": "changed", "new.py": "new", "d.txt": "gone"}


def test_a_view_has_texts_and_placeholders_and_nothing_outside(repo, tmp_path):
    (repo / "link.md").symlink_to("/etc/passwd")
    (repo / "big.md").write_bytes(b"x" * 1_000_001)
    (repo / "odd name\n.md").write_text("odd")
    for suffix in ("xml", "sql", "tex"):  # which some machines know as application/*
        (repo / f"prompt.{suffix}").write_text("<p>")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "more")
    view = tmp_path / "elsewhere"
    open_tree(repo, "HEAD").write(view)
    sizes = {path.relative_to(view).as_posix(): path.stat().st_size for path in view.rglob("*") if path.is_file()}
    assert sizes == {
        "big.md": 0,
        "odd name\n.md": 3,
        "prompt.xml": 3,
        "prompt.sql": 3,
        "prompt.tex": 3,
        "cases/d.pdf": 0,
        "cases/d.txt": 9,
        "cases/p.md": 12,
        "cases/s.json": len(SCHEMA),
        "cases/x.extract.yaml": len(CASES),
    }


def test_blobs_of_files_that_are_not_there_are_left_out(repo):
    assert work_blobs(repo, [repo / "none"]) == {}
    assert len(work_blobs(repo, [repo / "none", repo / "cases" / "p.md"])) == 1


def test_a_case_that_the_revision_could_not_read_is_told(repo):
    file = repo / "cases" / "x.extract.yaml"
    file.write_text(CASES.replace("document: d.pdf", "document: missing.pdf"))
    git(repo, "commit", "-qam", "mistake")
    file.write_text(CASES)
    tree = open_tree(repo, "HEAD")
    view = repo.parent / "view"
    tree.write(view)
    revision = cases_at(tree, [file], view)
    assert set(revision.cases) == {"cases/x.extract.yaml::file", "cases/x.extract.yaml::inline"}
    assert "missing.pdf" in revision.unread["cases/x.extract.yaml"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose extractor imports a package of its own."""
    root = tmp_path / "project"
    (root / "gating_demo").mkdir(parents=True)
    (root / "gating_demo" / "__init__.py").write_text("")
    (root / "gating_demo" / "rules.py").write_text("from . import words\nfrom .words import W\nimport json\n")
    (root / "gating_demo" / "words.py").write_text("W = 1\n")
    (root / "gating_demo" / "unused.py").write_text("")
    (root / "gating_demo_extract.py").write_text(
        "import functools\nfrom gating_demo.rules import W\n"
        "def extract(document): return W\n"
        "class Extractor:\n    def __call__(self, document): return W\n    def method(self, document): return W\n"
        "partial = functools.partial(extract)\n"
    )
    monkeypatch.syspath_prepend(root)
    import importlib

    module = importlib.import_module("gating_demo_extract")
    yield root, module
    for name in [name for name in sys.modules if name.startswith("gating_demo")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "pick",
    [
        lambda module: module.extract,
        lambda module: module.partial,
        lambda module: module.Extractor,
        lambda module: module.Extractor(),
        lambda module: module.Extractor().method,
    ],
    ids=["function", "partial", "class", "object", "method"],
)
def test_sources_of_an_extractor_are_its_file_and_what_of_the_project_it_imports(project, pick):
    root, module = project
    names = [path.relative_to(root.resolve()).as_posix() for path in extractor_sources(pick(module), root)]
    assert names == [
        "gating_demo/__init__.py",
        "gating_demo/rules.py",
        "gating_demo/words.py",
        "gating_demo_extract.py",
    ]


def test_the_digest_of_sources_changes_with_them(project):
    root, module = project
    paths = extractor_sources(module.extract, root)
    before = sources_digest(paths, root)
    assert sources_digest(paths, root) == before
    (root / "gating_demo" / "words.py").write_text("W = 2\n")
    assert sources_digest(paths, root) != before


@pytest.mark.parametrize(
    "extractor", [len, print, 7, None, subprocess.run], ids=["len", "print", "number", "none", "library"]
)
def test_an_extractor_that_is_defined_elsewhere_has_no_sources_here(tmp_path, extractor):
    assert extractor_sources(extractor, tmp_path) == ()
