"""The manual, as Markdown beside the code; every example in it is run by the tests."""
