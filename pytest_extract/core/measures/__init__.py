"""core/measures."""
