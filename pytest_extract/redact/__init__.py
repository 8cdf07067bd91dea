"""Keeps what looks like a secret out of files and logs."""
