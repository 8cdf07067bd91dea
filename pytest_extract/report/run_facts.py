"""The command, the git revision, the branch and the job of a run, for reports that leave their folder."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_extract.redact.secrets import current

_REVISION: Final = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GIT_COMMIT")
_BRANCH: Final = ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH", "CIRCLE_BRANCH")
_PATIENCE_S: Final = 10
_SHORT: Final = 12


def run_facts(root: Path, arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return name -> value: `command` without secrets; `revision`, `branch` and `job` (a link) as far as known."""
    command = shlex.join(["pytest", *map(str, arguments)])
    revision = _first(environment, _REVISION) or _git(root, "rev-parse", "HEAD")
    branch = _first(environment, _BRANCH) or _git(root, "rev-parse", "--abbrev-ref", "HEAD")
    changed = bool(revision) and bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
    facts = {
        "command": str(current().clean(command).value),
        "revision": f"{revision[:_SHORT]}{' and changes' if changed else ''}" if revision else "",
        "branch": "" if branch == "HEAD" else branch,
        "job": job_link(environment),
    }
    return {name: value for name, value in facts.items() if value}


def job_link(environment: Mapping[str, str] = os.environ) -> str:
    """Return the address of the CI job that runs this; empty where none is known."""
    parts = [environment.get(name) for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    if all(parts):
        return "{}/{}/actions/runs/{}".format(*parts)
    return environment.get("CI_PIPELINE_URL", "")


def repository_root(root: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder that a CI service checked the repository out to, by default `root`."""
    return Path(_first(environment, ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")) or root)


def written_now() -> str:
    """Say when and by what version a report is written."""
    from datetime import UTC, datetime
    from importlib.metadata import version

    return f"{datetime.now(tz=UTC):%Y-%m-%d %H:%M} UTC, pytest-extract {version('pytest-extract')}"


def _first(environment: Mapping[str, str], names: Sequence[str]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints; empty without git or outside of a repository."""
    try:
        done = subprocess.run(  # noqa: S603
            ["git", "-C", str(root), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
