"""Stored outputs that stand in for calls of the extractor."""
