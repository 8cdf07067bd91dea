"""What one pytest session knows about its extract cases: made when the first case file (or result) turns up."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_extract.core.case_result import Arm, CaseResult
from pytest_extract.core.results import Judge
from pytest_extract.errors import ConfigError
from pytest_extract.plugin.arms import EXTRACTOR, JUDGE, MODEL, PROMPT, ArmFixtures, arms_of, prompt_of, visible, wanted
from pytest_extract.plugin.budget import Budget, new_budget_file
from pytest_extract.plugin.extensions import ProjectExtensions
from pytest_extract.plugin.extraction import ExtractionService
from pytest_extract.plugin.judging import Judges
from pytest_extract.plugin.limits import concurrency_limit, limit_folder
from pytest_extract.plugin.options import SETTINGS, Settings
from pytest_extract.plugin.update_gold import Golds
from pytest_extract.redact.secrets import find_secrets_of_process
from pytest_extract.report.diff import DiffOptions
from pytest_extract.report.totals import Forecast, JudgeSpending
from pytest_extract.run_case import RunPlan, plan_of, run_case

if TYPE_CHECKING:
    from pytest_extract.cases.model import Case, Prompt
    from pytest_extract.plugin.items import ExtractItem
    from pytest_extract.plugin.prefetch import Prefetcher
    from pytest_extract.plugin.revisions import View

_SESSION = pytest.StashKey["ExtractSession"]()
_PURSE_FILE = pytest.StashKey[Path]()
PURSE = "extract_purse"
"""Where an xdist worker finds the purse's file in its `workerinput`."""

NO_EXTRACTOR = """\
no extractor for this case. Write one in a conftest.py beside the case file or above it:

    import pytest

    @pytest.fixture(scope="session")
    def extractor():
        def extract(document, schema):
            return {...}  # JSON for document.text (or .path, .bytes, .pages): str, dict, list or pydantic model
        return extract

or have a model called: pytest --extract-model=PROVIDER/NAME (pip install 'pytest-extract[llm]')."""
NO_EXTRACTOR_AGAIN = "no extractor for this case; the first such error says what to write"


def session_of(config: pytest.Config) -> ExtractSession:
    """Return the session's `ExtractSession`; made on first use."""
    if _SESSION not in config.stash:
        config.stash[_SESSION] = ExtractSession(config)
    return config.stash[_SESSION]


def started_session(config: pytest.Config) -> ExtractSession | None:
    """Return the session's `ExtractSession` if any case has turned up."""
    return config.stash.get(_SESSION, None)


def budget_of(config: pytest.Config, limit: float | None) -> Budget | None:
    """Return the run's purse; an xdist worker has been told where its file is."""
    if limit is None:
        return None
    shared: dict[str, str] = getattr(config, "workerinput", {})
    path = Path(shared[PURSE]) if PURSE in shared else budget_file(config)
    return Budget(path, limit)


def budget_file(config: pytest.Config) -> Path:
    """Make the file of the purse, which goes with the session."""
    if _PURSE_FILE not in config.stash:
        path = config.stash[_PURSE_FILE] = new_budget_file()
        config.add_cleanup(lambda: path.unlink(missing_ok=True))
    return config.stash[_PURSE_FILE]


def shared_slots(config: pytest.Config) -> Path | None:
    """Return the folder of the slots that all xdist workers share; None where there is one process."""
    shared: dict[str, str] = getattr(config, "workerinput", {})
    return limit_folder(shared["testrunuid"]) if "testrunuid" in shared else None


class ExtractSession:
    """Settings, arms, shared inputs and callers of one session in one process."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings: Settings = config.stash[SETTINGS]
        find_secrets_of_process(self.settings.allow_secrets)
        self.project = ProjectExtensions(config, self.settings.judge)
        self.mistakes_beside_good_cases = False
        self.calls = ExtractionService(
            self.settings,
            config.rootpath,
            budget_of(config, self.settings.budget),
            concurrency_limit(shared_slots(config), self.settings.concurrency),
        )
        self._ahead: Prefetcher | None = None
        self.arms = arms_of(self.settings.model, self.settings.prompt, config.rootpath)
        if self.calls.past is not None and self.arms == (Arm(),):
            self.arms = self.calls.past.arms or self.arms
        self._views: dict[str, View] = {}
        if self.settings.base_ref is not None and self.calls.past is None:
            self.view_of(self.settings.base_ref)
            self.arms = tuple(
                each for arm in self.arms for each in (replace(arm, revision=self.settings.base_ref), arm)
            )
        self._judges = Judges(
            config, self.settings, loop=self.calls.loop, slots=self.calls.slots, unkept=self.calls.unkept
        )
        self._judged = JudgeSpending()
        self._fixtures = ArmFixtures()
        self._infos: dict[tuple[object, ...], Any] = {}
        self._told_no_extractor = False
        self.golds = Golds(force=self.settings.force)

    # fixtures

    def fixture_info(self, item: ExtractItem) -> Any:
        """Return pytest's `FuncFixtureInfo` for an item; items of one folder, arm and set of marks share it.

        Fixtures are seen by folder: a case file cannot define any.
        """
        used = tuple(mark.args for mark in item.iter_markers("usefixtures"))
        key = (item.parent and item.parent.parent, used, item.arm)
        if key not in self._infos:
            info = self._pytest_info(item, self._all_names(item))
            if len(self.arms) > 1:
                values = {MODEL: item.arm.model, PROMPT: self.prompt_path(item.arm)}
                info = self._fixtures.info_for(info, item.arm, values)
            self._infos[key] = info
        return self._infos[key]

    def names_to_set_up(self, item: ExtractItem) -> list[str]:
        """Names of the fixtures that the item's set-up makes; the extractor only if it is sure to be called."""
        if not self.calls.may_replay:
            return list(item._fixtureinfo.names_closure)  # noqa: SLF001  # pytest's own name for it
        return list(self._pytest_info(item, ()).names_closure)

    def _pytest_info(self, item: ExtractItem, names: tuple[str, ...]) -> Any:
        manager = item.session._fixturemanager  # noqa: SLF001  # as pytest's doctest items do
        return manager.getfixtureinfo(item, func=wanted(*names), cls=None)

    def _all_names(self, item: ExtractItem) -> tuple[str, ...]:
        return (MODEL, PROMPT, *(n for n in (EXTRACTOR, JUDGE) if visible(item, n)))

    def prompt_path(self, arm: Arm) -> Path | None:
        """File of the arm's prompt from the command line."""
        return prompt_of(arm, self.settings.prompt, self.config.rootpath)

    # revisions

    def view_of(self, ref: str) -> View:
        """Return the files of a git revision, laid out once a session; ConfigError where there is no such revision."""
        if ref not in self._views:
            from pytest_extract.plugin.revisions import View

            self._views[ref] = View(self.config.rootpath, ref)
            self.config.add_cleanup(self._views[ref].close)
        return self._views[ref]

    def load_revisions(self, file: Path, cases: Sequence[Case]) -> None:
        """Read a case file as the revisions have it that the run compares with."""
        if self.calls.past is None:
            for ref in {arm.revision for arm in self.arms if arm.revision is not None}:
                self.view_of(ref).load(file, cases)

    def on_arm(self, case: Case, file: Path, arm: Arm) -> Case | None:
        """Return a case of a case file as an arm runs it; None where the arm's revision does not have it."""
        prompt = self.prompt_for(arm)
        if arm.revision is not None and self.calls.past is None:
            twin = self.view_of(arm.revision).twin(case, file)
            if twin is None:
                return None
            case = twin
        if self.settings.max_output_bytes is not None and case.max_output_bytes is None:
            case = replace(case, max_output_bytes=self.settings.max_output_bytes)
        return case if prompt is None else replace(case, prompt=prompt)

    def choose(self, items: Sequence[ExtractItem]) -> None:
        """`--extract-changed`: tell each case whether it is called or replayed, and why."""
        ref = self.settings.changed
        if ref is None:
            return
        for nodeid, choice in self.view_of(ref).choices(items, self.config.rootpath).items():
            self.calls.choices[nodeid] = choice

    # running

    def check_ready(self, item: ExtractItem) -> None:
        """Fail an item that has nothing to get an output from, saying what to write (in full once a session)."""
        if self.calls.replays_only or item.arm.model or visible(item, EXTRACTOR):
            return
        told, self._told_no_extractor = self._told_no_extractor, True
        raise ConfigError(NO_EXTRACTOR_AGAIN if told else NO_EXTRACTOR)

    def plan_for(self, item: ExtractItem) -> RunPlan:
        """How often an item is run: as the option says, else as a past run measured it, else as its case says."""
        repeat = self.settings.repeat
        if repeat is None and self.calls.past is not None:
            repeat = self.calls.past.measured(item)
        return plan_of(item.case, repeat)

    def run_item(self, item: ExtractItem) -> CaseResult:
        """Run a case; what its extractor raised is kept on the item."""

        def keep(error: Exception) -> None:
            item.error = item.error or error

        plan, judge, ahead = self.plan_for(item), self.judge_for(item), self._ahead_of(item)
        ahead.begin(item, plan, judge)
        result = run_case(
            item.case,
            lambda index: ahead.extraction(item, index),
            nodeid=item.nodeid,
            file=item.nodeid.partition("::")[0],
            arm=item.arm,
            judge=judge,
            plan=plan,
            on_error=keep,
        )
        item.judged = self._judged_since()
        self.calls.pay(item.judged)
        return replace(result, digests={**result.digests, **self._digests_of(item, result)})

    def _judged_since(self) -> JudgeSpending:
        """Return what the judges have used since the last case: also between two of them calls ahead are judged."""
        before, self._judged = self._judged, self._judges.spent()
        return self._judged - before

    def _digests_of(self, item: ExtractItem, result: CaseResult) -> dict[str, str]:
        """Digests of the code and the judge that a result hangs on, as far as they are known."""
        from pytest_extract.regression.snapshots import uses_judge

        extractor = self.calls.extractor_digest(item, result)
        found = {} if extractor is None else {"extractor": extractor}
        if uses_judge(result):
            found["judge"] = self._judges.digest(item.fixture(JUDGE), item.case.scorer.judges)
        return found

    def _ahead_of(self, item: ExtractItem) -> Prefetcher:
        if self._ahead is None:
            from pytest_extract.plugin.prefetch import Prefetcher

            self._ahead = Prefetcher(item.session, self)
        return self._ahead

    def finish_item(self, item: ExtractItem) -> None:
        """Let go of what was called ahead for an item that did not come to use it."""
        if self._ahead is not None:
            self._ahead.forget(item)

    def close(self) -> None:
        """End the calls; what is under way is given up."""
        if self._ahead is not None:
            self._ahead.close()
        self.calls.close()

    def forecast(self, item: ExtractItem) -> Forecast:
        """Say what running a case would take."""
        return self.calls.forecast(item, self.plan_for(item).of)

    def judge_for(self, item: ExtractItem) -> Judge | None:
        """Return the project's `extract_judge` fixture, or the judge that the options name."""
        if not item.case.scorer.needs_judge:
            return None
        return self._judges.judge_for(item.fixture(JUDGE), item.case.scorer.judges)

    def judge_ahead(self, item: ExtractItem) -> Judge | None:
        """Return the judge of an item whose turn has not come, where it can be known."""
        if not item.case.scorer.needs_judge:
            return None
        from pytest_extract.plugin.upcoming import made

        known, user = made(item, JUDGE)
        # litellm is first imported in pytest's own thread: see Calls.make_ready
        known = known and (user is not None or "litellm" in sys.modules)
        return self._judges.judge_for(user, item.case.scorer.judges) if known else None

    # showing

    def prompt_for(self, arm: Arm) -> Prompt | None:
        """Return the prompt that stands in place of every case's own; CaseFileError when it cannot be read."""
        path = self.prompt_path(arm)
        if path is not None and arm.revision is not None and self.calls.past is None:
            path = self.view_of(arm.revision).prompt(path) or path
        return None if path is None else self.project.plain.prompt(str(path))

    @property
    def style(self) -> str:
        """Value of pytest's --tb."""
        return str(self.config.getoption("tbstyle", "auto"))

    @property
    def look(self) -> DiffOptions:
        """How much a failing case shows; the width is that of whoever prints it."""
        verbosity = self.config.get_verbosity()
        return DiffOptions(verbosity=verbosity, brief=self.style == "short")

    @property
    def traceback_style(self) -> Any:
        """How an exception is shown, as pytest's own test functions do."""
        return "long" if self.style == "auto" else self.style

    def places_of(self, item: ExtractItem, result: CaseResult) -> Mapping[str, str]:
        """With -v: path of each failing field -> where gold and extracted values occur in the document."""
        if self.config.get_verbosity() < 1:
            return {}
        from pytest_extract.report.evidence import value_locations

        return value_locations(result, item.case.document)
