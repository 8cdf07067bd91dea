"""JSON Schema with either annotation dialect as a frozen tree, local references followed."""
