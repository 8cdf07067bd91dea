"""Calling extractors: the user's own (`call`), and the built-in one for `--extract-model` (`litellm`)."""
