"""Rules across the fields of one document: `sum(items[].total) == total`, `start <= end`.

`syntax` reads the text of a rule, `rule_set` finds its fields in the schema and computes with them, and `values` says
how values are read and compared.
"""
