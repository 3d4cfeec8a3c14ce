"""Gradient boosting with random splits: trees of public leaves, and noisy Newton sums of their rows."""
