"""Stores: the databases that a ledger is kept in, behind one protocol."""
