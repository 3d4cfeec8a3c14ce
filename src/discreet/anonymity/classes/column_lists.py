"""Names and lists of columns as callers give them, checked before a row is read."""

from collections.abc import Sequence

from discreet.errors import ParameterError


def names_of(names: object, word: str, *, least: int = 1) -> tuple[str, ...]:
    """Distinct names of columns; a lone text is not a list."""
    found: tuple[object, ...] = tuple(names) if isinstance(names, list | tuple) else ()
    texts = tuple(name for name in found if isinstance(name, str))
    if not isinstance(names, list | tuple) or len(texts) < least or len(set(texts)) != len(found):
        meant = [names] if isinstance(names, str) else list(dict.fromkeys(texts)) or ["zip"]
        raise ParameterError(
            f"{word}={names!r}", because="columns are given as a list of distinct names", instead=f"{word}={meant!r}"
        )
    return texts


def one_column(name: object, word: str, *, example: str) -> None:
    """Refuse what is not the name of one column, a list among them."""
    if isinstance(name, str):
        return
    one = next(iter(name), None) if isinstance(name, Sequence) else None
    raise ParameterError(
        f"{word}={name!r}",
        because="it is the name of one column",
        instead=f"{word}={one!r}" if isinstance(one, str) else f"{word}={example}",
    )
