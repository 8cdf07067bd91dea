"""From a model's text to a JSON value, or to what is wrong with it and where."""
