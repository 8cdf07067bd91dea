"""Regular expressions that are matched in time linear in the text."""
