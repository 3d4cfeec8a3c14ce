"""Linkage: what a file reveals beside other data about the same people."""
