"""What changed since a revision of git: which inputs of a case, and which sources of its extractor, differ.

`selection` decides which cases have to be called again (`--extract-changed`), by the inputs that `git_tree` reads at a
revision and by the sources that `extractor_sources` follows. Only `git_tree` calls git. Nothing here imports pytest.
"""
