"""Addresses of PostgreSQL databases, as distinguished from paths of files and directories."""

import re

_ADDRESS = re.compile(r"postgres(ql)?://", re.IGNORECASE)
_OTHER = re.compile(
    r"""
      .*://                                # another scheme, or text before ours
    | \s*[a-z][a-z0-9+.-]+:/               # one slash is missing; a single letter before the colon is a drive
    | ([^/]*//)?[^/]*:[^/]*@               # user:password@ before the first slash, or after a scheme without its colon
    | (.*\s)?(host|hostaddr|port|dbname|user|passfile|service|sslmode)\s*=
    | .*password\s*=
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)


def is_address(text: str) -> bool:
    """Whether a text is the address of a PostgreSQL database."""
    return _ADDRESS.match(text) is not None


def is_other_address(text: str) -> bool:
    """Whether a text is meant for a database driver but does not begin with postgresql://; it may hold a password.

    Colons, at-signs and settings count only where a connection string has them. Names such as `data@2024/host=1` in a
    path do not.
    """
    return not is_address(text) and _OTHER.match(text) is not None


def in_lower_case(address: str) -> str:
    """An address as PostgreSQL's library reads it: its scheme in lower case."""
    return _ADDRESS.sub("postgresql://", address, count=1)
