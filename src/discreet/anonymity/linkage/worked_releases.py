"""The tables of two hospitals that treated the same person, as each published them.

The first is 4-anonymous and the second 6-anonymous on ZIP code, age and nationality. The structure is that of Ganta,
Kasiviswanathan and Smith (Composition Attacks and Auxiliary Information in Data Privacy, KDD 2008, figure 1).
"""

from typing import Any, Final

QUASI: Final = ("zip_code", "age", "nationality")
SENSITIVE: Final = "condition"

_FIRST: Final = {
    "under 30": ["tuberculosis", "heart disease", "asthma", "asthma"],
    "30 to 39": ["cancer", "cancer", "cancer", "cancer"],
    "40 or over": ["cancer", "heart disease", "asthma", "asthma"],
}
_SECOND: Final = {
    "under 35": ["tuberculosis", "diabetes", "diabetes", "cancer", "cancer", "diabetes"],
    "35 or over": ["cancer", "cancer", "cancer", "diabetes", "asthma", "asthma"],
}


def _columns(conditions: dict[str, list[str]]) -> dict[str, list[Any]]:
    ages = [age for age, each in conditions.items() for _ in each]
    return {
        "zip_code": ["130**"] * len(ages),
        "age": ages,
        "nationality": ["*"] * len(ages),
        SENSITIVE: [condition for each in conditions.values() for condition in each],
    }


HOSPITALS: Final = {"first hospital": _columns(_FIRST), "second hospital": _columns(_SECOND)}
TARGET: Final = {
    "first hospital": {"zip_code": "130**", "age": "under 30", "nationality": "*"},
    "second hospital": {"zip_code": "130**", "age": "under 35", "nationality": "*"},
}
