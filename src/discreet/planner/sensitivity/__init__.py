"""Sensitivity: how far one privacy unit can move the exact integers of a query, under its contribution bounds."""
