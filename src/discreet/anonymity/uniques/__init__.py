"""Uniques: who is alone in the sample, on which columns, and how likely they are alone in the population."""
