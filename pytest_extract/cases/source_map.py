"""Where each value of a JSON or YAML text begins and ends."""

from __future__ import annotations

from typing import Any, NamedTuple

from pytest_extract.cases.json_text import value_spans
from pytest_extract.cases.source_position import Steps
from pytest_extract.cases.sources import SourceFile
from pytest_extract.cases.yaml_text import events_of, pyyaml
from pytest_extract.core.values import Step


class TextRange(NamedTuple):
    """Offsets of a value in its text, the end exclusive, and the column (from 0) where it begins.

    `entry`: where what holds the value begins, the key of a YAML mapping; the value itself elsewhere.
    """

    start: int
    end: int
    column: int
    entry: int


def ranges_of(source: SourceFile) -> dict[Steps, TextRange]:
    """Return the span of every value of a source; what stands behind a YAML alias has none."""
    if source.language == "yaml":
        return _yaml_spans(source.text)
    text = source.text
    return {
        steps: TextRange(start, end, start - (text.rfind("\n", 0, start) + 1), start)
        for steps, start, end in value_spans(text)
    }


class _Frame:
    """A container that is being walked: its place, and the key or index whose value comes next."""

    def __init__(self, steps: Steps, event: Any, step: Step | None, entry: int) -> None:
        self.steps = steps
        self.begin = event.start_mark
        self.flow = event.flow_style
        self.step = step
        self.end: int = event.end_mark.index
        self.entry = entry
        self.key: int | None = None

    def value_ends(self, at: int) -> None:
        """Say that a value has ended: a mapping waits for its next key, a list for its next item."""
        self.end = max(self.end, at)
        self.step = self.step + 1 if isinstance(self.step, int) else None


def _yaml_spans(text: str) -> dict[Steps, TextRange]:
    events = pyyaml().events
    spans: dict[Steps, TextRange] = {}
    frames: list[_Frame] = []
    event: Any
    for event in events_of(text):
        kind = event.__class__
        if kind in (events.MappingEndEvent, events.SequenceEndEvent):
            frame = frames.pop()
            # a block collection's own end mark stands behind the comments and blank lines that follow it
            end = event.end_mark.index if frame.flow else frame.end
            spans[frame.steps] = TextRange(frame.begin.index, end, frame.begin.column, frame.entry)
        elif kind in (events.MappingStartEvent, events.SequenceStartEvent):
            is_mapping = kind is events.MappingStartEvent
            entry = _entry(frames, event.start_mark.index)
            frames.append(_Frame(_next_steps(frames), event, None if is_mapping else 0, entry))
            continue
        elif kind not in (events.ScalarEvent, events.AliasEvent):
            continue
        elif frames and frames[-1].step is None:
            frames[-1].step = event.value if kind is events.ScalarEvent else event.anchor
            frames[-1].end = event.end_mark.index
            frames[-1].key = event.start_mark.index
            continue
        else:
            start, end = event.start_mark.index, event.end_mark.index
            end = start + len(text[start:end].rstrip())
            spans[_next_steps(frames)] = TextRange(start, end, event.start_mark.column, _entry(frames, start))
        if frames:
            frames[-1].value_ends(end)
    return spans


def _next_steps(frames: list[_Frame]) -> Steps:
    if not frames:
        return ()
    step = frames[-1].step
    return (*frames[-1].steps, 0 if step is None else step)


def _entry(frames: list[_Frame], start: int) -> int:
    """Return where the key of the next value begins, or the value that has none."""
    key = frames[-1].key if frames and not isinstance(frames[-1].step, int) else None
    return start if key is None else key
