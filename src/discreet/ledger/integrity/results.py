"""Saved results, checked offline by anybody who has the public keys of a ledger.

Three things are checked: the receipt of the charge, which was signed before data was read; that the plan beside the
numbers is the one that was charged; and the signature over the numbers and everything that the result says of itself.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import LedgerError
from discreet.ledger.records.canonical_text import digest
from discreet.ledger.records.receipt import Receipt, other_key, receipt_fault, trusted_keys
from discreet.ledger.records.signatures import is_signed_by, key_id
from discreet.release.signed import ORIGINAL, SIGNATURE, covered, statement
from discreet.release.values.rendering import is_generated

FORMER = "the file is of version 1, which has no signature over its numbers"
UNSIGNED = "no key signed the numbers"
SIGNED_BY_UNKNOWN_KEY = "the numbers: none of the known keys is the one that signed them"
CHANGED_LATER = "they differ from the signed ones, as after rounding; only the copy under 'original' is covered"
_UNCHANGED = (
    "schema",
    "library",
    "private",
    "dataset",
    "guarantee",
    "unit",
    "document",
    "keys",
    "receipt",
    "place",
    "measured",
)
"""What rounding, adjusting and another confidence leave as it was."""


@dataclass(frozen=True)
class ResultVerification:
    """What holds of a saved result.

    `faults` are what is wrong: something was changed, or another key signed it. `uncovered` says why a signature does
    not cover the numbers that are shown, where nothing is wrong; None where it does.
    """

    receipt: Receipt
    faults: tuple[str, ...]
    uncovered: str | None

    @property
    def ok(self) -> bool:
        """Whether nothing was changed and the numbers are covered."""
        return not self.faults and self.uncovered is None

    @property
    def is_by_unknown_key(self) -> bool:
        """Whether nothing is known of the file: no fault but that none of the known keys is the one that signed it."""
        unknown = {f"the receipt: {other_key(self.receipt)}", SIGNED_BY_UNKNOWN_KEY}
        return bool(self.faults) and unknown.issuperset(self.faults)


def verify_result(data: dict[str, Any], publics: Sequence[str]) -> ResultVerification:
    """Check a result in plain data against public keys, and those that its receipt's certificate shows.

    Args:
        data: What `to_json` or `save` wrote, as `json.loads` returns it.
        publics: Public keys of the ledger.

    Returns:
        What is wrong, and whether the numbers are covered.

    Raises:
        LedgerError: If the data is not a result with a receipt.
    """
    if not isinstance(data.get("receipt"), dict):
        raise LedgerError("the file holds no result that this version of discreet can read")
    receipt = Receipt.from_json(json.dumps(data["receipt"]))
    publics = trusted_keys(receipt, publics)
    wrong = receipt_fault(receipt, publics)
    faults: tuple[str, ...] = () if wrong is None else (f"the receipt: {wrong}",)
    if str(data.get("schema")).endswith("/1"):
        later = [name for name in ("document", SIGNATURE, ORIGINAL) if name in data]
        faults += tuple(f"{name}: a file of version 1 has none" for name in later)
        return ResultVerification(receipt, faults, FORMER)
    faults += _faults_of_charge(data, receipt)
    if SIGNATURE not in data:
        return ResultVerification(receipt, faults, UNSIGNED)
    signed = data.get(ORIGINAL, covered(data))
    if not isinstance(signed, dict):
        return ResultVerification(receipt, (*faults, "the original is not a result"), None)
    faults += _faults_of_signature(signed, data[SIGNATURE], receipt, publics)
    if ORIGINAL not in data:
        return ResultVerification(receipt, faults, None)
    differing = [name for name in _UNCHANGED if data.get(name) != signed.get(name)]
    faults += tuple(f"{name}: not that of the signed original" for name in differing)
    return ResultVerification(receipt, faults, CHANGED_LATER)


def _faults_of_charge(data: dict[str, Any], receipt: Receipt) -> tuple[str, ...]:
    """Whether dataset and plan are those that were charged; a very long plan is only in the ledger."""
    found: list[str] = []
    if is_generated(receipt.dataset):
        found.append("generated data: a preview, and not a release of a dataset")
    if data.get("dataset") != {"name": receipt.dataset, "version": receipt.version}:
        found.append("the dataset is not the one that was charged")
    document = data.get("document")
    plan = document.get("plan") if isinstance(document, dict) else None
    if plan is not None and (not isinstance(plan, str) or digest(plan) != receipt.description):
        found.append("the plan is not the one that was charged")
    return tuple(found)


def _faults_of_signature(signed: dict[str, Any], by: Any, receipt: Receipt, publics: Sequence[str]) -> tuple[str, ...]:
    """Whether the key of the receipt signed the numbers too; another one that is trusted may be of another ledger."""
    if not isinstance(by, dict) or set(by) != {"key", "signature"} or by["key"] != receipt.key:
        return ("the numbers: the key of the receipt did not sign them",)
    if by["key"] not in map(key_id, publics):  # so nobody knows whether something was changed
        return (SIGNED_BY_UNKNOWN_KEY,)
    try:
        text = statement(signed)
    except ValueError:  # numbers that JSON does not have
        text = ""
    if not is_signed_by(text, by["key"], by["signature"], publics):
        return ("the numbers: they, or what the file says of them, were changed after they were signed",)
    return ()
