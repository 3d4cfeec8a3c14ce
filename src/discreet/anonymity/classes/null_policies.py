"""Policies for missing cells: a value, a wildcard, or rows that are left out."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from discreet.errors import ParameterError

NullPolicy = Literal["value", "wildcard", "exclude"]
NULL_POLICIES: tuple[str, ...] = get_args(NullPolicy)
NULL_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "value": "a missing cell counts as a value",
        "wildcard": "a missing cell matches every value",
        "exclude": "rows with a missing cell are left out",
    }
)


def require_policy(nulls: object) -> None:
    """Refuse what is not a policy, before a row is read."""
    if nulls not in NULL_POLICIES:
        raise ParameterError(
            f"nulls={nulls!r}",
            because="a missing cell is a value, a wildcard, or excludes its row",
            instead='nulls="value"',
        )
