"""pytest-extract."""
