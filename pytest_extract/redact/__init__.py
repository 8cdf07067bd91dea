"""Redaction of secrets in files and logs: `formats` for data, `patterns` for messages."""
