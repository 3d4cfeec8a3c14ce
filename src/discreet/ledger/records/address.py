"""Addresses of PostgreSQL databases, as distinguished from paths of files and directories."""

import re

_ADDRESS = re.compile(r"postgres(ql)?://", re.IGNORECASE)


def is_address(text: str) -> bool:
    """Whether a text is the address of a PostgreSQL database."""
    return _ADDRESS.match(text) is not None


def in_lower_case(address: str) -> str:
    """An address as PostgreSQL's library reads it: its scheme in lower case."""
    return _ADDRESS.sub("postgresql://", address, count=1)
