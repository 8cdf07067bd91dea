"""Rules across the fields of one document: `sum(items[].total) == total`, `start <= end`.

`syntax` reads the text of a rule, `operands` the values of fields, `evaluate` computes both sides, and `rule_set` holds
the compiled rules of a schema.
"""
