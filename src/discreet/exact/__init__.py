"""Exact numbers: what people type as rationals, and directed rounding where a real number has to be held.

`numbers` reads and shows rationals; `rounding` gives numbers on a stated side of a real number.
"""
