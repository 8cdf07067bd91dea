from __future__ import annotations

import subprocess

import pytest

from tests.commands import write


@pytest.fixture
def git(tmp_path):
    """Run git in a new repository at `repo`; `git.commit(files)` writes files there and commits all that has changed."""
    root = (tmp_path / "repo").resolve()
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]

    def git(*arguments):
        command = ["git", "-C", str(root), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def commit(files=None):
        write(files or {}, root)
        git("add", ".")
        git("commit", "-qm", "change")

    root.mkdir()
    git("init", "-q")
    git.root, git.commit = root, commit
    return git
