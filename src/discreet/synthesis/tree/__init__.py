"""The tree synthesizer: one-way marginals, a spanning tree of pairs that is chosen privately, and their marginals."""
