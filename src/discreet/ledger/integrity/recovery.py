"""Recovery of a dataset after damage, or after an older copy of the store was put back.

A recovery collects all evidence and raises the total to the most that it shows. No total is lowered; a budget may be.
It is an event in the chain, which records the reason, the old and the new state, and the receipts and anchors that it
counted. Sequence numbers that receipts or anchors have are not used again.

A charge without an outcome may have one in a lost history. It is forfeited: if it were answered again, one charge would
pay for two answers. This is done where history is lost, where shared anchors that would show it are lost, where another
dataset of the ledger is behind, since one copy holds them all, and where a receipt of the charge is given.
"""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from discreet.accounting.costs import NOTHING, Cost, FilterCaps
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger.integrity import halts
from discreet.ledger.integrity.anchors import Anchor, highest, reason_behind
from discreet.ledger.integrity.evidence import LEAST, MOST, OUTCOMES, DatasetRows
from discreet.ledger.integrity.recovered_total import (
    RecoveryCase,
    RecoveryEvidence,
    difference,
    event_total,
    receipt_total,
    recovered_total,
    uncounted_receipts,
)
from discreet.ledger.integrity.replay import AnalystTotals, replay_totals, totals_in_row
from discreet.ledger.integrity.store_pages import answer_digests, read_tables
from discreet.ledger.integrity.verification import (
    damage_in,
    open_findings,
    recorded_budget,
    recorded_order,
)
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account, order_text
from discreet.ledger.records.canonical_text import canonical
from discreet.ledger.records.chain import MOST_EVENTS, ChainLink, Kind, State, columns_of
from discreet.ledger.records.receipt import Receipt
from discreet.ledger.records.registration import budget_columns, budget_of, is_same_promise
from discreet.ledger.transactions import statements, steward
from discreet.ledger.transactions.statements import LedgerWriter

CODE = "recovered"

_OF = "SELECT * FROM {} WHERE dataset = :name ORDER BY {}"
_SETTLE = """UPDATE reservations SET state = :state
WHERE dataset = :dataset AND sequence = :sequence AND state = 'RESERVED'"""


def dataset_rows(writer: LedgerWriter, name: str) -> DatasetRows:
    """Everything that the store holds about one dataset; it stays in memory."""
    return DatasetRows(
        name=name,
        events=writer.rows(_OF.format("events", "sequence"), name=name),
        reservations=writer.rows(_OF.format("reservations", "sequence"), name=name),
        answers=answer_digests(writer, name, LEAST, MOST),
        **vars(read_tables(writer, name)),
    )


def recover(writer: LedgerWriter, proof: RecoveryEvidence) -> None:
    """Bring one dataset to the most that any evidence shows, and forfeit its charges in flight if history may be lost.

    Nothing is written where all agree, nothing is halted and no receipt is of a charge in flight. These charges stay
    where something is halted and no history can be lost.
    """
    known = statements.find_account(writer, proof.name)
    if known is None:
        return
    held = dataset_rows(writer, known.name)
    case = RecoveryCase(known, held, proof)
    most = recovered_total(case)
    is_lossy = bool(open_findings(held)) or most != known.spent or _is_history_lost(case)
    may_be_lossy = is_lossy or halts.is_halted_after_loss(writer, known.name) or _has_open_receipts(held, proof)
    if not may_be_lossy and not known.is_halted:
        return
    after = _account_after(case, most)
    if is_lossy:
        after = _at_a_known_order(after, known, held)
    shares = _repaired_shares(held, case.missing, is_lossy=is_lossy)
    plan = _RecoveryPlan(case, after, shares, may_be_lossy)
    link = plan.link()
    plan.carry_out(writer, link)
    is_clean = not open_findings(plan.result(link))
    if is_clean:
        halts.end_halts_of(writer, known.name, link.sequence)


def is_older_copy(writer: LedgerWriter, proof: RecoveryEvidence) -> bool:
    """Whether the evidence of one dataset shows history that its chain lacks: the whole store is an older copy then."""
    known = statements.account(writer, proof.name, lock=False)
    return _is_history_lost(RecoveryCase(known, dataset_rows(writer, known.name), proof))


def _is_history_lost(case: RecoveryCase) -> bool:
    """Whether anchors or receipts show history that the chain does not hold and no recovery counted."""
    return (
        _is_behind(case.known, case.held, case.proof.anchor)
        or bool(case.lost_anchors)
        or any(not case.held.is_covered(receipt.sequence) for receipt in case.missing)
        or bool(uncounted_receipts(case, ()))
    )


def _open_charges(held: DatasetRows) -> list[dict[str, Any]]:
    """The charges of the chain that have no outcome in it."""
    concluded = {row["reservation"] for row in held.of_kind(*OUTCOMES)}
    return [row for row in held.of_kind(Kind.RESERVED) if row["sequence"] not in concluded]


def _has_open_receipts(held: DatasetRows, proof: RecoveryEvidence) -> bool:
    """Whether a receipt is given of a charge without an outcome: its holder may have seen an answer."""
    given = {receipt.hash for receipt in proof.given_receipts}
    return any(row["hash"] in given for row in _open_charges(held))


def _is_behind(known: Account, held: DatasetRows, anchor: Anchor | None) -> bool:
    if anchor is None:
        return False
    return reason_behind(anchor, sequence=known.sequence, head_at=held.heads.get, spent=known.spent) is not None


def _account_after(case: RecoveryCase, most: Cost) -> Account:
    """The account as recovered, under the smallest budget in the row, the chain or an anchor of a lost history.

    Where they do not agree, somebody changed one of them; a cap that was raised and is lost is raised again.
    """
    known, recorded = case.known, recorded_budget(case.held)
    every = [known.budget, *([] if recorded is None else [budget_of(recorded)])]
    every += [budget_of(anchor.budget) for anchor in case.lost_anchors]
    budget = _smallest_budget(every)
    return replace(known, budget=budget, caps=_caps(known, budget), spent=most, floor=most)


def _smallest_budget(every: list[Budget]) -> Budget:
    """The smallest epsilon, the smallest delta and the smallest reserved part of delta, each of any of the budgets."""
    least = min(every, key=lambda each: (each.epsilon, each.delta))
    delta, reserve = min(each.delta for each in every), min(each.reserve for each in every)
    if (least.delta, least.reserve) == (delta, reserve):
        return least
    return Budget(**least.arguments | {"delta": delta, "reserved_delta": reserve})


def _at_a_known_order(after: Account, known: Account, held: DatasetRows) -> Account:
    """The account with its total at every Renyi order, bounded by rho.

    The orders under which lost charges were counted are unknown, and rho bounds the divergence at each of them. The
    account's own order is kept if the row and the chain agree on it and the budget is unchanged.
    """
    is_kept = after.budget == known.budget and order_text(known.order) == recorded_order(held)
    budget, spent = after.budget.at_order(known.order if is_kept else None), after.spent.at_any_order
    order = known.order if is_kept else budget.order
    return replace(after, budget=budget, order=order, spent=spent, floor=spent)


def _caps(known: Account, budget: Budget) -> FilterCaps:
    """Under an unchanged budget the caps may fall, if somebody raised them, and never rise."""
    caps, old = budget.caps(), known.caps
    if not is_same_promise(budget, known.budget):
        return caps
    return caps.least(old)


def _repaired_shares(held: DatasetRows, missing: list[Receipt], *, is_lossy: bool) -> dict[str, AnalystTotals]:
    """What analysts spent and failed and the quotas they have, of those whose row says otherwise or is not there.

    Where history is lost, all count by rho, as the dataset does.
    """
    recorded = replay_totals(held.events, held.heads)
    rows = {row["analyst"]: totals_in_row(row) for row in held.shares}
    repaired = {}
    for analyst in sorted(recorded.keys() | rows.keys() | {receipt.analyst for receipt in missing}):
        expected, own = recorded.get(analyst, AnalystTotals()), rows.get(analyst)
        lost = receipt_total(receipt for receipt in missing if receipt.analyst == analyst)
        is_restated = is_lossy and expected.spent != expected.spent.at_any_order
        if own == expected and analyst in recorded and lost == NOTHING and not is_restated:
            continue
        spent = highest(expected.spent + lost, [] if own is None else [own.spent])
        spent = spent.at_any_order if is_lossy else spent
        failures = max(expected.failures, 0 if own is None else own.failures)
        repaired[analyst] = replace(expected, spent=spent, floor=spent, failures=failures)
    return repaired


@dataclass(frozen=True)
class _RecoveryPlan:
    """A recovery: the case, and what the account and the shares become.

    `may_be_lossy` where history is lost, or may be.
    """

    case: RecoveryCase
    after: Account
    shares: dict[str, AnalystTotals]
    may_be_lossy: bool

    def link(self) -> ChainLink:
        """The event, which accepts the damage that is still there after it."""
        damage = damage_in(self.result(self._link([])))
        return self._link([[str(each), each.seal] for each in damage if each.seal])

    def result(self, link: ChainLink) -> DatasetRows:
        """What the store holds after it."""
        written = [link, *self._forfeits(link)]
        failed = Counter(each.analyst for each in written)
        rows = {row["analyst"]: row for row in self.case.held.shares}
        rows |= {analyst: own.row(self.case.held.name, analyst) for analyst, own in self.shares.items()}
        settled = self._reservation_states(written)
        return replace(
            self.case.held,
            dataset=self.after.row() | {"sequence": written[-1].sequence, "head": written[-1].hash},
            events=[*self.case.held.events, *map(columns_of, written)],
            shares=[row | {"failures": row["failures"] + failed[row["analyst"]]} for row in rows.values()],
            reservations=[
                row | {"state": settled.get(row["sequence"], row["state"])} for row in self.case.held.reservations
            ],
        )

    def carry_out(self, writer: LedgerWriter, link: ChainLink) -> None:
        """Write the event, the shares, and what becomes of charges in flight."""
        account = writer.set_budget(self.case.known, link, self.after)
        there = {row["analyst"] for row in self.case.held.shares}
        for analyst, own in self.shares.items():
            row = own.row(self.case.held.name, analyst)
            writer.write_as_steward(steward.REPAIR_SHARE if analyst in there else steward.ADD_SHARE, row)
        forfeits = self._forfeits(link)
        for forfeit in forfeits:
            account = writer.append(account, forfeit)
            statements.fail(writer, self.case.held.name, forfeit.analyst or "")
        for sequence, state in self._reservation_states(forfeits).items():
            writer.write(_SETTLE, {"dataset": self.case.held.name, "sequence": sequence, "state": state})

    def _link(self, accepted: list[list[str]]) -> ChainLink:
        anchor, charged = self.case.proof.anchor, event_total(self.case.held.events)
        used = [self.case.known.sequence, 0 if anchor is None else anchor.sequence]
        used += [
            *(row["sequence"] for row in self.case.held.events),
            *(receipt.sequence for receipt in self.case.missing),
        ]
        if max(used) > MOST_EVENTS:
            raise LedgerError(faults.FORGED_NUMBER)
        return self.case.known.link(
            Kind.RECOVERED,
            version=max((row["version"] for row in self.case.held.versions), default=1),
            after=max(used),
            cost=difference(self.after.spent, charged),
            detail=canonical(self._detail() | {"accepted": accepted}),
        )

    def _detail(self) -> dict[str, Any]:
        known, after, anchor = self.case.known, self.after, self.case.proof.anchor
        return {
            "reason": self.case.proof.reason,
            "from": {"sequence": known.sequence, "head": known.head},
            "receipts": {each.hash: each.cost.units() for each in self.case.missing},
            "anchor": None if anchor is None else anchor.sequence,
            "anchors": [each.head for each in self.case.lost_anchors],
            "shared": self.case.proof.shared,
            "old": {"budget": budget_columns(known.budget), "spent": known.spent.units()},
            "new": {
                "budget": budget_columns(after.budget),
                "caps": after.caps.units(),
                "order": order_text(after.order),
                "spent": after.spent.units(),
            },
            "shares": {analyst: own.recovery_detail() for analyst, own in self.shares.items()},
        }

    def _forfeits(self, link: ChainLink) -> list[ChainLink]:
        """Charges without an outcome may have one in a history that is lost, whether or not anything shows it."""
        account, links = replace(self.after, sequence=link.sequence, head=link.hash), []
        for row in _open_charges(self.case.held) if self.may_be_lossy else ():
            columns = {name: row[name] for name in ("version", "analyst", "question")}
            detail = canonical({"code": CODE})
            links.append(account.link(Kind.FORFEITED, reservation=row["sequence"], detail=detail, **columns))
            account = replace(account, sequence=links[-1].sequence, head=links[-1].hash)
        return links

    def _reservation_states(self, written: list[ChainLink]) -> dict[int, str]:
        """The states of reservations that stand open though the chain, with what is written now, concludes them."""
        outcomes = {row["reservation"]: str(row["kind"]) for row in self.case.held.of_kind(*OUTCOMES)}
        outcomes |= {each.reservation: str(each.kind) for each in written if each.reservation is not None}
        held = [row["sequence"] for row in self.case.held.reservations if row["state"] == State.RESERVED]
        return {sequence: outcomes[sequence] for sequence in held if sequence in outcomes}
