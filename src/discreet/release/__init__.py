"""Releases: what leaves a session, with confidence intervals, its guarantee in words, and a receipt."""
