"""The core: scoring of one JSON value against another. Pure: no files, no network, no pytest, no model."""
