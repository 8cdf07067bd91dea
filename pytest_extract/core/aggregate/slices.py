"""Slices of a run: the numbers of its cases, or of their values, for each value of a tag or a built-in dimension.

A dimension of cases (a tag, `depth`, `breadth`, `output-size`, ...) puts each case into one slice, a dimension of
values (`field`, `type`) each leaf result. `failure` counts how outputs and values fail.

Lists to the end: recall of rows by their position and by the length of the list, and where it falls. A model that stops
early, or skips rows of long lists, looks well over many short ones.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.aggregate import CaseMeasures, Rates, case_rows, extract_bench_rates, mean
from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.core.measures import FieldCounts
from pytest_extract.core.mistakes import mistake_kinds
from pytest_extract.core.results import DECLINED, FailureKind, FieldResult, ScoreRecord, Status
from pytest_extract.core.values import MISSING, Json, json_type, pattern_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.float64]
    Places: TypeAlias = npt.NDArray[np.int64]


NONE: Final = "(none)"
"""The slice of the cases that do not have the tag, or whose number is unknown."""
FIELD: Final = "field"
"""The dimension whose slices stand in the order of their wrong values, most first; others are in natural order."""
TAG: Final = "tag:"
"""Prefix that makes a name a tag's, although a built-in dimension has the name."""


class Dimension(NamedTuple):
    """What a run is split by: `of_case` for whole cases, `of_value` for leaf results; `size` is what is binned.

    `of_score`: the failures of a score, by name, which are counted.
    """

    name: str
    doc: str
    of_case: Callable[[CaseResult], str] | None = None
    of_value: Callable[[CaseResult, FieldResult], str] | None = None
    of_score: Callable[[ScoreRecord], Iterable[str]] | None = None
    size: Callable[[CaseResult], int | None] | None = None

    @property
    def kind(self) -> Literal["case", "value", "failure"]:
        """What is counted in a slice."""
        return "failure" if self.of_score is not None else "value" if self.of_value is not None else "case"


NO_OUTPUT: Final = "no output"
PARSE_FAILURE: Final = "no JSON could be read"
SCHEMA_FAILURE: Final = "schema violation"
_VALUE_FAILURES: Final[Mapping[Status, str]] = {
    Status.OMISSION: "missing value",
    Status.HALLUCINATION: "invented value",
    Status.JUDGE_ERROR: "not decided by the judge",
}
WRONG_TYPE: Final = "wrong type"
WRONG_VALUE: Final = "wrong value"
_NUMBERS: Final = frozenset({"integer", "number"})


def value_failure(result: FieldResult) -> str | None:
    """Return how a leaf result fails (wrong type or value, missing, invented, not decided); None if it does not."""
    if result.status is not Status.MISMATCH:
        return _VALUE_FAILURES.get(result.status)
    if result.gold is MISSING or result.extracted is MISSING:
        return WRONG_VALUE
    types = {json_type(result.gold), json_type(result.extracted)}
    return WRONG_VALUE if len(types) == 1 or types <= _NUMBERS else WRONG_TYPE


def _failures_of(score: ScoreRecord) -> Iterator[str]:
    """Yield how an output fails, or each of its values."""
    if score.failure is not None and not score.readable:
        kind = score.failure.kind
        yield f"{NO_OUTPUT if kind in {*DECLINED, FailureKind.EMPTY_RESPONSE} else PARSE_FAILURE}: {kind}"
        return
    if score.failure is not None or not score.gates.structural:
        yield SCHEMA_FAILURE
    yield from filter(None, map(value_failure, score.leaves))


_BOUNDS: Final = (10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)


def _rounded_mean(sizes: Sequence[int]) -> int | None:
    return round(sum(sizes) / len(sizes)) if sizes else None


def _response_length(result: CaseResult) -> int | None:
    outputs = [attempt.output for attempt in result.attempts if attempt.output is not None]
    texts = (each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, default=repr) for each in outputs)
    return _rounded_mean([len(text) for text in texts])


def _tokens(result: CaseResult) -> int | None:
    counts = [each.usage.prompt_tokens for each in result.attempts if each.usage is not None]
    return _rounded_mean([count for count in counts if count is not None])


def _json_type_of(result: CaseResult, leaf: FieldResult) -> str:
    value = leaf.extracted if leaf.gold is MISSING or leaf.gold is None else leaf.gold
    name = "null" if value is MISSING else "enum" if leaf.pattern in result.enumerations else json_type(value)
    return f"{name} in a list" if leaf.pattern.endswith("[]") else name


def _sized(name: str, doc: str, size: Callable[[CaseResult], int | None]) -> Dimension:
    def bin_of(result: CaseResult) -> str:
        number = size(result)
        if number is None:
            return NONE
        index = bisect_left(_BOUNDS, number)
        low = _BOUNDS[index - 1] + 1 if index else 0
        return f"{low:,} to {_BOUNDS[index]:,}" if index < len(_BOUNDS) else f"{low:,} and more"

    return Dimension(name, doc, bin_of, size=size)


DIMENSIONS: Final[Mapping[str, Dimension]] = {
    each.name: each
    for each in (
        Dimension(FIELD, "the pattern of the field", of_value=lambda _, leaf: leaf.pattern or "$"),
        Dimension("type", "the JSON type of the gold value, and whether it stands in a list", of_value=_json_type_of),
        Dimension(
            "failure", "how outputs and values fail", None, lambda _, leaf: value_failure(leaf) or "", _failures_of
        ),
        Dimension("mistake", "the kind of mistake, as far as one is named", of_score=mistake_kinds),
        Dimension(
            "depth",
            "the levels of nesting of schema and gold",
            of_case=lambda result: str(result.shape.get("depth", NONE)),
            size=lambda result: result.shape.get("depth"),
        ),
        _sized("breadth", "the number of fields that the schema declares", lambda result: result.shape.get("fields")),
        _sized("output-size", "the number of values of the gold", lambda result: result.shape.get("values")),
        _sized("response-length", "the characters of the output (mean over the repeats)", _response_length),
        _sized("pages", "the pages of the document, where its text was read", lambda result: result.shape.get("pages")),
        _sized("tokens", "the tokens of the request (mean over the repeats)", _tokens),
        Dimension("modality", "text, image or audio", lambda result: result.modality),
        Dimension(
            "prompt", "the file of the prompt", lambda result: result.variant.prompt or result.prompt_file or NONE
        ),
        Dimension("origin", "sample, correction or synthetic", lambda result: str(result.origin)),
        Dimension("complexity", "easy, medium or hard", lambda result: result.complexity or NONE),
    )
}
"""The built-in dimensions; every other name is that of a tag."""

_OF_CASES: Final = {
    each.name: each.of_case
    for each in DIMENSIONS.values()
    if each.of_case
    and each.name not in ("response-length", "origin", "tokens")  # not of the case alone, or of all that count
}
"""Dimensions that group cases, whatever their outputs are: a comparison can be split by them, as by a tag."""


def dimension(name: str) -> Dimension:
    """Return a built-in dimension by its name, else that of the tag; `tag:depth` is the tag in any case."""
    if name in DIMENSIONS:
        return DIMENSIONS[name]
    tag = name.removeprefix(TAG)
    return Dimension(tag, f"the tag `{tag}`", lambda result: tag_text(result.tags, tag))


def slice_name(name: str) -> str:
    """Return the name of a tag or a dimension as `case_slices` has it."""
    tag = name.removeprefix(TAG)
    return name if tag in DIMENSIONS else tag


def case_dimensions(names: Iterable[str]) -> list[str]:
    """Return those of some names of tags and built-in dimensions that group cases, as in `case_slices`."""
    return [slice_name(name) for name in names if name in _OF_CASES or name not in DIMENSIONS]


def case_slices(result: CaseResult) -> dict[str, Json]:
    """Return what a case is grouped by, by the names of tags (`tag:depth` where a dimension has it) and dimensions."""
    tags = {f"{TAG}{name}" if name in DIMENSIONS else name: value for name, value in result.tags.items()}
    own = {name: text for name, of_case in _OF_CASES.items() if (text := of_case(result)) != NONE}
    return tags | own


def tag_text(tags: Mapping[str, Json], name: str) -> str:
    """Return the value of a tag as the name of its slice.

    A blank text is in quotes, and so is one that GitHub Actions would read as a command at the start of a line.
    """
    value = tags.get(name)
    if value is None:
        return NONE
    if isinstance(value, str) and value.strip() and not value.lstrip().startswith(("::", "##[")):
        return value
    return json.dumps(value, ensure_ascii=False, default=repr)


@dataclass(slots=True)
class Slice:
    """What one slice holds on one variant, added up: cases, or leaf results alone, or failures.

    `rates`: ExtractBench's, pooled over fields. `values`: leaf results. `rows`: the measures of the scored cases.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    rates: Rates = field(default_factory=Rates)
    values: FieldCounts = field(default_factory=FieldCounts)
    failures: int = 0
    rows: list[CaseMeasures] = field(default_factory=list)

    def add(self, result: CaseResult, rates: Rates) -> None:
        """Add a case with its rates."""
        self.outcomes[result.outcome] += 1
        self.rates += rates
        for leaf in _leaves_of(result):
            self.values.add(leaf, result.nodeid)
        self.rows += case_rows([result])

    @property
    def cases(self) -> int:
        """Number of cases."""
        return self.outcomes.total()

    @property
    def means(self) -> dict[str, float]:
        """The mean over the scored cases of each measure that all of them have."""
        return self._means([1.0] * len(self.rows))

    @property
    def weighted(self) -> dict[str, float]:
        """The means weighted by complexity; empty where no complexity is known."""
        weights = [row.weight for row in self.rows]
        return self._means(weights) if any(weights) else {}

    def _means(self, weights: Sequence[float]) -> dict[str, float]:
        measures = [row.measures for row in self.rows]
        names = [name for name in measures[0] if all(name in each for each in measures)] if measures else []
        return {name: mean([each[name] for each in measures], weights) for name in names}


def _leaves_of(result: CaseResult) -> Iterable[FieldResult]:
    return (leaf for score in result.scores for leaf in score.leaves)


@dataclass(slots=True, kw_only=True)
class SliceTable:
    """A run split by one dimension: (slice, variant's label) -> its numbers; after `sort`, slices are in natural order.

    `outputs`: scored outputs by variant. Each result is read once and not kept.
    """

    by: Dimension
    slices: dict[tuple[str, str], Slice] = field(default_factory=lambda: defaultdict(Slice))
    outputs: Counter[str] = field(default_factory=Counter)
    _totals: dict[str, Slice] = field(default_factory=lambda: defaultdict(Slice))
    _sizes: list[tuple[str, float, float]] = field(default_factory=list)

    def add(self, result: CaseResult) -> None:
        """Count a case."""
        by, variant = self.by, result.variant.label
        self.outputs[variant] += len(result.scores)
        if by.of_score is not None:
            for name in chain.from_iterable(map(by.of_score, result.scores)):
                self.slices[name, variant].failures += 1
        elif by.of_value is not None:
            for leaf in _leaves_of(result):
                self.slices[by.of_value(result, leaf), variant].values.add(leaf, result.nodeid)
        elif by.of_case is not None:
            rates = extract_bench_rates(result.scores)
            self.slices[by.of_case(result), variant].add(result, rates)
            self._totals[variant].add(result, rates)
            size = None if by.size is None else by.size(result)
            if size is not None and rates.pass_rate is not None:
                self._sizes.append((variant, float(size), rates.pass_rate))

    @property
    def variants(self) -> tuple[str, ...]:
        """The labels of the variants, in order."""
        return tuple(sorted(self.outputs))

    @property
    def totals(self) -> dict[str, Slice]:
        """All slices together of each variant that has several."""
        slices = Counter(variant for _, variant in self.slices)
        return {variant: total for variant, total in sorted(self._totals.items()) if slices[variant] > 1}

    @property
    def correlations(self) -> dict[str, float]:
        """By variant, Spearman's correlation of the size with the pass rate of the cases, for a dimension with a size.

        A variant of which fewer than three cases differ has none.
        """
        return rank_correlations(self._sizes)

    @property
    def labels(self) -> list[str]:
        """Names of the slices, in order, without those of no case."""
        return list(dict.fromkeys(label for label, _ in self.slices))

    @property
    def is_known(self) -> bool:
        """Whether any case has the tag."""
        return self.labels != [NONE]

    def sort(self) -> None:
        """Put slices in their order: failures by kind and number, fields by wrong values, others by their names."""
        if self.by.kind == "value":
            self.slices = {key: each for key, each in self.slices.items() if each.values.records}
        number = Counter[str]()
        for (label, _), each in self.slices.items():
            wrong = each.values.total - each.values.match if self.by.name == FIELD else 0
            number[label] += each.failures + wrong
        order = (NO_OUTPUT, PARSE_FAILURE, SCHEMA_FAILURE, *_VALUE_FAILURES.values(), WRONG_TYPE, WRONG_VALUE)
        ranks = {kind: rank for rank, kind in enumerate(order)} if self.by.kind == "failure" else {}

        def place(item: tuple[tuple[str, str], Slice]) -> tuple[object, ...]:
            label, variant = item[0]
            return ranks.get(label.partition(":")[0], len(ranks)), -number[label], natural_key(label), variant

        self.slices = dict(sorted(self.slices.items(), key=place))


def slice_tables(results: Iterable[CaseResult], names: Sequence[str]) -> list[SliceTable]:
    """Split a run by each of the dimensions and tags, in one pass."""
    tables = [SliceTable(by=dimension(name)) for name in names]
    for result in results if tables else ():
        for table in tables:
            table.add(result)
    for table in tables:
        table.sort()
    return tables


def natural_key(label: str) -> tuple[bool, list[tuple[int, str]]]:
    """Return the sort key of a slice: numbers in its name by value, and `(none)` last."""
    parts = re.split(r"(\d[\d,]*)", label)
    parts[1::2] = [digits.replace(",", "").lstrip("0") for digits in parts[1::2]]
    return label == NONE, [(len(part) if index % 2 else 0, part) for index, part in enumerate(parts)]


def rank_correlations(rows: Iterable[tuple[str, float, float]]) -> dict[str, float]:
    """Return the rank correlation of the rows (variant, size, rate) by variant, in alphabetical order.

    Rows of several variants together would show the difference between the variants instead of that between the sizes.
    """
    variants: dict[str, list[tuple[float, float]]] = {}
    for variant, size, rate in rows:
        variants.setdefault(variant, []).append((size, rate))
    found = {variant: rank_correlation(pairs) for variant, pairs in sorted(variants.items())}
    return {variant: each for variant, each in found.items() if each is not None}


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None below three pairs or without a difference."""
    if len(pairs) < 3:
        return None
    import numpy as np

    ranks = []
    for values in zip(*pairs, strict=True):
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((counts.cumsum() - (counts - 1) / 2)[place])
    first, second = (rank - rank.mean() for rank in ranks)
    spread = float(first @ first * (second @ second))
    return float(first @ second) / spread**0.5 if spread else None


BOUNDS: Final = (10, 30, 100, 300, 1_000, 3_000, 10_000, sys.maxsize)
"""Ends of the bins of positions and lengths; the last bin is open."""
ALPHA: Final = 0.05
LONG: Final = 20
"""Rows of the shortest list that says something of where lists break off."""
_MOST_ROWS: Final = 100_000
_ARRANGEMENTS: Final = 100
_RESAMPLES: Final = 200
By: TypeAlias = Literal["position", "length"]


class FoundRows(NamedTuple):
    """One list of one output: the number of gold's rows, and the places of those that are missing, from 0."""

    length: int
    missing: tuple[int, ...]


class Recall(NamedTuple):
    """Rows of gold, and how many of them were found."""

    rows: int
    found: int

    @property
    def share(self) -> float:
        """Found rows over all; 1.0 without any."""
        return self.found / self.rows if self.rows else 1.0


class Edge(NamedTuple):
    """Where recall falls: `at` is the last position, or length, before it; `low` and `high` bound it at 95 %."""

    by: By
    at: int
    low: int
    high: int
    before: float
    after: float


class ListRecall(NamedTuple):
    """The lists of one pattern in one variant. The keys of bins are their ends: rows 11 to 30 are those of 30."""

    pattern: str
    variant: str
    lists: int
    longest: int
    total: Recall
    by_position: Mapping[int, Recall]
    by_length: Mapping[int, Recall]
    edge: Edge | None


def list_recalls(results: Iterable[CaseResult]) -> list[ListRecall]:
    """Return the long lists that lack rows, those that lack the most first; an output that cannot be read has none."""
    found: dict[tuple[str, str], list[FoundRows]] = defaultdict(list)
    for result in results:
        for score in result.scores:
            for array in score.arrays if score.readable else ():
                length = len(array.pairs) + len(array.missing)
                if length:
                    found[pattern_of(array.path), result.variant.label].append(FoundRows(length, array.missing))
    recalls = [
        list_recall(pattern, variant, lists)
        for (pattern, variant), lists in found.items()
        if any(each.missing for each in lists) and max(each.length for each in lists) >= LONG
    ]
    return sorted(recalls, key=lambda each: (each.total.found - each.total.rows, each.pattern, each.variant))


def list_recall(pattern: str, variant: str, lists: Sequence[FoundRows]) -> ListRecall:
    """Add up lists, at least one, and look for an edge."""
    rows, wholes = _parts(lists)
    return ListRecall(
        pattern=pattern,
        variant=variant,
        lists=len(lists),
        longest=int(wholes.places.max()),
        total=Recall(len(rows.places), len(rows.places) - int(rows.missing.sum())),
        by_position=rows.by_bin(),
        by_length=wholes.by_bin(),
        edge=_find_edge(lists),
    )


class _Parts(NamedTuple):
    """Rows at their positions, from 1, or whole lists at their lengths: which list each is of, and its missing share.

    sizes: the rows in each.
    """

    places: Places
    lists: Places
    missing: Numbers
    sizes: Numbers

    def by_bin(self) -> dict[int, Recall]:
        import numpy as np

        bins = np.searchsorted(BOUNDS, self.places)
        rows, missing = np.bincount(bins, self.sizes), np.bincount(bins, self.sizes * self.missing)
        return {
            BOUNDS[at]: Recall(round(rows[at]), round(rows[at] - missing[at])) for at in np.flatnonzero(rows).tolist()
        }

    def split(self, weights: Numbers) -> tuple[int, float]:
        """Return the last place before recall falls, by the split of highest binomial likelihood, and what it gains."""
        import numpy as np

        counts = [np.bincount(self.places, weights * share) for share in (1 - self.missing, self.missing)]
        before: Numbers = np.cumsum(counts, axis=1, dtype=float)
        after = (before[:, -1:] - before).clip(0)
        gain = _likelihood(before) + _likelihood(after) - _likelihood(before[:, -1:])
        gain[after[1] * before[0] <= before[1] * after[0]] = 0.0  # missing rows are no more frequent behind it
        at = int(gain.argmax())
        return at, float(gain[at])


def _likelihood(counts: Numbers) -> Numbers:
    """Return the log-likelihood of found and missing rows at their own rates."""
    from scipy.special import xlogy

    whole = counts.sum(axis=0)
    found: Numbers = xlogy(counts, counts).sum(axis=0) - xlogy(whole, whole)
    return found


def _parts(lists: Sequence[FoundRows]) -> tuple[_Parts, _Parts]:
    """Return all rows, and all lists."""
    import numpy as np

    lengths, numbers = np.array([each.length for each in lists]), np.arange(len(lists))
    missing = [np.bincount(np.array(each.missing, dtype=int), minlength=each.length) for each in lists]
    places = np.concatenate([np.arange(1, length + 1) for length in lengths])
    rows = _Parts(places, numbers.repeat(lengths), np.concatenate(missing).astype(float), np.ones(len(places)))
    return rows, _Parts(lengths, numbers, np.array([each.mean() for each in missing]), lengths.astype(float))


def _find_edge(lists: Sequence[FoundRows]) -> Edge | None:
    """Return where recall falls beyond noise, by position or length, whichever says more; None where it does not.

    Whether the best split is more than chance is tested by permutation: of the rows of each list for positions, of
    lists for lengths (Good 2005, section 3.7). Its interval is a percentile bootstrap over lists. Of very many rows, a
    sample of the lists is looked at.
    """
    import numpy as np

    rng = np.random.default_rng(7)
    order = rng.permutation(len(lists))
    ends = np.cumsum([lists[index].length for index in order])
    lists = [lists[index] for index in order[: 1 + np.searchsorted(ends, _MOST_ROWS)]]
    rows, wholes = _parts(lists)
    by: By = "position" if rows.split(rows.sizes)[1] >= wholes.split(wholes.sizes)[1] else "length"
    parts, groups = (rows, rows.lists) if by == "position" else (wholes, np.zeros(len(lists)))
    each_once = np.ones(len(parts.places))
    at, gain = parts.split(each_once)
    larger = 0
    for _ in range(_ARRANGEMENTS if gain > 0.0 else 0):
        shares = parts.missing[np.argsort(groups + rng.random(len(groups)))]
        whole_rows = np.round(shares * parts.sizes) / parts.sizes
        larger += parts._replace(missing=whole_rows).split(each_once)[1] >= gain
        if larger >= ALPHA * _ARRANGEMENTS:
            return None
    if gain <= 0.0:
        return None
    places = np.unique(parts.places)
    drawn = (
        parts.split(draw[parts.lists])
        for draw in rng.multinomial(len(lists), [1 / len(lists)] * len(lists), _RESAMPLES)
    )
    edges = [edge for edge, found in drawn if found > 0.0] or [at]
    lasts = places[places.searchsorted(edges, side="right")] - 1  # up to the next place there is
    before, after = (
        float(1 - np.average(parts.missing[side], weights=parts.sizes[side]))
        for side in (parts.places <= at, parts.places > at)
    )
    low, high = np.quantile(edges, 0.025, method="nearest"), np.quantile(lasts, 0.975, method="nearest")
    return Edge(by=by, at=at, low=min(int(low), at), high=max(int(high), at), before=before, after=after)
