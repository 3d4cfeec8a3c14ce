"""Plans: what was asked (`logical`) and what an engine computes for it (`physical`).

Both are frozen values. They know no data, no connection and no budget.
"""
