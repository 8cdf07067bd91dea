"""Rules across the fields of one document: `sum(items[].total) == total`, `start <= end`.

`syntax` reads the text of a rule, `expressions` finds its fields in the schema and computes with them, `values` says
how values are read and compared, and `rule_set` holds the compiled rules of a schema.
"""
