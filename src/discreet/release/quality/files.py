"""Where a page on quality may be written: an HTML file, in the place of nothing but an earlier page."""

from pathlib import Path

from discreet.errors import ParameterError
from discreet.release.quality.page import MADE


def require_page_place(path: str | Path) -> Path:
    """The path, if a page may be written there.

    Raises:
        ParameterError: If the name does not end in .html, the directory is not there, or a file of another kind is.
    """
    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm") or place.is_dir() or not place.parent.is_dir():
        raise ParameterError(
            f"a page at {str(path)!r}",
            because="it is an HTML file in a directory that is there",
            instead=repr("quality.html"),
        )
    if place.exists() and MADE not in place.read_text(encoding="utf-8", errors="replace"):
        raise ParameterError(
            f"a page at {str(path)!r}",
            because="a file of another kind is there",
            instead=repr(str(place.with_name(f"{place.stem}-quality.html"))),
        )
    return place
