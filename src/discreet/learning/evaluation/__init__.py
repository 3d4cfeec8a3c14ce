"""Evaluation and selection of models: noisy histograms of scores, hold-out, cross-validation, search."""
