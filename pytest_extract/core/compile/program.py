"""A JSON Schema -> a compiled schema. Every configuration mistake ends here, before any document is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal

from pytest_extract.core.compile.bind import Binder, JudgeMode
from pytest_extract.core.compile.compiler import Compiler
from pytest_extract.core.compile.nodes import Program
from pytest_extract.core.extensions import Extensions
from pytest_extract.core.pattern import ROOT, usual
from pytest_extract.core.schema.annotations import Annotation, parse_override, parse_post
from pytest_extract.core.schema.conformance import Conformance
from pytest_extract.core.schema.looks import too_many_looks
from pytest_extract.core.schema.spelling import misspelled_keys
from pytest_extract.core.schema.tree import Schema
from pytest_extract.core.semantics import DEFAULT, EXTRACT_BENCH, SEMANTICS, STRUCT_EXTRACT_EVAL, Semantics
from pytest_extract.core.values import Json, short_repr
from pytest_extract.errors import SchemaError, SchemaErrors, nearest

IN_OVERRIDES: Final = "overrides:"
"""Starts the place of a part of a case's overrides; a JSON pointer never does."""
IN_POST: Final = "post_process:"
"""Starts the place of a part of a case's `post_process`."""


class _Problems:
    """Configuration mistakes, each listed once."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str | None, int | None, str], SchemaError] = {}

    def add(self, *errors: SchemaError) -> None:
        for error in errors:
            self.found.setdefault((error.pointer, error.override, error.post, error.message), error)

    def report(self, message: str, where: str = "") -> None:
        if where.startswith(IN_OVERRIDES):
            self.add(SchemaError(message, override=where.removeprefix(IN_OVERRIDES).split("\n")[0]))
        elif where.startswith(IN_POST):
            self.add(SchemaError(message, post=int(where.removeprefix(IN_POST).strip("/"))))
        else:
            self.add(SchemaError(message, pointer=where))


def compile_program(
    document: Json,
    *,
    semantics: str | None = None,
    nulls: Literal["absent", "value"] | None = None,
    overrides: Mapping[str, Json] | None = None,
    extensions: Extensions | None = None,
    judge_mode: JudgeMode = "llm",
    post: Json = None,
    as_published: bool = False,
) -> Program:
    """Compile a JSON Schema for scoring; raises SchemaError, or SchemaErrors with all mistakes at once.

    `as_published`: results are those of the published system that `semantics` names, also where that leaves out what
    would count here.
    """
    endless = too_many_looks(document)
    if endless is not None:
        raise endless
    problems = _Problems()
    problems.add(*misspelled_keys(document, as_published=as_published))
    schema = Schema(document)
    configured = schema.annotated()
    root = schema.node(schema.root)
    for node in configured:
        if node.pointer != root.pointer:
            _report_root_only(node.annotation, node.pointer, problems)
    chosen = _semantics(schema, semantics, problems)
    by_pattern = _overrides(overrides or {}, problems)
    of_root = by_pattern[ROOT].over(root.annotation) if ROOT in by_pattern else root.annotation
    nulls = nulls or (of_root.nulls if of_root is not None else None)
    chosen = replace(chosen, nulls=nulls) if nulls is not None else chosen
    binder = Binder(chosen, extensions or Extensions(), judge_mode)
    for annotation in (*(node.annotation for node in configured), *by_pattern.values()):
        if annotation is not None:  # names are bound for their mistakes, wherever in the schema they are
            binder.metrics(annotation, problems.report)
            if annotation.align is not None:
                binder.align(annotation.align, problems.report)
    compiler = Compiler(schema, chosen, binder, by_pattern, problems.report, as_published=as_published)
    compiled = compiler.compile(schema.root)
    problems.add(*schema.problems)
    for pattern in by_pattern:
        if not compiler.has_place(pattern):
            hint = nearest(pattern, compiler.patterns)
            problems.report(f"the schema has no field {pattern!r}{hint}", IN_OVERRIDES + pattern)
    uses = () if post is None else parse_post(post, IN_POST, problems.report)
    uses += (of_root.post or ()) if of_root is not None else ()
    bound = [binder.post_processor(use, problems.report) for use in uses]
    errors = sorted(problems.found.values(), key=lambda error: error.override is not None)
    if errors:
        raise errors[0] if len(errors) == 1 else SchemaErrors(errors)
    return Program(
        root=compiled,
        semantics=chosen,
        patterns=dict(compiler.patterns),
        added=tuple(compiler.added),
        judged=compiler.judged,
        judges=binder.judges,
        post_processors=tuple(post_processor for post_processor in bound if post_processor is not None),
        fits=Conformance(schema),
    )


def _report_root_only(annotation: Annotation | None, where: str, problems: _Problems) -> None:
    """Say what is wrong with a configuration at any other place than the root."""
    for name in ("nulls", "post"):
        if annotation is not None and getattr(annotation, name) is not None:
            problems.report(f"`{name}` holds for the whole document: it stands at the root only", where)


def _semantics(schema: Schema, name: str | None, problems: _Problems) -> Semantics:
    """Return the semantics asked for, or those of the schema's dialect."""
    if name is not None:
        if name in tuple(SEMANTICS):  # a list as name has no hash
            return SEMANTICS[name]
        problems.report(f"no semantics {short_repr(name)}{nearest(name, SEMANTICS)}")
        return DEFAULT
    dialects = schema.dialects()
    if len(dialects) > 1:
        both = "the schema holds both `evaluation_config` and `x-eval-*`"
        problems.report(f"{both}; say which `semantics` to score with: {', '.join(SEMANTICS)}")
    if "evaluation_config" in dialects:
        return EXTRACT_BENCH
    return STRUCT_EXTRACT_EVAL if dialects else DEFAULT


def _overrides(overrides: Mapping[str, Json], problems: _Problems) -> dict[str, Annotation]:
    """Return a case's overrides by pattern, in the spelling of results."""
    found: dict[str, Annotation] = {}
    for text, value in overrides.items():
        where = f"{IN_OVERRIDES}{text}\n"
        annotation = parse_override(value, where, problems.report)
        pattern = usual(str(text))
        if pattern in found:
            problems.report(f"says the same place twice: {pattern}", where)
        if pattern != ROOT:
            _report_root_only(annotation, where, problems)
        if annotation is not None:
            found[pattern] = annotation
    return found
