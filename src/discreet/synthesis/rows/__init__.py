"""Rows from models: whole numbers in every cell, values for slots, and constraints that are public knowledge."""
