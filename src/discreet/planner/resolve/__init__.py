"""Resolving: names become typed columns and terms, aggregates become integer measures, or the query is refused."""
