"""Sensitivity audits: on neighbouring datasets, exact answers differ by at most what was stated."""
