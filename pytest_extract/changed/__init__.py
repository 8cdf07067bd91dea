"""What changed since a revision of git: which inputs of a case, and which sources of its extractor, differ.

`inputs` decides which cases have to be called again (`--extract-changed`), by what `git_tree` reads at a revision. Only
`git_tree` calls git. Nothing here imports pytest.
"""
