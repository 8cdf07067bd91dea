"""From a schema tree to a plan: names resolved, parameters checked, weights fixed. Configuration mistakes end here."""
