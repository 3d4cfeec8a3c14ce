"""Generalisation: hierarchies of values, recoding of files, and the search for the recoding of least loss."""
