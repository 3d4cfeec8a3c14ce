"""The signature of a result: it covers the numbers and everything that the result says of itself.

A receipt is signed before data is read, so it cannot cover the answer. This signature is made when the answer is
stored, over the canonical JSON of the result. A result that was rounded, or restated at another confidence, is not the
one that was signed: it is saved with the original, so that anybody can check what was released.
"""

import json
from dataclasses import dataclass
from typing import Any

_FIELDS = ("key", "signature")
ORIGINAL, SIGNATURE = "original", "signature"


@dataclass(frozen=True)
class Signed:
    """A result as it was signed, in plain data; the id of the key, and the signature."""

    original: dict[str, Any]
    key: str
    signature: str

    def covers(self, plain: dict[str, Any]) -> bool:
        """Whether a result in plain data is the one that was signed."""
        return statement(plain) == statement(self.original)

    def beside(self, plain: dict[str, Any]) -> dict[str, Any]:
        """What is saved with a result: the signature, and the original where the result is another one now."""
        added = {} if self.covers(plain) else {ORIGINAL: self.original}
        return {**added, SIGNATURE: {name: getattr(self, name) for name in _FIELDS}}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Signed | None":
        """The signature of a saved result; None where it has none."""
        if SIGNATURE not in data:
            return None
        key, signature = (data[SIGNATURE][name] for name in _FIELDS)
        original = data.get(ORIGINAL, covered(data))
        if not (isinstance(key, str) and isinstance(signature, str) and isinstance(original, dict)):
            raise TypeError
        return cls(original, key, signature)


def statement(plain: dict[str, Any]) -> str:
    """What is signed: one text for one result, with sorted names, no spaces and only ASCII characters."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def covered(data: dict[str, Any]) -> dict[str, Any]:
    """The part of a saved result that a signature covers."""
    return {name: value for name, value in data.items() if name not in (ORIGINAL, SIGNATURE)}
