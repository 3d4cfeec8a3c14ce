"""Two-level synthetic tables: persons, and the visits of each."""
