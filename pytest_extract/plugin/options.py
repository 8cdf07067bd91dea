"""Every `--extract-*` option with its ini twin: one table, read once into a frozen `Settings`.

The only reader of pytest's `Config`. All bad values of a command line are reported at once, before any paid call.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

import pytest

from pytest_extract.report.formats import HELP, ReportFile, report_file

Mode: TypeAlias = Literal["prompt", "structured"]
"""How the built-in extractor asks a model."""


class Option(NamedTuple):
    """What a field of `Settings` is read from: `--extract-NAME` and ini `extract_NAME`.

    `read` turns text into the value, or raises a ValueError that describes a correct value. `alone`: the value where
    the command line gives none. `name`: as in the field's name, but for two.
    """

    help: str
    read: Callable[[str], Any]
    default: str | None = None
    many: bool = False
    command_line: bool = True
    ini: bool = True
    alone: str | None = None
    metavar: str | None = None
    name: str = ""
    field: str = ""

    @property
    def dest(self) -> str:
        """Name in pytest's `Config.option` and in the ini file."""
        return f"extract_{self.name.replace('-', '_')}"

    @property
    def is_switch(self) -> bool:
        """Whether the option takes no value on the command line."""
        return self.read is _switch

    @property
    def shown_default(self) -> str | None:
        """Default that help and manual name; None where the option is off or unset by default."""
        return None if self.is_switch else self.default


option: Callable[..., Any] = Option
"""An option as the value of a field of another type."""


def _nonempty_text(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be empty")
    return value.strip()


def _path(value: str) -> Path:
    return Path(_nonempty_text(value))


def _relative_glob(value: str) -> str:
    text = _nonempty_text(value)
    if text.startswith(("/", "~")) or ".." in PurePath(text).parts or PurePath(text).is_absolute():
        raise ValueError("must be a path below the rootdir, such as prompts/*.txt")
    if any("**" in part and part != "**" for part in PurePath(text).parts):
        raise ValueError("must have ** as a whole part of the path, such as prompts/**")
    return text


def _one_of(*known: str) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in known:
            from pytest_extract.errors import nearest

            hint = nearest(value, known)
            raise ValueError(f"must be one of {', '.join(known)}{hint if 'did you mean' in hint else ''}")
        return value

    return read


def _number(
    wanted: str, kind: Callable[[str], float], low: float, high: float = sys.float_info.max
) -> Callable[[str], Any]:
    def read(value: str) -> float:
        try:
            number = kind(value)
        except ValueError:
            number = float("nan")
        if not low <= number <= high:
            raise ValueError(f"must be {wanted}")
        return number

    return read


_whole_number = _number("a whole number, 1 or more", int, 1)
_seconds = _number("a number of seconds above 0, up to 86400 (a day), such as 120", float, 0.001, 86_400)
_amount = _number("an amount in USD, 0 or more, such as 2.50", float, 0)
_CASES_TO_CONFIRM = 10
"""Cases that a confirmation runs again at most, where no number is given."""


def _threshold(value: str) -> tuple[str, float]:
    measure, sign, text = value.partition("=")
    try:
        bound = float(text)
    except ValueError:
        sign, bound = "", 0.0
    highest = 1.0
    if bound > 1:
        from pytest_extract.regression.suite import COMPLETE_ROWS  # the one bound that is no share

        highest = 1e9 if measure.strip() == COMPLETE_ROWS else 1.0
    if not sign or not 0 <= bound <= highest:
        raise ValueError("must read MEASURE=NUMBER with a number from 0 to 1, such as pass_rate=0.95")
    return measure.strip(), bound


def _fingerprint(value: str) -> str:
    text = value.strip().lower()
    if len(text) != 16 or text.strip("0123456789abcdef"):
        raise ValueError("must be a fingerprint of 16 hexadecimal digits, as the run's summary gives it")
    return text


def _gate_rule(value: str) -> tuple[str, Any]:
    from pytest_extract.regression.facts import read_rule

    return read_rule(value)


def _output_shape(value: str) -> Any:
    import json

    from pytest_extract.core.output_shape import OutputShape
    from pytest_extract.errors import ConfigError

    try:
        return OutputShape.from_json(json.loads(value) if value.lstrip().startswith("{") else value.strip())
    except ConfigError as error:
        raise ValueError(str(error)) from None


_SWITCH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _switch(value: str) -> bool:
    if value.lower() not in _SWITCH:
        raise ValueError("must be true or false")
    return _SWITCH[value.lower()]


SETTINGS = pytest.StashKey["Settings"]()
USAGE_ERROR = "extract_usage_error"
"""Where an xdist worker puts its usage error in its `workeroutput`: only the controller can refuse a run."""
PARAMS = "extract_params"
"""Where it puts the params of extractors' fixtures, of which the first is the base: only workers collect fixtures."""


class SharedRun(NamedTuple):
    """What all processes of a run know of it: when it started, and the folder that they share.

    Who needs the folder first makes it; the end of the session removes it.
    """

    started: float
    folder: Path


RUN = pytest.StashKey[SharedRun]()
"""Where a process finds the run that it is part of; an xdist worker gets it from the controller."""


def left_to_controller(config: pytest.Config, problem: str) -> bool:
    """Have the controller of xdist end the run with a usage error; False where this process is no worker."""
    workeroutput = getattr(config, "workeroutput", None)
    if workeroutput is None:
        return False
    workeroutput[USAGE_ERROR] = problem
    return True


class Settings:
    """The checked values of all options. Paths are absolute; an option that is not given is an empty tuple or None.

    Read-only; no dataclass, because making one of this size would cost every pytest run 3 ms.
    """

    # run
    model: tuple[str, ...] = option(
        "Run every case with this model (PROVIDER/NAME); repeatable.", _nonempty_text, many=True, metavar="MODEL"
    )
    prompt: tuple[Path, ...] = option(
        "Run every case with this prompt file; repeatable.", _path, many=True, metavar="FILE"
    )
    mode: tuple[Mode, ...] = option(
        "Choose how the built-in extractor asks a model: prompt or structured; repeatable.",
        _one_of("prompt", "structured"),
        "prompt",
        many=True,
        metavar="MODE",
    )
    concurrency: int = option("Run at most N extractor and judge calls at once.", _whole_number, "4", metavar="N")
    timeout: float = option(
        "Give up an attempt of a model's call, as extractor or judge, after this time.",
        _seconds,
        "300",
        metavar="SECONDS",
    )
    budget: float | None = option(
        "Stop calling when the calls have cost this much; the regression gate confirms falls with the rest.",
        _amount,
        metavar="USD",
    )
    dry_run: bool = option("Forecast calls and cost without calling.", _switch, "false", ini=False)
    repeat: int | None = option("Run each case N times.", _whole_number, metavar="N")
    judge: Literal["exact", "fuzzy", "llm"] = option(
        "Choose what decides semantic metrics: exact, fuzzy or llm.",
        _one_of("exact", "fuzzy", "llm"),
        "llm",
        metavar="JUDGE",
    )
    judge_model: str | None = option("Ask this model (PROVIDER/NAME) as the judge.", _nonempty_text, metavar="MODEL")
    max_output_bytes: int | None = option(
        "Refuse a longer output of a case without `max_output_bytes` (default: 10000000, or ten times the gold).",
        _whole_number,
        command_line=False,
    )
    confidence: Any = option(
        "Take values, confidence and citations out of outputs of this shape, in cases without `confidence`: a "
        "ready name, or a declaration as JSON.",
        _output_shape,
        command_line=False,
    )
    update_gold: Literal["new", "fix", "review"] | None = option(
        "Write extracted values into the cases' golds: new (what is missing, as drafts), fix (also what fails) or "
        "review (ask for each failing value at the end); a case whose gold changes fails in this run.",
        _one_of("new", "fix", "review"),
        ini=False,
        metavar="WHAT",
    )

    # record and replay
    record: Literal["off", "none", "once", "new", "all"] = option(
        "Record outputs and replay them: off, none (replay only), once, new (also what is stale) or all.",
        _one_of("off", "none", "once", "new", "all"),
        "off",
        metavar="WHEN",
    )
    recordings: Path = option("Keep the recordings in this folder.", _path, "extract-recordings", metavar="DIR")
    other_code: Literal["refuse", "allow"] = option(
        "What --extract-record=none does with outputs that other code of the extractor has made: refuse or allow.",
        _one_of("refuse", "allow"),
        "refuse",
        metavar="WHAT",
    )
    files: tuple[str, ...] = option(
        "Files that the extractor reads, such as prompts/*.txt: a change of them is a change of its code; one glob "
        "or folder a line, relative to the rootdir.",
        _relative_glob,
        many=True,
        command_line=False,
    )
    allow_secrets: tuple[str, ...] = option(
        "Record what has this fingerprint although it looks like a secret; one a line.",
        _fingerprint,
        many=True,
        command_line=False,
    )
    changed: str | None = option(
        "Call only for what differs from this git revision and replay the rest.", _nonempty_text, metavar="REF"
    )
    from_results: Path | None = option(
        "Score the outputs of a past run again without a call.", _path, ini=False, name="from", metavar="RESULTS.jsonl"
    )

    # gate
    gate: Literal["case", "regression", "suite", "none"] = option(
        "Choose what makes the run fail: case, regression (worse than the baseline), suite or none.",
        _one_of("case", "regression", "suite", "none"),
        "case",
        metavar="GATE",
    )
    baseline: Path | None = option("Compare the run with this baseline.", _path, metavar="FILE")
    update_baseline: Literal["replace", "add"] | None = option(
        "Write the baseline from this run, in place of earlier runs of its cases; `add` keeps these.",
        _one_of("replace", "add"),
        ini=False,
        alone="replace",
        metavar="HOW",
    )
    confirm: int | None = option(
        "Where a fall may be noise, and before the regression gate says WORSE by few cases, run up to N cases that "
        "fell again on both sides (10 without a number): these runs decide.",
        _whole_number,
        alone=str(_CASES_TO_CONFIRM),
        metavar="N",
    )
    rules: Mapping[str, Any] = option(
        "Set a rule of the regression gate (alpha=0.05, max_fallen=0, ...); repeatable.",
        _gate_rule,
        many=True,
        name="rule",
        metavar="RULE=VALUE",
    )
    suite_thresholds: Mapping[str, float] = option(
        "Set the lowest mean of a measure for --extract-gate=suite, one MEASURE=NUMBER a line.",
        _threshold,
        many=True,
        command_line=False,
    )
    base_ref: str | None = option(
        "Run every case with the prompts and schemas of this git revision as well, and compare.",
        _nonempty_text,
        metavar="REF",
    )
    force: bool = option(
        "Let --extract-update-baseline and --extract-update-gold write in CI; the latter also what looks wrong.",
        _switch,
        "false",
        ini=False,
    )

    # report
    report: tuple[ReportFile, ...] = option(HELP, report_file, many=True, metavar="FILE")
    html_pages: Literal["none", "evidence", "all"] = option(
        "Show pages of PDFs in the HTML page as images: none, evidence (those with a value) or all.",
        _one_of("none", "evidence", "all"),
        "evidence",
        command_line=False,
    )
    ci: Literal["auto", "off"] = option(
        "Choose if a run in GitHub Actions writes annotations and the job's summary: auto or off.",
        _one_of("auto", "off"),
        "auto",
        metavar="WHEN",
    )
    by: tuple[str, ...] = option(
        "Split summary, reports and the verdict of the regression gate by this tag of the cases (or depth, "
        "breadth, modality, ...), or summary and reports by field, type, failure, ...; repeatable.",
        _nonempty_text,
        many=True,
        metavar="TAG",
    )

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"settings are read-only: {name} cannot be set to {value!r}")

    @property
    def writes_golds(self) -> Literal["new", "fix"] | None:
        """What cases write into their golds as they end."""
        return None if self.update_gold == "review" else self.update_gold

    @property
    def opens_files(self) -> bool:
        """Whether the session reads or checks files before the first case."""
        asked = (self.from_results, self.baseline, self.update_baseline, self.base_ref, self.changed, self.report)
        return any(asked) or self.record not in {"off", "none"} or self.gate == "regression"


_FIRST: Final = {"model": "run", "record": "record and replay", "gate": "gate", "report": "report"}
"""The first field of each group -> its title in `pytest --help` and in the manual, which follow the order here."""


def _groups() -> dict[str, tuple[Option, ...]]:
    groups: dict[str, tuple[Option, ...]] = {}
    title = ""
    for field, value in vars(Settings).items():
        title = _FIRST.get(field, title)
        if isinstance(value, Option):
            name = value.name or field.replace("_", "-")
            groups[title] = (*groups.get(title, ()), value._replace(field=field, name=name))
    return groups


OPTION_GROUPS: Mapping[str, tuple[Option, ...]] = _groups()
OPTIONS: tuple[Option, ...] = tuple(option for group in OPTION_GROUPS.values() for option in group)


def add_options(parser: pytest.Parser) -> None:
    """Register every option in the group it belongs to, and its ini twin."""
    for title, options in OPTION_GROUPS.items():
        group = parser.getgroup(f"extract: {title}")
        for option in options:
            if option.ini:
                kind: Literal["linelist", "string"] = "linelist" if option.many else "string"
                parser.addini(option.dest, option.help, type=kind, default=[] if option.many else None)
            if not option.command_line:
                continue
            shown = option.help
            if option.shown_default is not None:
                shown = f"{shown.removesuffix('.')} (default: {option.shown_default})."
            takes: dict[str, Any] = {"action": "append" if option.many else "store", "metavar": option.metavar}
            if option.is_switch:
                takes = {"action": "store_const", "const": "true"}
            elif option.alone is not None:
                takes |= {"nargs": "?", "const": option.alone}
            group.addoption(f"--extract-{option.name}", dest=option.dest, default=None, help=shown, **takes)


def settings_from(config: pytest.Config) -> Settings:
    """Read and check all options; UsageError with every mistake of the command line and the ini file."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for each in OPTIONS:
        values[each.field] = _read_option(config, each, problems)
    problems += [f"--extract-prompt: no such file: {path}" for path in values["prompt"] if not path.is_file()]
    problems += _contradictions(config, values)
    named = {name: values[name] for name in ("model", "mode")}
    named |= {"prompt": [path.resolve() for path in values["prompt"]], "report": [path for _, path in values["report"]]}
    for name, given in named.items():
        doubles = sorted({str(value) for value in given if given.count(value) > 1})
        problems += [f"--extract-{name}: {value} is given twice" for value in doubles]
    if problems:
        raise pytest.UsageError("\n".join(problems))
    if values["from_results"] is not None:
        values["changed"] = values["confirm"] = None  # from the ini file; a past run calls for nothing
    elif values["confirm"] is None and values["budget"] and values["gate"] == "regression":
        values["confirm"] = _CASES_TO_CONFIRM  # a budget is leave to spend it on a decision
    values["suite_thresholds"] = dict(values["suite_thresholds"])
    values["rules"] = dict(values["rules"])
    return Settings(values)


def _read_option(config: pytest.Config, option: Option, problems: list[str]) -> Any:
    given = config.getoption(option.dest, None) if option.command_line else None
    if given is not None:  # an empty text too: `--extract-budget=$BUDGET` without BUDGET is to limit the run
        texts = given if isinstance(given, list) else [given]
        name, base = f"--extract-{option.name}", config.invocation_params.dir
    else:
        texts = (_texts(_file_value(config, option)) if option.ini else []) or _texts(option.default)
        name, base = option.dest, config.rootpath
    if len(texts) > 1 and not option.many:
        problems.append(f"{name}: takes one value, not a list of {len(texts)}")
    read: list[Any] = []
    for text in texts:
        try:
            value = option.read(text)
        except ValueError as error:
            path = option.alone is not None and text and (base / text.partition("::")[0]).exists()
            hint = f"; put {text} before {name}, or give {name}={option.alone}" if path else ""
            problems.append(f"{name}: {text!r} {error}{hint}")
            continue
        if isinstance(value, ReportFile):
            value = value._replace(path=base / value.path)
        read.append(base / value if isinstance(value, Path) else value)
    return tuple(read) if option.many else (read[0] if read else None)


def _file_value(config: pytest.Config, option: Option) -> Any:
    """Return the value of the ini or TOML file.

    pytest 9 keeps TOML's own types, and `getini` refuses all but the one of `addini`: 8 where "8" is known, and the
    reverse. pytest 8 knows no types of numbers at all.
    """
    stored: Any = getattr(config, "_inicfg", {}).get(option.dest)
    if getattr(stored, "mode", None) != "toml":
        return config.getini(option.dest)
    value = stored.value
    if isinstance(value, str) and option.many:
        return [line.strip() for line in value.split("\n") if line.strip()]
    if isinstance(value, dict):
        import json

        pairs = [f"{key}={part}" for key, part in value.items()]  # MEASURE=NUMBER, RULE=VALUE
        return pairs if option.many else json.dumps(value, default=str)
    return value


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [] if value in {None, ""} else [value]
    return [str(each).lower() if isinstance(each, bool) else str(each) for each in values]


def _contradictions(config: pytest.Config, values: Mapping[str, Any]) -> list[str]:
    """Return what is asked for and this run cannot or would not do."""
    source, gold = values["from_results"], values["update_gold"]
    several = values["base_ref"] or any(len(values[name]) > 1 for name in ("model", "prompt", "mode"))
    on_terminal = sys.__stdin__ is not None and sys.__stdin__.isatty()
    has_workers = config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))
    of_gold = {
        " takes one model and one prompt, but for drafts: whose output is right?": several and gold != "new",
        "=review asks in a terminal; elsewhere --extract-report=R.jsonl, then pytest-extract review R.jsonl": (
            gold == "review" and not on_terminal
        ),
        " writes files that cases share: run it without xdist (-n0)": has_workers,
    }
    problems = [f"--extract-update-gold{why}" for why, holds in of_gold.items() if gold is not None and holds]
    written = [name for name in ("update_gold", "update_baseline") if values[name]]
    if written and not values["force"]:
        from pytest_extract.regression.baseline import in_ci

        told = "writes nothing in CI: write it where its diff is reviewed, or add --extract-force"
        problems += [f"--extract-{name.replace('_', '-')} {told}" for name in written if in_ci(os.environ)]
    if values["update_baseline"] and values["baseline"] is None:
        problems.append("--extract-update-baseline needs --extract-baseline=FILE")
    if source is not None and not source.is_file():
        problems.append(f"--extract-from: no such file: {source}")
    if source in [path for _, path in values["report"]]:
        problems.append(f"--extract-report: {source} is what --extract-from reads; name another file")
    if values["gate"] == "suite" and not values["suite_thresholds"]:
        problems.append("--extract-gate=suite needs extract_suite_thresholds in the ini file, such as pass_rate=0.95")
    records = values["record"] != "off" or values["changed"]
    without_effect = {
        "recordings without --extract-record": not records,
        "other-code without --extract-record=none": not records,
        "force without --extract-update-baseline or -update-gold": not (values["update_baseline"] or gold),
        "update-baseline beside --extract-update-gold or --extract-dry-run": gold or values["dry_run"],
        "gate beside --extract-update-gold": values["gate"] == "regression" and gold,
        "judge-model without --extract-judge=llm": values["judge"] != "llm",
        "changed beside --extract-from": source is not None,
        "confirm beside --extract-from, which calls nothing": source is not None,
    }
    for what, holds in without_effect.items():
        name, _, why = what.partition(" ")
        # On the command line only: the ini file may hold it for other runs.
        if holds and config.getoption(f"extract_{name.replace('-', '_')}", None):
            problems.append(f"--extract-{name} has no effect {why}")
    return problems
