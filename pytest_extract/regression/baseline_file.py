"""Reading and writing the baseline file: atomically, only from a run that completed, and not in CI unless forced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_extract.core.case_result import CaseResult, Outcome
from pytest_extract.errors import StoreError
from pytest_extract.files import MOST_BULK_BYTES, read_regular_text, write_atomic
from pytest_extract.regression.baseline import Baseline, dump_baseline, load_baseline, updated_baseline
from pytest_extract.regression.snapshots import snapshot

CI: Final = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "BUILDKITE", "TF_BUILD", "JENKINS_URL", "TEAMCITY_VERSION")
_OFF: Final = frozenset({"", "0", "false", "no", "off"})


def read_baseline(path: Path) -> Baseline:
    """Read a baseline. Raises StoreError with the path: not there, unreadable, none, another version, damaged."""
    try:
        baseline = load_baseline(read_regular_text(path, MOST_BULK_BYTES))
    except FileNotFoundError as error:
        raise StoreError(f"{path}: no such baseline; write one with --extract-update-baseline") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error
    if baseline is None:
        raise StoreError(
            f"{path}: not a baseline, or a damaged one (a merge conflict?); "
            "remove it and write it anew with --extract-update-baseline"
        )
    return baseline


def in_ci(environment: Mapping[str, str]) -> bool:
    """Whether the environment is one of a CI service (`CI` and the like set, and not to `false`)."""
    return any(environment.get(name, "").lower() not in _OFF for name in CI)


def refusal(results: Sequence[CaseResult], *, completed: bool, ci: bool, force: bool) -> str | None:
    """Return why these results must not become the baseline, or None.

    `completed`: every selected case had its turn (not interrupted, no `-x`, no worker lost). `force` lifts the refusal
    in CI, and no other.
    """
    if not completed:
        return "the run did not complete, so its results are not a baseline"
    if not results:
        return "no case was run, so there is nothing to store"
    waiting = [result.nodeid for result in results if result.outcome is Outcome.NOT_RUN]
    if waiting:
        return f"{len(waiting)} of {len(results)} cases were not run (first: {waiting[0]}), so the run is not complete"
    if all(result.outcome is Outcome.BROKEN for result in results):
        return "every case broke, so there is nothing to store"
    if ci and not force:
        return "a baseline is not written in CI: write it where its diff is reviewed, or force it"
    return None


def update_baseline(
    path: Path,
    results: Sequence[CaseResult],
    *,
    completed: bool,
    ci: bool,
    force: bool = False,
    gone: Iterable[str] = (),
    keep_runs: int | None = None,
) -> Baseline:
    """Write the results into the baseline at `path` and return it; cases that were not selected keep their entry.

    `gone` and `keep_runs` as in `updated_baseline`. Raises StoreError where it is refused (see `refusal`), or cannot be
    written.
    """
    why = refusal(results, completed=completed, ci=ci, force=force)
    if why:
        raise StoreError(f"{path}: baseline not written: {why}")
    old = read_baseline(path) if path.exists() else None
    baseline = updated_baseline(old, snapshot(results), gone=gone, keep_runs=keep_runs)
    write_atomic(path, dump_baseline(baseline))
    return baseline
