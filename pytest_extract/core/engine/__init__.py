"""Walks plan, gold and output: field and leaf results, pairings, and the questions that only a judge can answer."""
