"""Many queries at once: ranges, hierarchies and streams, as mathematics of public facts.

Nothing here reads data or draws noise for a table: a workload is what will be asked, a strategy is what is measured for
it, and the expected error of each is known in closed form, so that the best is chosen before anything is charged.
"""
