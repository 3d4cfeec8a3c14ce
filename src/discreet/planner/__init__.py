"""The planner: from a logical plan to a private plan, by public facts alone. It never sees data.

It resolves names (`resolve`), bounds what one unit changes (`sensitivity`), divides the budget (`budget`) and builds
one private plan for each kind of query (`queries`). `registry` is the list of kinds.
"""
