"""Graphical models of tables: marginals are measured where the model is worst, and joined by a junction tree."""
