"""HTML from parts in which everything that is not HTML already is escaped."""

import html
from collections.abc import Iterable, Sequence

from discreet.release.values import rendering


class Markup(str):
    """Text that is HTML already; any other text is escaped where it is used."""

    __slots__ = ()


def escape(value: object) -> Markup:
    """A text on one line as HTML: markup is escaped, and characters that do not print are written as their codes."""
    return value if isinstance(value, Markup) else Markup(html.escape(rendering.cell(str(value))))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Parts one after another."""
    return Markup(Markup(html.escape(between)).join(map(escape, parts)))


def element(name: str, *children: object, **attributes: object) -> Markup:
    """An element; `class_` and `for_` are written without the underscore, other underscores as hyphens."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def paragraph(*children: object, **attributes: object) -> Markup:
    """A paragraph."""
    return element("p", *children, **attributes)


def bullets(items: Iterable[object], **attributes: object) -> Markup:
    """A list; nothing where it is empty."""
    listed = join(element("li", item) for item in items)
    return element("ul", listed, **attributes) if listed else Markup()


def numbers(items: Iterable[object], **attributes: object) -> Markup:
    """A list with numbers from 1 on."""
    return element("ol", *(element("li", item) for item in items), **attributes)


def terms(pairs: Iterable[tuple[object, object]], **attributes: object) -> Markup:
    """Labels and texts as a definition list; a label that repeats is written once."""
    parts, last = [], None
    for label, text in pairs:
        if label != last:
            parts.append(element("dt", label))
        parts.append(element("dd", text))
        last = label
    return element("dl", *parts, **attributes)


def table(
    caption: object, head: Sequence[object], rows: Iterable[Sequence[object]], text_columns: int, **attributes: object
) -> Markup:
    """A table with a caption; the first so many cells of each row are its headings."""
    top = element("tr", *(element("th", name, scope="col") for name in head))
    body = (
        element(
            "tr",
            *(element("th", cell, scope="row") for cell in row[:text_columns]),
            *(element("td", cell) for cell in row[text_columns:]),
        )
        for row in rows
    )
    caption_ = element("caption", caption)
    whole = element("table", caption_, element("thead", top), element("tbody", *body), **attributes)
    # a wide table scrolls by itself, and the keyboard must reach it
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def inline(text: str) -> Markup:
    """A sentence in which what stands between two backticks is code."""
    return join(element("code", part) if place % 2 else part for place, part in enumerate(text.split("`")))


def code(text: str) -> Markup:
    """Lines of text as they are."""
    return element("pre", element("code", join((escape(line) for line in text.splitlines()), "\n")), tabindex="0")
