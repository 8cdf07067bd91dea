"""Tools over schemas and golds: infer, resolve, annotate, validate; pure functions of JSON values."""
