"""Backends: one engine each. A driver is imported by its backend alone."""
