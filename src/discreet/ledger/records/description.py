"""The description of a charge: its queries in words, for people, and the plan that was charged.

The digest of the plan is in the chain and in receipts. The words are outside of it, because identity must not hang on a
phrase: a charge without an answer is taken over by the same plan, however it is put into words. The words of a release
are covered by its own signature. Descriptions of earlier versions are plans without words.
"""

import json
from collections.abc import Sequence
from typing import Any

from discreet.release.document import Lines, summary

LONGEST_WORDS = 50_000
_WORDS, _PLAN = '{"query":', ',"plan":'


def describe(queries: Sequence[Lines], plan: str) -> str:
    """The description of a charge, as JSON; `plan` is JSON itself."""
    return f"{_WORDS}{json.dumps(queries)}{_PLAN}{plan}}}"


def plan_of(description: str) -> str:
    """The plan in a description: what its digest is made of."""
    _, end = _words(description)
    return description[end + len(_PLAN) : -1] if end and description.startswith(_PLAN, end) else description


def query_of(description: str) -> str | None:
    """The queries in words, from a description or its beginning.

    None where the words are too long, or are not there, as in charges of earlier versions.
    """
    queries, _ = _words(description)
    if not isinstance(queries, list) or not all(isinstance(lines, list) for lines in queries):
        return None
    if not all(_is_line(line) for lines in queries for line in lines):
        return None
    return " | ".join(map(summary, queries))


def _words(description: str) -> tuple[Any, int]:
    """The words, and where they end; 0 where a description has none."""
    if not description.startswith(_WORDS):
        return None, 0
    try:
        return json.JSONDecoder().raw_decode(description, len(_WORDS))
    except (ValueError, RecursionError):
        return None, 0


def _is_line(line: object) -> bool:
    return isinstance(line, list) and [type(text) for text in line] == [str, str]
