"""Addresses of databases on the command line; not printed as they were typed, because one may hold a password."""

import re

import typer

# As in discreet.ledger, which loads pyarrow: a shell that starts does not wait for that.
_ADDRESS = re.compile(r"postgres(ql)?://", re.IGNORECASE)
_EXAMPLE = r"\w+@db\.example\.org/|role@host(?::5432)?/database"
_BARE = r"(?:\.\.\.(?=[\s,;)]|$)|[,;.)]?(?:\s+(?!\s|\S*@)|$))"
_OURS = rf"/(?:{_EXAMPLE}|{_BARE})"
"""What follows in the addresses of our own texts, which are shown: an example, or nothing that could be a password."""
_TELLTALE = re.compile(
    rf"postgres(ql)?:/(?!{_OURS})|\bpassword\s*=|\b(?!postgresql:)[a-z][a-z0-9+.-]*:/+[^\s/]*@", re.IGNORECASE
)
_QUOTE = re.compile("['\"]")
NOT_SHOWN = "(an address, not shown)"


def is_address(text: str) -> bool:
    """Whether a text is the address of a PostgreSQL database."""
    return _ADDRESS.match(text) is not None


def in_lower_case(address: str) -> str:
    """An address as PostgreSQL's library reads it: its scheme in lower case."""
    return _ADDRESS.sub("postgresql://", address, count=1)


def without_addresses(text: str) -> str:
    """A text cut off where an address or a password begins, which may have quotes in it; those around it are closed."""
    found = _TELLTALE.search(text)
    if found is None:
        return text
    before = text[: found.start()]
    return f"{before}{NOT_SHOWN}{''.join(reversed(_open_quotes(before)))}"


def _open_quotes(text: str) -> list[str]:
    """The quotes that nothing in a text closes, the outer ones first; one after a letter opens nothing."""
    opened: list[str] = []
    for found in _QUOTE.finditer(text):
        if found[0] in opened[-1:]:
            opened.pop()
        elif not text[: found.start()][-1:].isalnum():
            opened.append(found[0])
    return opened


def name(text: str) -> str:
    """A name of a dataset or an analyst; an address in its place would be printed, password and all."""
    if without_addresses(text) != text:
        raise typer.BadParameter("an address of a database in the place of a name; --ledger says where the ledger is")
    return text
