"""schema_tools."""
