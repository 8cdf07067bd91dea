"""Measures of one output, and the one table of their names, ranges and formulas (`table`)."""
