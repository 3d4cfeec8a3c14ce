"""Records: what the ledger stores, as values with one canonical text each."""
