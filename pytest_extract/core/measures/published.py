"""Measures of gold and output as whole values, as published systems and papers define them, oddities included.

SOB (`evaluate.py` of the Structured Output Benchmark): schema compliance multiplies every content measure (hardening);
a coverage gate multiplies value accuracy and faithfulness. A path of SOB is `a.b[0].c`; names are not escaped, so that
two places may share a path: the later one counts. Empty containers, a scalar root and the key `""` of the root, whose
path is empty, give no value. DeepJSONEval (`utils.py: json_evaluation_new`): syntax, key match and strict.
The measures of papers are worked out only where a case bounds them.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import product
from typing import Final, Literal, NamedTuple, TypeAlias

from pytest_extract.core.metrics.exact import bag_f1
from pytest_extract.core.metrics.texts import words
from pytest_extract.core.parse import too_deep
from pytest_extract.core.validate import Validator, Violation
from pytest_extract.core.values import CONTAINERS, MISSING, Json, Missing, canonical_json
from pytest_extract.errors import ConfigError

_PYTHON_TYPES: Final[dict[str, frozenset[type]]] = {
    "string": frozenset({str}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
    "boolean": frozenset({bool}),
    "null": frozenset({type(None)}),
}
_INDEX: Final = re.compile(r"\[\d+\]")
_STEP: Final = re.compile(r"(\[[-+]?\d+\])|((?:[^.\[]|\[(?![-+]?\d+\]))+)")


def path_map(document: Json | Missing) -> tuple[dict[str, Json], set[str]]:
    """Return the values of a document by path, in its order, and the paths of containers and values, `[]` for rows."""
    values: dict[str, Json] = {}
    places: set[str] = set()
    stack = [("", document)] if document is not MISSING else []
    while stack:
        path, node = stack.pop()
        if path:
            places.add(_INDEX.sub("[]", path))
        if isinstance(node, dict):
            inside = [(f"{path}.{name}" if path else name, child) for name, child in node.items()]
            stack.extend(reversed(inside))
        elif isinstance(node, list):
            stack.extend(reversed([(f"{path}[{index}]", child) for index, child in enumerate(node)]))
        elif path:
            values[path] = node
    return values, places


class DocumentSchema:
    """A schema, ready to be compared with any output as a whole, and for SOB's lookups; thread-safe.

    What SOB does not follow has no type, nor has anything in a schema nested too deeply.
    """

    def __init__(self, schema: Json) -> None:
        self.validator = Validator(schema)

    @cached_property
    def _followed(self) -> Json:
        return {} if too_deep(self.validator.schema) else self.validator.schema

    @cached_property
    def types_at(self) -> Callable[[str], frozenset[type]]:
        """The types that are declared at the path of a value, with the index 0 for every row."""
        return lru_cache(4096)(partial(_types_at, self._followed))

    @cached_property
    def required(self) -> frozenset[str]:
        """The required paths (`items[].name`)."""
        return frozenset(_required(self._followed, ""))


def _types_at(schema: Json, path: str) -> frozenset[type]:
    """Return the types at a path read back from its text: names between dots, indices in brackets.

    Only exact `object` and `array` types are followed. Brackets around no number, at which the published program stops,
    belong to a name.
    """
    node = schema
    for index, name in _STEP.findall(path):
        kind = node.get("type") if isinstance(node, dict) else None
        if index:
            node = node.get("items") if kind == "array" else None
        else:
            members = node.get("properties") if kind == "object" else None
            node = members.get(name) if isinstance(members, dict) else None
    declared = node.get("type") if isinstance(node, dict) else None
    if isinstance(declared, str):
        return _PYTHON_TYPES.get(declared, frozenset())
    names = [name for name in declared if isinstance(name, str)] if isinstance(declared, list) else []
    real = [name for name in names if name != "null"]
    taken = real if len(real) == 1 else names  # one type besides null is that type alone, as published
    return frozenset(kind for name in taken for kind in _PYTHON_TYPES.get(name, ()))


def _required(schema: Json, path: str) -> Iterator[str]:
    """Yield required keys depth first; what is required inside an optional object is not asked for, as published."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "array":
        yield from _required(schema.get("items"), f"{path}[]")
    listed = schema.get("required") if kind == "object" else None
    members = schema.get("properties") if kind == "object" else None
    for name in listed if isinstance(listed, list | str) else ():
        if isinstance(name, str):
            place = f"{path}.{name}" if path else name
            yield place
            yield from _required(members.get(name) if isinstance(members, dict) else None, place)


class DocumentPair:
    """One comparison.

    extracted: MISSING without JSON.
    structured: whether the extracted value is an object or an array, which is what SOB calls parsed.
    wanted, found: the values of gold and of the output by path; shared: the number of paths of both; places: all paths
    of the output, `[]` for rows.
    coverage: SOB's `path_set_f1` before hardening: F1 of the two path sets, 0 when either is empty.
    equal: Python equality of the whole values: 1, 1.0 and true are one, as in DeepJSONEval's `strict`.
    valid: whether the schema, under its declared draft, admits the extracted value.
    """

    def __init__(self, gold: Json, extracted: Json | Missing, schema: DocumentSchema) -> None:
        self.gold = gold
        self.schema = schema
        self.extracted = extracted
        self.wanted, _ = path_map(gold)
        self.found, self.places = path_map(self.extracted)
        self.shared = len(self.wanted.keys() & self.found.keys())
        both = len(self.wanted) + len(self.found)
        self.coverage = 2 * self.shared / both if both else 0.0
        self.structured = isinstance(self.extracted, CONTAINERS)
        self.equal = self.extracted is not MISSING and bool(gold == self.extracted)
        self.valid = self.extracted is not MISSING and schema.validator.is_valid(self.extracted)

    @cached_property
    def violation(self) -> Violation | None:
        """First place where the extracted value breaks the schema."""
        return None if self.valid or self.extracted is MISSING else self.schema.validator.first_error(self.extracted)


def written_alike(one: Json, other: Json) -> bool:
    """Whether two values equal in Python are also written the same in JSON: 1 and 1.0 are not, nor 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return all(written_alike(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return all(map(written_alike, one, other))
    return not isinstance(one, float) or repr(one) == repr(other)


CoverageMode: TypeAlias = Literal["hard", "soft", "off"]


class CoverageGate(NamedTuple):
    """How coverage c becomes a factor: hard, 1 from the floor on, else 0; soft, min(1, (c / floor)²); off, 1.

    The floor is above 0.
    """

    mode: CoverageMode
    floor: float

    def factor(self, coverage: float) -> float:
        """Return the factor in [0, 1]; no coverage at all gives 0 in either mode."""
        if self.mode == "off" or coverage >= self.floor:
            return 1.0
        return 0.0 if self.mode == "hard" else (coverage / self.floor) ** 2


def sob_measures(sides: DocumentPair, gate: CoverageGate) -> dict[str, float]:
    """Return the SOB measures of one comparison under one coverage gate by name.

    `json_pass`: an object or array that satisfies the schema under Draft 7. `perfect`: equality of the JSON texts but
    for key order; what is not structured counts as not parsed there, and that as null.
    """
    wanted, found, schema = sides.wanted, sides.found, sides.schema
    pairs = [(value, found.get(path, MISSING)) for path, value in wanted.items()]
    json_pass = float(sides.structured and schema.validator.is_valid_draft7(sides.extracted))
    content = json_pass * gate.factor(sides.coverage)
    equal = sum([one == other for one, other in pairs])
    tokens = sum([token_f1(one, None if other is MISSING else other) for one, other in pairs])
    typed = sum([type(value) in schema.types_at(_INDEX.sub("[0]", path)) for path, value in found.items()])
    perfect = sides.equal and written_alike(sides.gold, sides.extracted) if sides.structured else sides.gold is None
    key_recall = 1.0 - len(schema.required - sides.places) / len(schema.required) if schema.required else 1.0
    return {
        "json_parse": float(sides.structured),
        "json_pass": json_pass,
        "value_accuracy": content * (equal / len(wanted) if wanted else 1.0),
        "faithfulness": content * (tokens / len(wanted) if wanted else 1.0),
        "path_recall": json_pass * (sides.shared / len(wanted) if wanted else 0.0),
        "structure_coverage": json_pass * sides.coverage,
        "type_safety": json_pass * (typed / len(found) if found else 0.0),
        "perfect": float(perfect),
        "required_key_recall": key_recall if sides.structured and schema.validator.valid_schema_draft7 else 0.0,
    }


def token_f1(gold: Json, value: Json) -> float:
    """F1 of the two multisets of words; 1 when neither has any, 0 when one has none.

    Null reads "null", true "true", numbers as JSON writes them (2.5 is two words).
    """
    if gold == value and type(gold) is type(value):
        return 1.0
    return bag_f1(*(words(one if isinstance(one, str) else canonical_json(one)) for one in (gold, value)))


def document_measures(sides: DocumentPair, gate: CoverageGate) -> dict[str, float]:
    """Return SOB's nine measures and DeepJSONEval's three."""
    return sob_measures(sides, gate) | deepjson_measures(sides)


NO_PATTERN: Final = "No markdown style JSON Pattern found"
NO_JSON: Final = "Not a invalid JSON"
NO_MATCH: Final = "JSON output doesn't match the schema"
SCORED: Final = "Give score in 3 criteria"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepJsonScore:
    """The published numbers of one answer, each in [0, 1], with the published note."""

    note: str
    format: int = 0
    detailed: float = 0.0
    strict: int = 0


def deepjson_measures(sides: DocumentPair) -> dict[str, float]:
    """Return the measures of one comparison by name."""
    if not sides.valid:
        return {"syntax": 0.0, "key_match": 0.0, "strict": 0.0}
    return {"syntax": 1.0, "key_match": key_match(sides.gold, sides.extracted), "strict": float(sides.equal)}


def key_match(gold: Json, value: Json | Missing) -> float:
    """Compare level by level, each key of a level weighing the same; a null gold never matches.

    Lists of objects go by index over the longer length, other lists by the Jaccard index of their sets; where these
    hold lists or objects (the published program raises), by that of their multisets of canonical JSON.
    """
    if isinstance(gold, dict) and isinstance(value, dict):
        if not gold:
            return 0.0 if value else 1.0
        scores = [key_match(own, value.get(name, MISSING)) for name, own in gold.items()]
        return sum(scores) / len(gold.keys() | value.keys())
    if not (isinstance(gold, list) and isinstance(value, list)):
        return float(gold is not None and gold == value)
    if not all(isinstance(row, dict) for row in gold):
        try:
            one, other = set(gold), set(value)
        except TypeError:
            ours, theirs = Counter(map(canonical_json, gold)), Counter(map(canonical_json, value))
            return (ours & theirs).total() / (ours | theirs).total()
        return len(one & other) / len(one | other)
    if not gold:
        return 0.0 if value else 1.0
    if not all(isinstance(row, dict) for row in value):
        return 0.0
    return sum(map(key_match, gold, value)) / max(len(gold), len(value))


def deepjson_text(model_output: object, gold: Json, schema: Json) -> DeepJsonScore:
    """Score a raw answer by the published protocol: the last ```json block or the bare text, not repaired."""
    if not isinstance(model_output, str):
        return DeepJsonScore(note=NO_PATTERN)
    block = model_output.rpartition("```json")[2].partition("```")[0]
    try:
        value = json.loads(block)
    except (ValueError, RecursionError):
        return DeepJsonScore(note=NO_JSON)
    measures = deepjson_measures(DocumentPair(gold, value, DocumentSchema(schema)))
    if not measures["syntax"]:
        return DeepJsonScore(note=NO_MATCH)
    return DeepJsonScore(format=1, detailed=measures["key_match"], strict=int(measures["strict"]), note=SCORED)


MOST_NODE_PAIRS: Final = 500_000
"""Pairs of nodes that take some seconds; each is a key or a value."""


class _Similarity(NamedTuple):
    """The similarities of the leaves of two values, added up, and how many leaves there are on either side."""

    total: float
    leaves: int

    @property
    def mean(self) -> float:
        """The mean similarity, 1.0 without a leaf."""
        return self.total / self.leaves if self.leaves else 1.0


def anls_star(gold: Json, extracted: Json) -> float:
    """Return ANLS*: the mean similarity of the leaves of both sides, lists paired best, none below one half.

    Source: Peer et al., arXiv 2402.03848. A value ten times too large costs next to nothing.
    """
    try:
        return _compared(gold, extracted).mean
    except RecursionError:  # nested hundreds of levels deep
        return 0.0


def _compared(gold: Json, extracted: Json) -> _Similarity:
    if isinstance(gold, dict) and isinstance(extracted, dict):
        parts = [_compared(gold.get(key), extracted.get(key)) for key in gold.keys() | extracted.keys()]
        free = sum(key not in gold and _is_nothing(extracted[key]) for key in extracted)  # counts, and earns nothing
        return _Similarity(sum(part.total for part in parts) - free, sum(part.leaves for part in parts))
    if isinstance(gold, list) and isinstance(extracted, list):
        from pytest_extract.core.engine.pairing import assign  # few ask for it

        table = [[_compared(one, other) for other in extracted] for one in gold]
        scores = [[cell.mean for cell in row] for row in table]
        for i, one in enumerate(gold):
            for j, other in enumerate(extracted):
                if one == other:  # first among those that are as similar
                    scores[i][j] = math.nextafter(scores[i][j], math.inf)
        pairs = assign(scores)
        left = {*range(len(gold))} - {i for i, _ in pairs}, {*range(len(extracted))} - {j for _, j in pairs}
        alone = sum(_size(gold[i]) for i in left[0]) + sum(_size(extracted[j]) for j in left[1])
        return _Similarity(sum(table[i][j].total for i, j in pairs), sum(table[i][j].leaves for i, j in pairs) + alone)
    most = max(_size(gold), _size(extracted))
    if gold is None:
        return _Similarity(float(_is_nothing(extracted)), most)
    if isinstance(gold, dict | list) or isinstance(extracted, dict | list) or extracted is None:
        return _Similarity(0.0, most)
    from rapidfuzz.distance import Levenshtein

    one, other = (" ".join(str(side).lower().split()) for side in (gold, extracted))
    similarity = Levenshtein.normalized_similarity(one, other)
    return _Similarity(similarity if similarity >= 0.5 else 0.0, most)


def _size(value: Json) -> int:
    if isinstance(value, dict | list):
        return sum(map(_size, value.values() if isinstance(value, dict) else value))
    return 1


def _is_nothing(value: Json) -> bool:
    return value is None or value in ({}, [], "")


class _Node(NamedTuple):
    """A node of a tree in postorder: a key, or the text of a leaf, and the place of the first node below it."""

    label: str
    first: int
    is_text: bool = False

    @property
    def cost(self) -> int:
        """What it costs to put the node in or take it out: the letters of a text, 1 for a key."""
        return len(self.label) if self.is_text else 1


def n_ted(gold: Json, extracted: Json) -> float:
    """Return 1 - tree edit distance / size of the gold, 0 at least; keys are nodes, values leaves by their letters.

    Source: Kim et al., arXiv 2111.15664, with the distance of Zhang and Shasha (1989). Raises ConfigError for trees of
    more than `MOST_NODE_PAIRS` pairs of nodes.
    """
    one, other = _tree(gold), _tree(extracted)
    if len(one) * len(other) > MOST_NODE_PAIRS:
        raise ConfigError(f"n_ted is for small documents: trees of {len(one):,} and {len(other):,} nodes take too long")
    whole = sum(node.cost for node in one[:-1])
    distance = _distance(one, other)
    return max(0.0, 1.0 - distance / whole) if whole else float(distance == 0)


def _tree(value: Json) -> list[_Node]:
    nodes: list[_Node] = []

    def walk(part: Json) -> None:
        for item in part if isinstance(part, list) else [part]:
            first = len(nodes)
            if isinstance(item, dict):
                for key in sorted(item, key=lambda key: (len(key), key)):
                    below = len(nodes)
                    walk(item[key])
                    if len(nodes) > below:  # nothing stands below an empty value
                        nodes.append(_Node(key, below))
                if item is not value and len(nodes) > first:  # the root stands for itself
                    nodes.append(_Node("", first))
            elif isinstance(item, list):
                walk(item)
            elif item is not None and str(item).strip():
                nodes.append(_Node(str(item).strip(), first, is_text=True))

    walk(value)
    return [*nodes, _Node("", 0)]


def _exchange(one: _Node, other: _Node) -> float:
    from rapidfuzz.distance import Levenshtein

    if one.is_text and other.is_text:
        return Levenshtein.distance(one.label, other.label)
    if one.is_text or other.is_text:
        return 1 + (one.cost if one.is_text else other.cost)
    return float(one.label != other.label)


def _distance(ours: Sequence[_Node], theirs: Sequence[_Node]) -> float:
    known: dict[tuple[int, int], float] = {}
    # where a subtree begins that shares its first node with no larger one
    roots = [sorted({node.first: place for place, node in enumerate(nodes)}.values()) for nodes in (ours, theirs)]
    for root, partner in product(*roots):
        low, start = ours[root].first, theirs[partner].first
        table = [[0.0] * (partner - start + 2) for _ in range(root - low + 2)]
        for x, one in enumerate(ours[low : root + 1], start=1):
            table[x][0] = table[x - 1][0] + one.cost
        for y, other in enumerate(theirs[start : partner + 1], start=1):
            table[0][y] = table[0][y - 1] + other.cost
        for x, one in enumerate(ours[low : root + 1], start=1):
            for y, other in enumerate(theirs[start : partner + 1], start=1):
                least = min(table[x - 1][y] + one.cost, table[x][y - 1] + other.cost)
                pair = low + x - 1, start + y - 1
                if one.first == low and other.first == start:
                    table[x][y] = known[pair] = min(least, table[x - 1][y - 1] + _exchange(one, other))
                else:
                    table[x][y] = min(least, table[one.first - low][other.first - start] + known[pair])
    return known[len(ours) - 1, len(theirs) - 1]


PAPER_MEASURES: Final[Mapping[str, Callable[[Json, Json], float]]] = {"anls_star": anls_star, "n_ted": n_ted}
