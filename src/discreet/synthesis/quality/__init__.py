"""Quality of synthetic tables: distances of marginals, from public noisy ones and, for owners, from the data."""
