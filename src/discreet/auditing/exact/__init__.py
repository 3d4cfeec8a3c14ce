"""Exact audits: probabilities are compared with a claim by rational intervals."""
