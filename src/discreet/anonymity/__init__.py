"""Anonymity: how many people a file without names singles out, and what generalising it would cost.

Everything here reads rows exactly, nothing is charged and nothing is differentially private: every result is stamped
for the owners of the data. Persons are counted, not rows; a missing cell is a value unless the caller states another
policy. k-anonymity, l-diversity and t-closeness are measured because people ask for them. None of them limits what a
release reveals together with other releases or background knowledge; a differentially private release does.
"""
