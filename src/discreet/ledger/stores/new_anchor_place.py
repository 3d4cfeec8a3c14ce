"""Errors of a place that is to become the store of shared anchors: about that place, while the present one stays."""

from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import LedgerError
from discreet.ledger.records import faults
from discreet.ledger.stores.postgres_errors import raise_alone


@contextmanager
def naming_new_anchors() -> Iterator[None]:
    """Say of an error of a store of anchors that it is about the place which is being named, and changed nothing."""
    try:
        yield
    except LedgerError as error:
        raise_alone(LedgerError(faults.of_new_anchors(str(error))))
