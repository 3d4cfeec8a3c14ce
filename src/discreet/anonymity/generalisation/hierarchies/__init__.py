"""Hierarchies: how a value becomes coarser level by level, by a rule or from a file."""
