"""The documentation of an answer, from public facts alone: it is made before the charge."""

import platform
from collections.abc import Iterator

from discreet.catalog.catalog import Catalog
from discreet.plan.fingerprint import States, canonical
from discreet.plan.physical import MissingUnits
from discreet.plan.wording import Lines
from discreet.planner.queries.private_plan import AnswerPlan
from discreet.release.document import Document
from discreet.version import __version__

_LONGEST_PLAN = 100_000
_BIAS = {
    "bounding": "the bias from rows beyond the contribution bounds, which are left out",
    "clipping": "the bias from clipping values to their bounds",
    "missing units": "rows without a privacy unit, which are left out",
    "cells": "the bias from cells that are missing or cannot be read, which ",
    "other keys": "rows whose key is not among the public keys, which are left out",
    "keys": "groups that partition selection left out",
    "sampling": "sampling error, if the rows are a sample of a population",
}


def charged_plan(plan: str, states: States) -> str:
    """The plan of a charge as JSON, with the states of public tables; receipts hold its digest."""
    return f'{{"asked":{plan},"public":{canonical(states)}}}' if states else plan


def document(query: Lines, plan: AnswerPlan, charged: str, catalog: Catalog, engine: str) -> Document:
    """The documentation of a plan; `charged` is the text whose digest the receipt has."""
    read = ", ".join(plan.columns_read) or "none"
    return Document(
        query=(("protects", str(plan.unit)), *query, ("columns read", read)),
        plan=charged if len(charged) <= _LONGEST_PLAN else None,
        omitted=tuple(_omitted(plan)),
        unprotected=tuple(_unprotected(plan)),
        others=catalog.table(plan.dataset).other_releases,
        software=(("discreet", __version__), ("Python", platform.python_version()), ("engine", engine)),
    )


def _omitted(plan: AnswerPlan) -> Iterator[str]:
    """What a margin for the noise does not include."""
    scan, caps = plan.pushdown.scan, plan.contribution_bounds
    if not plan.unit.is_row and any(cap is not None for cap in vars(caps).values()):
        yield _BIAS["bounding"]
    if plan.clamps_values:
        yield _BIAS["clipping"]
        yield _BIAS["cells"] + plan.missing_cells
    if scan.missing_units is MissingUnits.DROP and not plan.unit.is_row:
        yield _BIAS["missing units"]
    if plan.key_selection:
        yield _BIAS["keys"]
    elif plan.pushdown.keys.columns:
        yield _BIAS["other keys"]
    yield _BIAS["sampling"]


def _unprotected(plan: AnswerPlan) -> Iterator[str]:
    """What anybody may learn beside the answer."""
    yield "the query, its keys and bounds, and the facts that the catalog declares"
    public = [leaf.table for leaf in plan.pushdown.scan.leaves if leaf.is_public]
    if public:
        yield f"the rows of public tables: {', '.join(dict.fromkeys(public))}"
    yield "the time, the analyst and the cost of the charge"
    if plan.unit.is_row:
        yield "a person with several rows: each row is protected separately, the person is not"
    yield "inferences about a person that would hold without their data"
