"""Case files: from YAML, JSON and JSONL text to checked, frozen cases; every mistake with file, line and column.

Reads files, knows neither pytest nor models. Nothing here reads a document.
"""
