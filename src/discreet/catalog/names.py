"""Names of tables and columns: readable, and not to be taken for one another."""

import unicodedata
from collections.abc import Iterable

from discreet.catalog.privacy_unit import ROW
from discreet.errors import CatalogError

_LOOKALIKES = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u04bb\u0501"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u0131",
    "abekmhopctyxsijhdabezhikmnoptyxi",
)


def check_names(names: Iterable[str], what: str) -> None:
    """Refuse names that two readers could take for different things, or for the same thing."""
    seen: dict[str, str] = {}
    for name in names:
        used = name == repr(ROW) or name.casefold().startswith("discreet_")
        if used or not 0 < len(name) <= 200 or not name.isprintable():
            raise CatalogError(
                f"a {what} named {name[:40]!r}",
                because="names are 1 to 200 characters that can be seen; 'dp.ROW' and 'discreet_...' are taken",
                instead="a plain name such as 'age'",
            )
        folded = " ".join(unicodedata.normalize("NFKC", name).casefold().translate(_LOOKALIKES).split())
        if folded in seen:
            raise CatalogError(
                f"two {what}s named {seen[folded]!r} and {name!r}",
                because="the names differ only in case, in spaces, or in letters that look alike",
                instead="names that a reader can tell apart",
            )
        seen[folded] = name
