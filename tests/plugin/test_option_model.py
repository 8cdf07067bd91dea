from __future__ import annotations

from collections.abc import Callable

import pytest

Write = Callable[..., None]
BY_MODEL = """
import json
import pytest

@pytest.fixture(scope="session")
def client(extract_model):
    print("\\nclient for", extract_model)
    yield extract_model
    print("\\nclosed", extract_model)

@pytest.fixture(scope="session")
def extractor(client, extract_model):
    print("\\nextractor for", extract_model)
    def extract(document, model):
        assert model == extract_model == client
        return document.text if model == "good/one" else {**json.loads(document.text), "total": 7}
    return extract
"""


def ids(pytester: pytest.Pytester, *args: str) -> list[str]:
    result = pytester.runpytest("--collect-only", "-q", *args)
    return [line for line in result.outlines if "::" in line]


def test_one_model_names_the_item(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(BY_MODEL)
    write_case("acme")
    assert ids(pytester, "--extract-model=good/one") == ["acme.extract.yaml::acme[good/one]"]
    pytester.runpytest("--extract-model=good/one").assert_outcomes(passed=1)


def test_every_case_runs_once_per_model_taking_turns(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(BY_MODEL)
    write_case("a")
    write_case("b")
    args = ["--extract-model=good/one", "--extract-model=bad"]
    names = [
        "a.extract.yaml::a[good/one]",
        "a.extract.yaml::a[bad]",
        "b.extract.yaml::b[good/one]",
        "b.extract.yaml::b[bad]",
    ]
    assert ids(pytester, *args) == names
    result = pytester.runpytest(*args, "-s")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "4 cases: 2 passed, 2 failed; *",
            "  *cases *passed *failed *broken *not run fields right *f1 *cost",
            "  bad *2 *0 *2 *0 *0 *66.7 % *",
            "  good/one *2 *2 *0 *0 *0 *100 % *1 *",
        ]
    )


def test_a_session_scoped_extractor_is_made_once_per_model_and_kept(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    pytester.makeconftest(BY_MODEL)
    write_case("a")
    write_case("b")
    lines = pytester.runpytest("--extract-model=good/one", "--extract-model=bad", "-s").outlines
    for model in ("good/one", "bad"):
        assert [lines.count(f"{verb} {model}") for verb in ("client for", "extractor for", "closed")] == [1, 1, 1]


def test_fixtures_that_know_no_model_are_shared_by_all(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def costly():
            print("\\ncostly")

        @pytest.fixture
        def extractor(costly, extract_model):
            return lambda document: document.text
        """
    )
    write_case("a")
    result = pytester.runpytest("--extract-model=m", "--extract-model=n", "-s")
    result.assert_outcomes(passed=2)
    assert result.outlines.count("costly") == 1


def test_an_extractor_may_ask_for_its_model_later(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def extractor(request):
            name = request.getfixturevalue("extract_model")
            def extract(document, model):
                assert model == name
                return document.text
            return extract
        """
    )
    write_case("a")
    pytester.runpytest("--extract-model=m", "--extract-model=n").assert_outcomes(passed=2)


def test_the_nearest_conftest_wins_for_each_model(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(BY_MODEL)
    near = pytester.mkdir("near")
    near.joinpath("conftest.py").write_text(
        "import pytest\n\n@pytest.fixture(scope='session')\ndef client(client):\n    return client\n", encoding="utf-8"
    )
    write_case("near/a")
    write_case("b")
    result = pytester.runpytest("--extract-model=good/one", "--extract-model=bad")
    result.assert_outcomes(passed=2, failed=2)


def test_a_model_is_selected_by_k_and_by_its_case_s_id(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(BY_MODEL)
    write_case("a")
    args = ["--extract-model=good/one", "--extract-model=bad"]
    assert ids(pytester, *args, "-k", "good") == ["a.extract.yaml::a[good/one]"]
    assert len(ids(pytester, *args, "a.extract.yaml::a")) == 2
    assert ids(pytester, *args, "a.extract.yaml::a[bad]") == ["a.extract.yaml::a[bad]"]


def test_xdist_runs_every_model(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(BY_MODEL)
    write_case("a")
    write_case("b")
    result = pytester.runpytest("--extract-model=good/one", "--extract-model=bad", "-n2")
    result.assert_outcomes(passed=2, failed=2)


def test_several_prompts_are_variants_of_their_own(pytester: pytest.Pytester, write_case: Write) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(scope="session")
        def extractor(extract_prompt):
            text = extract_prompt.read_text()
            def extract(document, prompt):
                assert prompt == text
                return document.text if text == "good" else "{}"
            return extract
        """
    )
    for name in ("good", "bad"):
        (pytester.path / f"{name}.md").write_text(name, encoding="utf-8")
    write_case("a")
    args = ["--extract-prompt=good.md", "--extract-prompt=bad.md"]
    assert ids(pytester, *args) == ["a.extract.yaml::a[good.md]", "a.extract.yaml::a[bad.md]"]
    assert ids(pytester, *args, "--extract-model=m")[0] == "a.extract.yaml::a[m-good.md]"
    pytester.runpytest(*args).assert_outcomes(passed=1, failed=1)


def test_one_prompt_stands_in_place_of_the_case_s_own_and_leaves_its_id(
    pytester: pytest.Pytester, write_case: Write
) -> None:
    pytester.makeconftest(
        "import pytest\n\n@pytest.fixture\ndef extractor():\n"
        "    return lambda document, prompt: document.text if str(prompt) == 'new' else '{}'\n"
    )
    (pytester.path / "old.md").write_text("old", encoding="utf-8")
    (pytester.path / "new.md").write_text("new", encoding="utf-8")
    write_case("a", prompt="old.md")
    pytester.runpytest().assert_outcomes(failed=1)
    assert ids(pytester, "--extract-prompt=new.md") == ["a.extract.yaml::a"]
    pytester.runpytest("--extract-prompt=new.md").assert_outcomes(passed=1)
