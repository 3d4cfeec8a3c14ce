"""SQL as a language for queries: sqlglot parses, an allow-list translates, and everything else is refused.

A statement becomes the same queries that `dp.table(...)` builds, so it has their plans, costs and fingerprints. Nothing
here knows a connection: names are resolved against the catalog, and a session releases the queries. What follows the
aggregates (arithmetic, HAVING, ORDER BY, LIMIT) is post-processing of noisy numbers.
"""
