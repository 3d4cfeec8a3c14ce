"""The schema of a ledger on PostgreSQL: plain SQL files, one for each version, each run whole or not at all."""
