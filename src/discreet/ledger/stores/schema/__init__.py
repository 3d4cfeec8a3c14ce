"""The schema of a ledger, described once and rendered for SQLite and for PostgreSQL.

`tables` has the tables and indexes, `rules` what triggers refuse, `rights` what each role of PostgreSQL may do.
"""
