"""Equivalence classes of quasi-identifiers: counted by one GROUP BY in the engine, then measured in exact integers."""
