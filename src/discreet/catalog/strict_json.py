"""JSON that two readers read alike: no name comes twice in an object, and no number is one that JSON does not have."""

import json
import math
from typing import Any


def loads(text: str) -> Any:
    """The value of a JSON text.

    Args:
        text: The text.

    Returns:
        Plain data.

    Raises:
        ValueError: If a name comes twice in an object, a number is not finite, a text has half a character, or the text
            is not JSON.
    """
    value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)
    if "\\ud" in text.lower():  # half a character: text that cannot be printed or written
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name that comes twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number that is too large")
    return value


def _refuse(constant: str) -> object:
    raise ValueError(constant)
