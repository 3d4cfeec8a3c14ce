"""Receipts are compared with rows in memory and with rows looked up one by one, alike.

What is found of receipts that were changed, made up or lost is in test_verification.py.
"""

from dataclasses import replace

from discreet.ledger.integrity.receipt_checks import receipt_findings
from discreet.ledger.integrity.recovery import dataset_rows
from discreet.ledger.integrity.store_pages import StorePages
from discreet.ledger.integrity.verification import verify_dataset


def test_receipts_are_found_alike_in_rows_in_memory_and_in_the_store(visits, charge, tamper):
    visits.add_other_release("visits", "one", kind="exact")
    first = charge(visits)
    visits.add_other_release("visits", "two", kind="exact")
    second = charge(visits)
    given = (
        first,
        second,
        replace(second, others=()),
        replace(second, others=(), key=None, signature=None),
        replace(first, sequence=99),
        replace(first, dataset="stays"),
        replace(first, analyst="eve"),
    )
    for change in ("UPDATE events SET time = time", "UPDATE events SET analyst = 'eve' WHERE sequence = 2"):
        tamper(change)
        held = visits._look(lambda writer: dataset_rows(writer, "visits"))
        looked_up = verify_dataset("visits", StorePages(visits._look, "visits"), visits._store.ask)
        found = [
            list(receipt_findings({"visits": each}, given, visits._public_keys(), visits._id))
            for each in (held, looked_up)
        ]
        assert found[0] == found[1]
        assert len(found[0]) >= 5
