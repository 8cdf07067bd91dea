"""Case files from the published datasets' own files: one module a dataset."""
