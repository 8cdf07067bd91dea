"""--extract-base-ref and --extract-changed: another git revision as a variant, or as what tells which cases to call."""

from __future__ import annotations

import json
import subprocess

import pytest

CONFTEST = """
import pytest
from pathlib import Path

LOG = Path(__file__).parent / "log"

@pytest.fixture(scope="session")
def extractor():
    def extract(document, prompt, schema, case):
        with LOG.open("a") as log:
            log.write(case.id + "\\n")
        label = prompt.strip()
        return {"n": int(document.text), "title": schema["title"], "label": label}
    return extract
"""


def git(path, *arguments):
    who = ("-c", "user.email=dev@example.org", "-c", "user.name=dev", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=path, check=True, capture_output=True)


@pytest.fixture
def repository(pytester):
    """A repository with three cases: two in a file with prompt a, one in a dataset with prompt b."""
    path = pytester.path
    pytester.makeconftest(CONFTEST)
    properties = {"n": {"type": "integer"}, "title": {"type": "string"}, "label": {"type": "string"}}
    (path / "s.json").write_text(json.dumps({"title": "T", "type": "object", "properties": properties}))
    (path / "a.md").write_text("one\n")
    (path / "b.md").write_text("one\n")
    gold = {"title": "T", "label": "one"}
    cases = [{"id": f"a{n}", "text": str(n), "gold": {**gold, "n": n}} for n in (1, 2)]
    (path / "a.extract.yaml").write_text(
        json.dumps({"defaults": {"schema": "s.json", "prompt": "a.md"}, "cases": cases})
    )
    (path / "b.jsonl").write_text(json.dumps({"id": "b1", "text": "7", "gold": {**gold, "n": 7}}) + "\n")
    defaults = {"schema": "s.json", "prompt": "b.md"}
    (path / "b.extract.yaml").write_text(json.dumps({"dataset": "b.jsonl", "defaults": defaults}))
    (path / ".gitignore").write_text("log\nextract-recordings\n__pycache__\n.pytest_cache\n")
    git(path, "init", "-q")
    git(path, "add", ".")
    git(path, "commit", "-qm", "first")
    return path


def called(path):
    log = path / "log"
    names = sorted(log.read_text().split()) if log.exists() else []
    log.unlink(missing_ok=True)
    return names


def test_the_other_revision_runs_with_its_own_prompt_and_schema(pytester, repository):
    (repository / "a.md").write_text("two\n")
    result = pytester.runpytest_subprocess("--extract-base-ref=HEAD", "--extract-gate=none", "-v", "--tb=no")
    result.stdout.fnmatch_lines_random(
        ["*::a1[[]HEAD[]] PASSED*", "*::a1 BELOW*", "*::b1[[]HEAD[]] PASSED*", "*::b1 PASSED*"]
    )
    result.stdout.fnmatch_lines(["*[[]HEAD -> now[]] 3 cases*"])
    result.stdout.fnmatch_lines(['*a.extract.yaml::a1 label: "one" -> "two"*'])


def test_a_hard_rule_gates_the_work_tree_against_the_revision(pytester, repository):
    arguments = ("--extract-base-ref=HEAD", "--extract-gate=regression", "--extract-rule=max_fallen=0")
    assert pytester.runpytest(*arguments).ret == 0
    (repository / "a.md").write_text("two\n")
    assert pytester.runpytest(*arguments).ret == 1


@pytest.mark.parametrize("argument", ["", ", prompt=None"])
def test_the_fixture_of_the_prompt_gives_that_of_the_revision(pytester, repository, argument):
    head, below = CONFTEST.split("def extractor():")
    below = (
        below.replace("prompt, ", "")
        .replace("case)", f"case{argument})")
        .replace("prompt.strip()", "extract_prompt.read_text().strip()")
    )
    pytester.makeconftest(f"{head}def extractor(extract_prompt):{below}")
    (repository / "a.md").write_text("two\n")
    arguments = ("--extract-base-ref=HEAD", "--extract-gate=regression", "--extract-prompt=a.md")
    result = pytester.runpytest(*arguments, "--extract-rule=max_fallen=0")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["WORSE*"])


def test_a_case_that_the_revision_does_not_have_runs_once(pytester, repository):
    text = (repository / "b.jsonl").read_text()
    (repository / "b.jsonl").write_text(text + text.replace("b1", "b2"))
    result = pytester.runpytest("--extract-base-ref=HEAD", "--collect-only", "-q")
    assert [line for line in result.outlines if "::b" in line] == [
        "b.extract.yaml::b1[HEAD]", "b.extract.yaml::b1", "b.extract.yaml::b2",
    ]  # fmt: skip


def test_only_what_changed_is_called_and_the_rest_replayed(pytester, repository):
    pytester.runpytest_subprocess("--extract-record=once").assert_outcomes(passed=3)
    assert called(repository) == ["a1", "a2", "b1"]
    (repository / "b.md").write_text("one \n")
    result = pytester.runpytest_subprocess("--extract-changed=HEAD")
    result.assert_outcomes(passed=3)
    assert called(repository) == ["b1"]
    result.stdout.fnmatch_lines(
        ["changed since HEAD: 1 of 3 cases called, the others replayed", "  b.extract.yaml::b1: prompt changed (b.md)"]
    )


def test_a_bound_of_the_project_s_own_measure_is_no_mistake_at_a_revision(pytester, repository):
    pytester.makeconftest(
        f"{CONFTEST}\nfrom pytest_extract import extend\n\n@extend.measure()\ndef mine(gold, extracted):\n    return 1.0\n"
    )
    path = repository / "a.extract.yaml"
    content = json.loads(path.read_text())
    content["defaults"]["thresholds"] = {"measures": {"mine": 0.5}}
    path.write_text(json.dumps(content))
    git(repository, "commit", "-qam", "measure")
    pytester.runpytest_subprocess("--extract-record=once").assert_outcomes(passed=3)
    called(repository)
    pytester.runpytest_subprocess("--extract-changed=HEAD").assert_outcomes(passed=3)
    assert called(repository) == []
    result = pytester.runpytest_subprocess("--extract-base-ref=HEAD", "--extract-gate=regression")
    result.stdout.fnmatch_lines(["PASS. *"])


def test_a_renamed_case_is_replayed_from_what_it_was_recorded_as(pytester, repository):
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=3)
    called(repository)
    (repository / "c.extract.yaml").write_text((repository / "a.extract.yaml").read_text().replace('"a2"', '"second"'))
    (repository / "a.extract.yaml").unlink()
    (repository / "b.jsonl").rename(repository / "d.jsonl")
    (repository / "b.extract.yaml").write_text(
        (repository / "b.extract.yaml").read_text().replace("b.jsonl", "d.jsonl")
    )
    result = pytester.runpytest("--extract-changed=HEAD")
    result.assert_outcomes(passed=3)
    assert called(repository) == []
    result.stdout.fnmatch_lines(["changed since HEAD: 0 of 3 cases called, the others replayed"])


def test_a_renamed_case_with_a_change_is_called(pytester, repository):
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=3)
    called(repository)
    (repository / "a.extract.yaml").rename(repository / "c.extract.yaml")
    (repository / "a.md").write_text("one \n")
    result = pytester.runpytest_subprocess("--extract-changed=HEAD", "-n2")
    assert called(repository) == ["a1", "a2"]
    result.stdout.fnmatch_lines(["*2 of 3 cases called*"])
    result.stdout.fnmatch_lines_random([f"  c.extract.yaml::a{number}: not at HEAD" for number in (1, 2)])


def test_a_change_of_the_extractor_calls_all(pytester, repository):
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=3)
    called(repository)
    conftest = repository / "conftest.py"
    conftest.write_text(conftest.read_text() + "\n# tuned\n")
    result = pytester.runpytest("--extract-changed=HEAD")
    assert called(repository) == ["a1", "a2", "b1"]
    result.stdout.fnmatch_lines(["*3 of 3 cases called*", "*extractor changed (conftest.py)*"])


def test_another_gold_costs_no_call(pytester, repository):
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=3)
    called(repository)
    (repository / "b.jsonl").write_text((repository / "b.jsonl").read_text().replace("one", "uno"))
    pytester.runpytest("--extract-changed=HEAD").assert_outcomes(passed=2, failed=1)
    assert called(repository) == []


def test_what_was_never_recorded_is_broken_and_says_how_to_record(pytester, repository):
    result = pytester.runpytest("--extract-changed=HEAD")
    assert called(repository) == []
    result.stdout.fnmatch_lines(
        ["*no fresh recording of a.extract.yaml::a1*renew it with: pytest*--extract-record=new*"]
    )
    assert result.ret == 1


@pytest.mark.parametrize("option", ["--extract-changed", "--extract-base-ref"])
def test_a_revision_that_is_not_there_is_told_first(pytester, repository, option):
    result = pytester.runpytest(f"{option}=nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no git revision 'nowhere'*"])
    assert called(repository) == []


def test_a_case_that_cannot_be_read_at_the_revision_says_so(pytester, repository):
    good = (repository / "a.extract.yaml").read_text()
    (repository / "a.extract.yaml").write_text(good.replace('"text": "1"', '"txt": "1"'))
    git(repository, "commit", "-qam", "mistake")
    (repository / "a.extract.yaml").write_text(good)
    compared = pytester.runpytest("--extract-base-ref=HEAD", "-W", "default")
    compared.assert_outcomes(passed=5, warnings=1)
    compared.stdout.fnmatch_lines(
        ["*a.extract.yaml:1: *unreadable at HEAD: unknown key 'txt'*; a case that cannot be *"]
    )
    changed = pytester.runpytest("--extract-changed=HEAD")
    changed.stdout.fnmatch_lines(
        ["*1 of 3 cases called*", "  a.extract.yaml::a1: unreadable at HEAD: unknown key 'txt'*"]
    )


def test_the_way_to_the_project_may_be_a_symbolic_link(pytester, repository, monkeypatch):
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=3)
    (repository / "b.md").write_text("one \n")
    (repository / "r.jsonl").touch()
    link = repository.parent / f"{repository.name}-link"
    link.symlink_to(repository)
    compared = pytester.runpytest(f"--rootdir={link}", "--extract-base-ref=HEAD", link)
    compared.assert_outcomes(passed=6)
    changed = pytester.runpytest(
        f"--rootdir={link}", "--extract-changed=HEAD", f"--extract-report={link}/r.jsonl", link
    )
    changed.stdout.fnmatch_lines(["changed since HEAD: 1 of 3 cases called*", "  b.extract.yaml::b1: prompt changed *"])
    changed.stdout.no_fnmatch_line("*no case of this run has*")


@pytest.mark.parametrize("name", ["prompt.txt", "prompts/p.json", "prompt.md"])
def test_a_changed_file_that_belongs_to_nothing_known_is_named(pytester, repository, name):
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=3)
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text("{}")
    (repository / "README.md").write_text("for people")
    (repository / "test_other.py").write_text("")
    (repository / "r.jsonl").write_text("")
    (repository / "a.extract.yaml").write_text((repository / "a.extract.yaml").read_text() + "\n")
    result = pytester.runpytest("--extract-changed=HEAD", "--extract-report=r.jsonl")
    result.stdout.fnmatch_lines(
        [
            "changed since HEAD: 0 of 3 cases called, the others replayed",
            f"{name} changed, and no case of this run has it: declare in extract_files what the extractor reads",
        ]
    )


@pytest.mark.parametrize("pattern", ["prompts/*.txt", "prompts", "prompts/", "prompts/**", "**/p.txt", "*/p.txt"])
def test_a_declared_file_is_part_of_the_extractor(pytester, repository, pattern):
    pytester.makeini(f"[pytest]\nextract_files = {pattern}\n")
    (repository / "prompts").mkdir()
    (repository / "prompts" / "p.txt").write_text("one")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "prompts")
    pytester.runpytest("--extract-record=once").assert_outcomes(passed=3)
    (repository / "prompts" / "p.txt").write_text("two")
    result = pytester.runpytest("--extract-changed=HEAD")
    result.stdout.fnmatch_lines(["*3 of 3 cases called*", "*extractor changed (prompts/p.txt)*"])
    result.stdout.no_fnmatch_line("*no case of this run has*")
    stale = pytester.runpytest("--extract-record=none")
    stale.stdout.fnmatch_lines(["*this output was recorded by other code (conftest.py, prompts/p.txt)*"])
    (repository / "prompts" / "p.txt").unlink()
    pytester.runpytest("--extract-changed=HEAD").stdout.fnmatch_lines(["*extractor changed (prompts/p.txt)*"])


@pytest.mark.parametrize(
    "line",
    [
        "from deep_rules import VALUE",
        "import deep_rules",
        "import importlib; importlib.import_module('deep_rules')",
        "from deep.below import rules",
        "import deep.below.rules as rules",
    ],
)
def test_a_module_imported_at_the_call_is_followed(pytester, repository, line):
    (repository / "deep" / "below").mkdir(parents=True)
    files = [repository / "deep_rules.py", repository / "deep" / "below" / "rules.py"]
    for file in files:
        file.write_text("VALUE = 1\n")
    conftest = CONFTEST.replace("label = prompt", f"{line}\n        label = prompt")
    pytester.makeconftest(conftest)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "lazy")
    pytester.runpytest_subprocess("--extract-record=once").assert_outcomes(passed=3)
    called(repository)
    pytester.runpytest_subprocess("--extract-record=none").assert_outcomes(passed=3)  # the same code, and not loaded
    for file in files:
        file.write_text("VALUE = 2\n")
    result = pytester.runpytest_subprocess("--extract-changed=HEAD")
    result.stdout.fnmatch_lines(["*3 of 3 cases called*", "*extractor changed (deep*rules.py)*"])
