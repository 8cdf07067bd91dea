"""Exact statistics of paired pass and fail, for the gate."""
