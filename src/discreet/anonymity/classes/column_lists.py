"""Lists of columns as callers give them, checked before a row is read."""

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
