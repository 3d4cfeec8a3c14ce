"""Value generalisation hierarchies: what the values of a column become, level by level, up to `*`."""

from discreet.anonymity.generalisation.hierarchies.arx import from_arx
from discreet.anonymity.generalisation.hierarchies.base import ValueHierarchy
from discreet.anonymity.generalisation.hierarchies.calendar_dates import dates
from discreet.anonymity.generalisation.hierarchies.category_tree import categories
from discreet.anonymity.generalisation.hierarchies.masking import mask
from discreet.anonymity.generalisation.hierarchies.numeric import digits, intervals

__all__ = [
    "ValueHierarchy",
    "categories",
    "dates",
    "digits",
    "from_arx",
    "intervals",
    "mask",
]
