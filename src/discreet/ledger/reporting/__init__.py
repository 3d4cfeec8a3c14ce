"""Reporting: what was spent of a budget, in every accountant's terms."""
