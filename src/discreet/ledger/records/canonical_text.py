"""Text that the ledger keeps for ever: names, keys and JSON, checked before anything is written."""

import hashlib
import json
import re
import unicodedata
from typing import Any

from discreet.errors import ParameterError

LONGEST_LABEL = 200
LONGEST_SOURCE = 4_096
LONGEST_DOCUMENT = 64_000_000

_KEY = re.compile(r"[0-9a-f]{1,128}")
_CODE = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_UNPRINTABLE = ("C", "Zl", "Zp")


_EXAMPLES = {
    "reason": "decided by the board in May",
    "analyst": "ana",
    "author": "ana",
    "what": "people.csv, ages in tens",
}


def label(value: object, what: str, *, most: int = LONGEST_LABEL) -> str:
    """A name of ordinary length that prints as it is: no control characters, no surrogates, no line breaks."""
    if not isinstance(value, str) or not value.strip():
        raise _text_error(what, "it must be text that is not blank", f'{what}="{_EXAMPLES.get(what, "visits")}"')
    if len(value) > most:
        raise _text_error(what, f"it is longer than {most:,} characters", f"a shorter {what}")
    if any(unicodedata.category(character).startswith(_UNPRINTABLE) for character in value):
        raise _text_error(
            what, "it has characters that do not print, and an audit must show it as it is", f"a plain {what}"
        )
    return value


def key(value: object, what: str) -> str:
    """Lower-case hexadecimal text, as `hashlib` writes it."""
    if not isinstance(value, str) or not _KEY.fullmatch(value):
        raise _text_error(
            what, "it must be 1 to 128 lower-case hexadecimal digits", f"{what}=hashlib.sha256(...).hexdigest()"
        )
    return value


def short_code(value: object, what: str) -> str:
    """A short code without spaces, such as an exception's class: never a driver's message, which may quote a cell."""
    if not isinstance(value, str) or not _CODE.fullmatch(value):
        raise _text_error(what, "it must be 1 to 64 letters, digits or _ . : -", f'{what}="timeout"')
    return value


def document(value: object, what: str) -> str:
    """JSON text as it was given; numbers that JSON does not have are refused."""
    if not isinstance(value, str) or len(value) > LONGEST_DOCUMENT:
        raise _text_error(
            what, f"it must be JSON text of at most {LONGEST_DOCUMENT:,} characters", f"{what}=json.dumps(...)"
        )
    try:
        value.encode()
        json.loads(value, parse_constant=_not_json)
    except (ValueError, RecursionError):
        raise _text_error(what, "it is not JSON text", f"{what}=json.dumps(...)") from None
    return value


def same_document(one: str, other: str) -> bool:
    """Whether two JSON texts are equal up to the order of their keys."""
    return canonical(json.loads(one)) == canonical(json.loads(other))


def canonical(value: object) -> str:
    """One text for one value: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse_object(text: str) -> dict[str, Any]:
    """The object that `canonical` wrote."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise TypeError
    return value


def digest(content: str | bytes) -> str:
    """The SHA-256 of a text or of bytes, in hexadecimal."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def _text_error(what: str, because: str, instead: str) -> ParameterError:
    return ParameterError(f"{what} that the ledger cannot keep", because=because, instead=instead)


def _not_json(constant: str) -> object:
    raise ValueError(constant)
