"""Collection: case files as pytest collectors, and what is refused before the first call of the run."""

from __future__ import annotations

import functools
import inspect
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, cast

import pytest

from pytest_extract.cases.load import case_name, load_cases
from pytest_extract.cases.model import Case
from pytest_extract.changed import declared_files
from pytest_extract.core.case_result import Variant
from pytest_extract.core.words import first_of
from pytest_extract.errors import CaseFileError, ConfigError, NotWritten, SchemaError, StoreError, nearest
from pytest_extract.files import check_file, check_folder, display_path
from pytest_extract.plugin.items import ExtractItem, clean_logs, escape_name
from pytest_extract.plugin.options import SETTINGS, Settings, left_to_controller
from pytest_extract.plugin.project import (
    EXTRACTOR,
    JUDGE,
    MODE,
    MODEL,
    PROMPT,
    extractor_function,
    fixtures_behind,
    has_fixture,
)
from pytest_extract.plugin.run_results import open_results
from pytest_extract.plugin.session import RevisionView, session_of
from pytest_extract.report.formats import report_problems

_MOST_MISTAKES = 100


def node_id_of_file(path: Path, root: Path) -> str | None:
    """Return the node id of a case file for which pytest's own would not be unique or not safe; else None.

    pytest names a file outside of rootdir after the argument that led to it, and gives no name to a file that is the
    argument: cases of two files would have one id, and one result. pytest writes control and direction characters of a
    name into JUnit XML unescaped, and then no reader accepts the file.
    """
    # called for each of ten thousand files, and `is_relative_to` takes ten times as long
    if str(path).startswith(f"{root}{os.sep}") and str(path).isprintable():
        return None
    try:
        return escape_name(Path(os.path.relpath(path, root)).as_posix())
    except ValueError:  # another drive
        return escape_name(path.as_posix())


class ExtractFile(pytest.File):
    """A case file: its good cases as items, its mistakes as a collection error after them."""

    variants: Mapping[Variant, Collection[Any]] = MappingProxyType({})
    """The variants of its cases, each with its marks, once it is collected."""

    @cached_property
    def obj(self) -> ModuleType:
        """A module of the file's name: pytest, its plugins and projects' hooks read it (see ExtractItem.getparent)."""
        module = ModuleType(case_name(self.path))
        module.__file__ = str(self.path)
        return module

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Read the file; when nothing in it can run, the file itself is the collection error."""
        session = session_of(self.config)
        try:
            _, cache = session.extensions.at(self.path)
            self.variants = session.variants_of(self)
        except ConfigError as error:  # two of the project's extensions clash, or several variants would update a gold
            raise self.CollectError(str(error)) from error
        loaded = load_cases(self.path, cache=cache)
        errors = list(loaded.errors)
        for ref, mistake in session.load_revisions(self.path, loaded.cases).items():
            text = f"unreadable at {ref}: {mistake}; a case that cannot be read there is compared with nothing"
            warnings.warn_explicit(pytest.PytestCollectionWarning(text), None, str(self.path), 1)
        ids = {case.id for case in loaded.cases}
        items = [item for case in loaded.cases for item in self._items_of(case, ids, errors)]
        if errors and not items:
            raise self.CollectError(_mistakes_text(errors, self.config))
        yield from items
        if errors:
            yield ExtractMistakes.from_parent(self, name="mistakes", errors=errors)

    def _items_of(self, case: Case, ids: Collection[str], errors: list[CaseFileError]) -> list[ExtractItem]:
        try:
            marks = _marks(case)
        except (pytest.fail.Exception, pytest.PytestUnknownMarkWarning) as error:  # --strict-markers, or -W error
            errors.append(CaseFileError(f"{case.id}: {error}", path=case.path, line=case.line))
            return []
        session, hook = session_of(self.config), self.ihook.pytest_extract_document
        items = []
        for variant, of_param in self.variants.items():
            case_on_variant = session.case_on_variant(case, self, variant)
            if case_on_variant is None:
                continue
            if hook.get_hookimpls():
                case_on_variant.document.read_by(lambda document: hook(document=document))
            name = escape_name(f"{case.id}[{variant.label}]" if variant.label else case.id)
            if "[" in name and not name.endswith("]"):
                # pytest 9.2 takes what follows the bracket for parameters and closes it: `[a] b` would show as `[a] b]`
                rounded = name.replace("[", "(").replace("]", ")")
                name = name if rounded in ids else rounded
            # As a text: pytest 9.2 takes its brackets for parameters then, as in the ids that --lf and --sw keep.
            nodeid = f"{self.nodeid}::{name}"
            item: ExtractItem = ExtractItem.from_parent(
                self, name=name, nodeid=nodeid, case=case_on_variant, variant=variant, runner=session
            )
            for mark in (pytest.mark.extract, *marks, *map(_mark, of_param)):
                item.add_marker(mark)
            items.append(item)
        return items


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    """Make the case's marks; a warning about an unknown one names the case file."""
    if not case.marks:
        return []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        marks = [*map(_mark, case.marks)]
    for each in caught:
        warnings.warn_explicit(each.message, each.category, str(case.path), case.line)
    return marks


def _mark(mark: Any) -> pytest.MarkDecorator:
    # with_args, as calling a mark with one function would decorate that
    made: pytest.MarkDecorator = getattr(pytest.mark, mark.name).with_args(*mark.args, **mark.kwargs)
    return made


class ExtractMistakes(pytest.Collector):
    """The mistakes of a file that also has good cases."""

    def __init__(self, *, errors: list[CaseFileError], **rest: Any) -> None:
        super().__init__(**rest)
        self.errors = errors

    def collect(self) -> Iterator[pytest.Item]:
        """Raise all mistakes as one collection error."""
        raise self.CollectError(_mistakes_text(self.errors, self.config))


def _mistakes_text(errors: list[CaseFileError], config: pytest.Config) -> str:
    most = len(errors) if config.get_verbosity() >= 2 else _MOST_MISTAKES
    return "\n".join(first_of([*map(str, errors)], most, hint=" (-vv shows all, and so does `pytest-extract check`)"))


def open_files(config: pytest.Config) -> None:
    """Read a past run, a revision and a baseline, and open the results file.

    UsageError where that is not possible, or a file of this run cannot be written: before the first call.
    """
    settings, is_worker = config.stash[SETTINGS], hasattr(config, "workerinput")
    outputs: list[tuple[str, str, Path, Callable[[Path], None]]] = []
    if settings.update_baseline and settings.baseline is not None:
        outputs.append(("baseline", "file", settings.baseline, check_file))
    if settings.record not in {"off", "none"} and settings.from_results is None:
        outputs.append(("recordings", "folder", settings.recordings, check_folder))
    try:
        session = session_of(config)
        if settings.changed is not None:
            session.revision_view(settings.changed)
        problems = [] if is_worker else [f"--extract-report: {text}" for text in report_problems(settings.report)]
        for option, kind, path, check in () if is_worker else outputs:
            try:
                check(path)
            except NotWritten as error:
                why = f"{error.reason}; name a {kind} that can be written"
                problems.append(f"--extract-{option}: cannot write {path}: {why}")
        if problems:
            raise pytest.UsageError("\n".join(problems))
        if settings.gate == "regression" or settings.baseline is not None:
            from pytest_extract.plugin.regression import read_gate_inputs

            read_gate_inputs(config, settings)
    except (ConfigError, StoreError) as error:
        raise pytest.UsageError(str(error)) from error
    if not is_worker:
        open_results(config)


def check_options(session: pytest.Session) -> None:
    """Refuse the run, before its first call, for options that cannot have the effect that was asked for."""
    items = [item for item in session.items if isinstance(item, ExtractItem)]
    config, settings = session.config, session.config.stash[SETTINGS]
    clean_logs(config)
    if not items:
        return
    own = session_of(config)
    view = None if settings.changed is None else own.revision_view(settings.changed)
    problems = [*_without_effect(config, items, view)]
    if not (problems or config.option.collectonly or own.extraction_service.replays_only):
        own.extraction_service.check_extractor = functools.partial(refuse_unseen, settings)
        problems = [*dict.fromkeys(_mistakes_of_calls(items, settings))]
    if not problems:
        if view is not None:
            own.extraction_service.selections |= view.selections(items)
    elif left_to_controller(config, "\n".join(problems)):
        session.items.clear()
    else:
        raise pytest.UsageError("\n".join(problems))


def _without_effect(config: pytest.Config, items: Sequence[ExtractItem], view: RevisionView | None) -> Iterator[str]:
    """Name what is asked for and can have no effect in this run.

    These are bounds that nothing measures, options of a comparison where one variant has no baseline, and patterns of
    `extract_files` that declare nothing: no change of what they were to match is seen.
    """
    settings, root = config.stash[SETTINGS], config.rootpath
    if settings.gate == "suite":
        from pytest_extract.core.measures import MEASURES
        from pytest_extract.regression.suite import COMPLETE_ROWS

        known = {*MEASURES, COMPLETE_ROWS, *chain.from_iterable(item.case.scorer.measures for item in items)}
        for name in (name for name in settings.suite_thresholds if name not in known):
            yield f"extract_suite_thresholds: no measure {name!r}{nearest(name, known)}"
    for pattern in settings.files if settings.from_results is None else ():
        if not (declared_files([pattern], root) if view is None else view.declared_files([pattern])):
            yield f"extract_files: no file below {root} matches {pattern!r}; correct the pattern, or remove it"
    variants = {variant for item in items for variant in cast("ExtractFile", item.parent).variants}
    if settings.baseline is not None or len(variants) != 1:
        return
    # An auto-accept that too few cases show is inconclusive, too.
    of_no_gate = {"inconclusive"} if any(item.case.auto_accept for item in items) else set()
    has_rules = config.getoption("extract_rule", None) and settings.rules.keys() - of_no_gate
    given = {
        "gate=regression": settings.gate == "regression",
        "confirm": settings.confirm is not None and settings.gate != "regression",
        "rule": settings.gate != "regression" and has_rules,
    }
    for name in (name for name, is_given in given.items() if is_given):
        yield (
            f"--extract-{name} needs something to compare with: --extract-baseline=FILE, --extract-base-ref=REF, two "
            "of --extract-model, -prompt or -mode (the first is the base), or params of the fixture `extractor`"
        )


def _mistakes_of_calls(items: Sequence[ExtractItem], settings: Settings) -> Iterator[str]:
    """Say which models nobody can call, and which schemas and prompts the built-in extractor cannot use."""
    asking = (item for item in items if item.variant.model is not None or item.case.prompt is not None)
    built_in = [item for item in asking if _makes_built_in(extractor_function(item))]
    models = dict.fromkeys(("--extract-model", item.variant.model) for item in built_in)
    asked = (item for item in items if item.case.scorer.needs_judge and not has_fixture(item, JUDGE))
    if settings.judge == "llm" and any(asked):
        models["--extract-judge-model", settings.judge_model] = None
    for option, model in models:
        if model is not None:
            from pytest_extract.extraction.litellm import check_model

            try:
                check_model(model)
            except ConfigError as error:
                yield f"{option}={model}: {error}"
    strict = [item.case for item in built_in if (item.variant.mode or settings.mode[0]) == "structured"]
    for case in {id(case.schema): case for case in strict}.values():
        from pytest_extract.schema_tools.strict import strict_schema

        try:
            strict_schema(case.schema)
        except SchemaError as error:
            yield f"--extract-mode=structured: {case.schema_path}: {error}"
    prompts = dict.fromkeys((item.case.prompt, bool(item.case.question)) for item in built_in)
    for prompt, has_question in prompts:
        if prompt is None:
            continue
        from pytest_extract.extraction.litellm import prompt_mistakes

        for mistake in prompt_mistakes(prompt.text, has_question=has_question):
            yield f"{prompt.path}:{mistake}"


def refuse_unseen(settings: Settings, item: ExtractItem, extractor: Any) -> None:
    """End the session with a usage error where an extractor that is about to be called cannot see what was asked for.

    These are models, prompts and modes: each of its calls would be the same.
    """
    if not has_fixture(item, EXTRACTOR):
        return
    asked: list[tuple[str, str, tuple[str, ...]]] = []  # what asks, the fixture that gives it, an extractor's arguments
    if settings.model:
        asked.append(("--extract-model", MODEL, ("model",)))
    if settings.prompt:
        asked.append(("--extract-prompt", PROMPT, ("prompt", "case")))
    elif item.case.prompt is not None:
        asked.append((f"{item.location[0]}:{item.case.line}: `prompt`", "", ("prompt", "case")))
    if settings.mode != ("prompt",):
        asked.append(("--extract-mode", MODE, ()))
    behind = fixtures_behind(item, EXTRACTOR) if asked else set()
    for by, fixture, arguments in asked:
        made_by = inspect.unwrap(extractor_function(item))
        names = [*([by, fixture] if fixture else []), *(["case"] if "case" in arguments else [])]
        is_named = bool(names) and any(_is_in_file_of(names, each) for each in (made_by, extractor))
        if fixture in behind or is_named or _takes(extractor, arguments):
            continue
        code = made_by.__code__
        place = f"{display_path(Path(code.co_filename), item.config.rootpath)}:{code.co_firstlineno}"
        wanted = [f"the fixture takes `{fixture}` (used or not)"] if fixture else []
        wanted += [f"the extractor takes `{name}`" for name in arguments[:1]]
        problem = (
            f"{by}: no call would see it, and all would be the same: {place}: the fixture `{EXTRACTOR}` does not "
            f"show it. It is seen where {' or '.join(wanted)}; or leave {by.split(': ')[-1]} out"
        )
        left_to_controller(item.config, problem)
        pytest.exit(problem, returncode=pytest.ExitCode.USAGE_ERROR)


def _is_in_file_of(names: Collection[str], function: Any) -> bool:
    """Whether a text or an attribute in the file of a function has such a name: it may ask pytest for the option."""
    try:
        text = inspect.getsource(inspect.getmodule(function))  # type: ignore[arg-type]  # None: a TypeError as well
    except (OSError, TypeError):
        return False
    return re.search(rf"""[.'"](?:{"|".join(names)})\b""", text) is not None


def _takes(extractor: Any, arguments: Collection[str]) -> bool:
    """Whether a callable has a parameter of one of these names, or any; true of what has no signature."""
    try:
        parameters = inspect.signature(extractor).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(each.name in arguments or each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)


@functools.cache
def _makes_built_in(fixture: Any) -> bool:
    """Whether the extractor of a case is the built-in one for its model: by default, or `model=extract_model`."""
    with suppress(OSError, TypeError):
        return fixture is None or "LitellmExtractor(model=extract_model" in inspect.getsource(inspect.unwrap(fixture))
    return False
