"""Results as text, Markdown, HTML and CSV: the diff of a case, the summary of a run, the report of a gate."""
