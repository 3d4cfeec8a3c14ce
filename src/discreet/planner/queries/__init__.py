"""Kinds of queries: each module plans one kind, and says what is pushed down, what is drawn and what is charged."""
