"""Synthesis: private synthetic tables from noisy marginals.

The contract, which every synthesizer keeps: slots of columns, candidate marginals and the whole cost are public before
a row is read; a synthesizer receives noisy marginals and private choices, and nothing else.
"""
