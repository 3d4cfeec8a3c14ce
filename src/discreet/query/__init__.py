"""Queries, as people write them: `dp.table("visits").group_by("ward").agg(n=dp.count())`.

Calls build logical plans. They know no connection and no catalog; a session gives them meaning.
"""
