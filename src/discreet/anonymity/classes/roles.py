"""Roles of columns: a quasi-identifier, a sensitive column and the column of persons are different columns."""

from collections.abc import Sequence

from discreet.errors import ParameterError


def require_hidden_persons(quasi: Sequence[str], person: str | None) -> None:
    """Refuse the column of persons as a quasi-identifier: nobody publishes it."""
    if person in quasi:
        raise ParameterError(
            f"the quasi-identifier {person!r}, which is the column of persons too",
            because="the column of persons is never published",
            instead=f"quasi-identifiers without {person!r}",
        )


def require_roles(quasi: Sequence[str], sensitive: Sequence[str], person: str | None) -> None:
    """Refuse a sensitive column that has a second role: its values would be known, or name people."""
    for name in sensitive:
        if name in quasi or name == person:
            role = "a quasi-identifier" if name in quasi else "the column of persons"
            raise ParameterError(
                f"the sensitive column {name!r}, which is {role} too",
                because="each column has one role",
                instead=f"sensitive={[each for each in sensitive if each not in quasi and each != person]!r}",
            )
