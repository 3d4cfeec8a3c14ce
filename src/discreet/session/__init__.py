"""Sessions: the only place that releases.

Explaining is free. A query is charged before data is read, and its answer is stored once.
"""

from discreet.session.session import Session, protect

__all__ = ["Session", "protect"]
