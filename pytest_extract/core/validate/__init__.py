"""Whether a value satisfies its schema, and the places where it does not."""
