"""The catalog: public facts about tables that their owner declares. It never depends on the data.

Columns with their types and bounds, the privacy unit with its contribution bounds, and time slices.
"""
