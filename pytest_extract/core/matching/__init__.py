"""Which rows of two lists belong together. Knows columns of values and metrics, neither schemas nor plans."""
