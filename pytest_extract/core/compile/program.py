"""Schema nodes -> compiled plan. Every configuration mistake ends here, before any document is looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from pytest_extract.core.compile.bind import Binder, JudgeMode
from pytest_extract.core.compile.build import Builder
from pytest_extract.core.compile.nodes import Program
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.pattern import ROOT, usual
from pytest_extract.core.schema.annotations import Annotation, MetricUse, parse_override, parse_post
from pytest_extract.core.schema.conformance import Conformance
from pytest_extract.core.schema.tree import Schema, SchemaNode
from pytest_extract.core.semantics import EXTRACT_BENCH, OURS, SEMANTICS, STRUCT_EXTRACT_EVAL, Semantics
from pytest_extract.core.values import Json
from pytest_extract.errors import SchemaError, SchemaErrors, nearest

IN_OVERRIDES: Final = "overrides:"
"""Starts the `where` of what stands in a case's overrides; a JSON pointer never does."""
IN_POST: Final = "post_process:"
"""Starts the `where` of what stands in a case's `post_process`."""


class _Problems:
    """Configuration mistakes, each told once."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str | None, int | None, str], SchemaError] = {}

    def add(self, error: SchemaError) -> None:
        self.found.setdefault((error.pointer, error.override, error.post, error.message), error)

    def report(self, message: str, where: str) -> None:
        if where.startswith(IN_OVERRIDES):
            self.add(SchemaError(message, override=where.removeprefix(IN_OVERRIDES).split("\n")[0]))
        elif where.startswith(IN_POST):
            self.add(SchemaError(message, post=int(where.removeprefix(IN_POST).strip("/"))))
        else:
            self.add(SchemaError(message, pointer=where))

    def stop_if_any(self) -> None:
        errors = sorted(self.found.values(), key=lambda error: error.override is not None)
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise SchemaErrors(errors)


def compile_nodes(
    document: Json,
    *,
    semantics: str | None = None,
    nulls: Literal["absent", "value"] | None = None,
    overrides: Mapping[str, Json] | None = None,
    extensions: Extensions | None = None,
    judge_mode: JudgeMode = "llm",
    post: Json = None,
) -> Program:
    """Compile a JSON Schema for scoring; raises SchemaError, or SchemaErrors with all mistakes at once."""
    problems = _Problems()
    schema = Schema(document)
    nodes = [node for _, node in schema.walk()]
    root = schema.node(schema.root).annotation
    for error in (*schema.problems, *_misplaced(schema, nodes)):
        problems.add(error)
    chosen = _semantics(schema, semantics, problems)
    said = _overrides(overrides or {}, problems)
    over_root = said[ROOT].over(root) if ROOT in said else root
    nulls = nulls or (over_root.nulls if over_root is not None else None)
    chosen = replace(chosen, nulls=nulls) if nulls is not None else chosen
    binder = Binder(chosen, extensions or Extensions(), judge_mode)
    for annotation in filter(None, (*(node.annotation for node in nodes), *said.values())):
        _check_names(annotation, binder, problems)
    builder = Builder(schema, chosen, binder, said, problems.report)
    plan = builder.build(schema.root, ROOT)
    _check_patterns(said, builder, problems)
    uses = _post(post, problems) + (over_root.post or () if over_root is not None else ())
    posts = tuple(found for use in uses if (found := binder.post(use, problems.report)) is not None)
    problems.stop_if_any()
    return Program(
        root=plan,
        semantics=chosen,
        patterns=dict(builder.patterns),
        judged=builder.judged,
        judges=binder.judges,
        posts=posts,
        fits=Conformance(schema),
    )


def _misplaced(schema: Schema, nodes: Sequence[SchemaNode]) -> Iterator[SchemaError]:
    """Yield what only the root may say, and another place says."""
    root = schema.node(schema.root).pointer
    for node in nodes:
        if node.pointer != root:
            yield from (SchemaError(message, pointer=node.pointer) for message in _for_the_root(node.annotation))


def _for_the_root(said: Annotation | None) -> Iterator[str]:
    """Yield what is wrong with a configuration at any other place than the root."""
    for name in ("nulls", "post"):
        if said is not None and getattr(said, name) is not None:
            yield f"`{name}` holds for the whole document: it stands at the root only"


def _check_names(annotation: Annotation, binder: Binder, problems: _Problems) -> None:
    """Bind a configuration for its mistakes only, wherever in the schema it stands."""
    binder.with_transforms(binder.checks(annotation, problems.report), annotation, problems.report)
    if annotation.align is not None:
        binder.align(annotation.align, problems.report)


def _semantics(schema: Schema, name: str | None, problems: _Problems) -> Semantics:
    """Return the semantics asked for, or the one that the schema's dialect stands for."""
    if name is not None:
        if name in tuple(SEMANTICS):  # a list as name has no hash
            return SEMANTICS[name]
        problems.add(SchemaError(f"no semantics {name!r}{nearest(name, SEMANTICS)}"))
        return OURS
    dialects = schema.dialects()
    if len(dialects) > 1:
        both = "the schema holds both `evaluation_config` and `x-eval-*`"
        problems.add(SchemaError(f"{both}; say which `semantics` to score with: {', '.join(SEMANTICS)}"))
    if "evaluation_config" in dialects:
        return EXTRACT_BENCH
    return STRUCT_EXTRACT_EVAL if dialects else OURS


def _overrides(overrides: Mapping[str, Json], problems: _Problems) -> dict[str, Annotation]:
    found: dict[str, Annotation] = {}
    for text, value in overrides.items():

        def report(message: str, path: str, text: str = text) -> None:
            del path
            problems.add(SchemaError(message, override=text))

        said = parse_override(value, report)
        pattern = usual(str(text))
        if pattern in found:
            report(f"says the same place twice: {pattern}", "")
        for message in () if pattern == ROOT else _for_the_root(said):
            report(message, "")
        if said is not None:
            found[pattern] = said.at(f"{IN_OVERRIDES}{text}\n")
    return found


def _check_patterns(said: Mapping[str, Annotation], builder: Builder, problems: _Problems) -> None:
    """Every override must mean a place; a recursive schema is opened as far as the pattern goes."""
    for pattern in said:
        if not builder.reach(pattern):
            hint = nearest(pattern, builder.patterns)
            problems.add(SchemaError(f"the schema has no field {pattern!r}{hint}", override=pattern))


def _post(value: Json, problems: _Problems) -> tuple[MetricUse, ...]:
    if value is None:
        return ()
    uses = parse_post(value, lambda message, path: problems.report(message, IN_POST + path))
    return tuple(replace(use, where=IN_POST + use.where) for use in uses)
