"""Answers to queries from a released synthetic table: estimates of its model, with intervals where they are proved."""
