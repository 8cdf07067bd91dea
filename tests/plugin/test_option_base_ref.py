"""--extract-base-ref and --extract-changed: another git revision as a variant, or as what tells which cases to call."""

from __future__ import annotations

import json

import pytest

from pytest_extract.changed import declared_files
from tests.plugin.conftest import GREEN, RED, refused

EXTRACT = """
with (HERE / "log").open("a") as log:
    log.write(case.id + "\\n")
return {"n": int(document.text), "title": schema["title"], "label": prompt.strip()}
"""
NONE_CALLED = "changed since HEAD: 0 of 3 cases called, the others replayed"


@pytest.fixture
def repository(pytester, write_extractor, write_files, write_suite, git):
    """A repository with three cases: two in a file with prompt a, one in a dataset with prompt b."""
    write_extractor(EXTRACT, "document, prompt, schema, case")
    properties = {"n": {"type": "integer"}, "title": {"type": "string"}, "label": {"type": "string"}}
    gold = {"title": "T", "label": "one"}
    cases = [{"id": f"a{n}", "text": str(n), "gold": {**gold, "n": n}} for n in (1, 2)]
    write_suite(cases, name="a", schema="s.json", prompt="a.md")
    write_files(
        {
            "s.json": {"title": "T", "type": "object", "properties": properties},
            "a.md": "one\n",
            "b.md": "one\n",
            "b.jsonl": json.dumps({"id": "b1", "text": "7", "gold": {**gold, "n": 7}}) + "\n",
            "b.extract.yaml": {"dataset": "b.jsonl", "defaults": {"schema": "s.json", "prompt": "b.md"}},
            ".gitignore": "log\ncalls\nextract-recordings\n__pycache__\n.pytest_cache\n",
        }
    )
    git("init", "-q")
    git("commit", "-qm", "first")
    return pytester.path


@pytest.fixture
def called(repository):
    """Name the cases that were called since it was asked last."""

    def names():
        log = repository / "log"
        found = sorted(log.read_text().split()) if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    return names


@pytest.fixture
def recorded(repository, run, called):
    """The repository after a run that recorded all cases."""
    run("--extract-record=once", passed=3)
    assert called() == ["a1", "a2", "b1"]
    return repository


def change(path, old, new):
    path.write_text(path.read_text().replace(old, new))


# another revision as a variant


def test_the_other_revision_runs_with_its_own_prompt_and_schema(repository, run):
    gate = ("--extract-base-ref=HEAD", "--extract-gate=regression", "--extract-rule=max_fallen=0")
    run(*gate, status=GREEN)
    (repository / "a.md").write_text("two\n")
    change(repository / "s.json", '"T"', '"U"')
    result = run("--extract-base-ref=HEAD", "--extract-gate=none", "-v", "--tb=no")
    result.stdout.fnmatch_lines_random(
        ["*::a1[[]HEAD[]] PASSED*", "*::a1 BELOW*", "*::b1[[]HEAD[]] PASSED*", "*::b1 BELOW*"]
    )
    result.stdout.fnmatch_lines(["*[[]HEAD -> now[]] 3 cases*", '*a.extract.yaml::a1 label: "one" -> "two"*'])
    run(*gate, status=RED)


@pytest.mark.parametrize("argument", ["", ", prompt=None"])
def test_the_fixture_of_the_prompt_gives_that_of_the_revision(repository, write_extractor, run, argument):
    extract = EXTRACT.replace("prompt.strip()", "extract_prompt.read_text().strip()")
    write_extractor(extract, f"document, schema, case{argument}", needs="extract_prompt")
    (repository / "a.md").write_text("two\n")
    arguments = ("--extract-base-ref=HEAD", "--extract-gate=regression", "--extract-prompt=a.md")
    run(*arguments, "--extract-rule=max_fallen=0", lines=["WORSE*"], status=RED)


def test_a_case_that_the_revision_does_not_have_runs_once(repository, run):
    text = (repository / "b.jsonl").read_text()
    (repository / "b.jsonl").write_text(text + text.replace("b1", "b2"))
    lines = run("--extract-base-ref=HEAD", "--collect-only", "-q").outlines
    assert [line.partition("::")[2] for line in lines if "::b" in line] == ["b1[HEAD]", "b1", "b2"]


def test_a_case_that_cannot_be_read_at_the_revision_says_so(repository, git, run):
    change(repository / "a.extract.yaml", '"text": "1"', '"txt": "1"')
    git("commit", "-qm", "mistake")
    change(repository / "a.extract.yaml", '"txt": "1"', '"text": "1"')
    unreadable = "unreadable at HEAD: unknown key 'txt'*"
    told = f"*a.extract.yaml:1: *{unreadable}; a case that cannot be *"
    run("--extract-base-ref=HEAD", "-W", "default", passed=5, warnings=1, lines=[told])
    run("--extract-changed=HEAD", lines=["*1 of 3 cases called*", f"  a.extract.yaml::a1: {unreadable}"])


@pytest.mark.parametrize("option", ["--extract-changed", "--extract-base-ref"])
def test_a_revision_that_is_not_there_is_told_first(run, called, option):
    refused(run(f"{option}=nowhere"), "*no git revision 'nowhere'*")
    assert called() == []


def test_a_bound_of_the_project_s_own_measure_is_no_mistake_at_a_revision(
    repository, git, add_to_conftest, run, called
):
    mine = "from pytest_extract import extend\n\n@extend.measure()\ndef mine(gold, extracted):\n    return 1.0\n"
    add_to_conftest(mine)
    change(repository / "a.extract.yaml", '"prompt"', '"thresholds": {"measures": {"mine": 0.5}}, "prompt"')
    git("commit", "-qm", "measure")
    run("--extract-record=once", passed=3)
    called()
    run("--extract-changed=HEAD", passed=3)
    assert called() == []
    run("--extract-base-ref=HEAD", "--extract-gate=regression", lines=["PASS. *"])


# what changed since a revision


def test_only_what_changed_is_called_and_the_rest_replayed(recorded, run, called):
    (recorded / "b.md").write_text("one \n")
    told = ["changed since HEAD: 1 of 3 cases called, the others replayed"]
    told += ["  b.extract.yaml::b1: prompt changed (b.md)"]
    run("--extract-changed=HEAD", passed=3, lines=told)
    assert called() == ["b1"]


def test_another_gold_costs_no_call(recorded, run, called):
    change(recorded / "b.jsonl", "one", "uno")
    run("--extract-changed=HEAD", passed=2, failed=1)
    assert called() == []


def test_a_renamed_case_is_replayed_from_what_it_was_recorded_as(recorded, run, called):
    change(recorded / "a.extract.yaml", '"a2"', '"second"')
    (recorded / "a.extract.yaml").rename(recorded / "c.extract.yaml")
    change(recorded / "b.extract.yaml", "b.jsonl", "d.jsonl")
    (recorded / "b.jsonl").rename(recorded / "d.jsonl")
    run("--extract-changed=HEAD", passed=3, lines=[NONE_CALLED])
    assert called() == []


def test_a_renamed_case_with_a_change_is_called(recorded, run, called):
    (recorded / "a.extract.yaml").rename(recorded / "c.extract.yaml")
    (recorded / "a.md").write_text("one \n")
    result = run("--extract-changed=HEAD", "-n2", lines=["*2 of 3 cases called*"])
    assert called() == ["a1", "a2"]
    result.stdout.fnmatch_lines_random([f"  c.extract.yaml::a{number}: not at HEAD" for number in (1, 2)])


def test_what_was_never_recorded_is_broken_and_says_how_to_record(run, called):
    told = "*no fresh recording of a.extract.yaml::a1*renew it with: pytest*--extract-record=new*"
    run("--extract-changed=HEAD", failed=3, lines=[told])
    assert called() == []


def test_the_way_to_the_project_may_be_a_symbolic_link(recorded, run):
    (recorded / "b.md").write_text("one \n")
    (recorded / "r.jsonl").touch()
    link = recorded.parent / f"{recorded.name}-link"
    link.symlink_to(recorded)
    run(f"--rootdir={link}", "--extract-base-ref=HEAD", link, passed=6)
    told = ["changed since HEAD: 1 of 3 cases called*", "  b.extract.yaml::b1: prompt changed *"]
    changed = ("--extract-changed=HEAD", f"--extract-report={link}/r.jsonl")
    run(f"--rootdir={link}", *changed, link, lines=told).stdout.no_fnmatch_line("*no case of this run has*")


def test_changed_files_that_belong_to_nothing_known_are_named(recorded, write_files, run):
    write_files({"prompt.md": "{}", "prompt.txt": "{}", "prompts/p.json": "{}"})
    write_files({"README.md": "for people", "test_other.py": "", "r.jsonl": ""})
    change(recorded / "a.extract.yaml", '"defaults"', ' "defaults"')
    unknown = "prompt.md, prompt.txt, prompts/p.json changed, and no case of this run has it"
    told = [NONE_CALLED, f"{unknown}: declare in extract_files what the extractor reads"]
    run("--extract-changed=HEAD", "--extract-report=r.jsonl", lines=told)


# what is part of the extractor


@pytest.mark.parametrize("pattern", ["prompts/*.txt", "prompts", "prompts/", "prompts/**", "**/p.txt", "*/p.txt"])
def test_files_are_declared_by_patterns(pytester, write_files, pattern):
    write_files({"prompts/p.txt": "one", "other.md": ""})
    assert [*declared_files([pattern], pytester.path)] == [pytester.path / "prompts" / "p.txt"]


def test_a_declared_file_is_part_of_the_extractor(pytester, repository, git, write_files, run):
    pytester.makeini("[pytest]\nextract_files = prompts/*.txt\n")
    write_files({"prompts/p.txt": "one"})
    git("commit", "-qm", "prompts")
    run("--extract-record=once", passed=3)
    write_files({"prompts/p.txt": "two"})
    extractor_changed = "*extractor changed (prompts/p.txt)*"
    result = run("--extract-changed=HEAD", lines=["*3 of 3 cases called*", extractor_changed])
    result.stdout.no_fnmatch_line("*no case of this run has*")
    stale = "*this output was recorded by other code (conftest.py, prompts/p.txt)*"
    run("--extract-record=none", lines=[stale])
    (repository / "prompts" / "p.txt").unlink()
    run("--extract-changed=HEAD", lines=[extractor_changed])


def test_code_is_part_of_the_extractor_also_what_is_imported_at_the_call(
    pytester, repository, git, write_extractor, write_files, run, called
):
    imports = {
        "deep_a": "from deep_a import VALUE",
        "deep_b": "import deep_b",
        "deep_c": "import importlib; importlib.import_module('deep_c')",
        "deep.below.d": "from deep.below import d",
        "deep.below.e": "import deep.below.e as rules",
    }
    names = {module: f"{module.replace('.', '/')}.py" for module in imports}
    write_files(dict.fromkeys(names.values(), "VALUE = 1\n"))
    write_extractor("\n".join([*imports.values(), EXTRACT]), "document, prompt, schema, case")
    git("commit", "-qm", "lazy")
    pytester.runpytest_subprocess("--extract-record=once").assert_outcomes(passed=3)
    called()
    pytester.runpytest_subprocess("--extract-record=none").assert_outcomes(passed=3)  # the same code, and not loaded
    for name in ("conftest.py", *names.values()):
        with (repository / name).open("a") as file:
            file.write("\n# tuned\n")
        changed = run("--extract-changed=HEAD", passed=3)
        changed.stdout.fnmatch_lines(["*3 of 3 cases called*", f"*extractor changed ({name})*"])
        git("checkout", name)
