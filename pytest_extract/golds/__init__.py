"""Making and keeping golds: changes that outputs propose, drafts, reviews, and what golds leave untested."""
