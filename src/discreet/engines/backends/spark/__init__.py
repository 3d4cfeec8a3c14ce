"""Spark: the engine, and which plans, expressions and readers of a DataFrame are admitted."""
