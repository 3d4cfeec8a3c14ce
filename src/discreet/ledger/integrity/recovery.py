"""After damage, or an older copy put back: stop serving, collect all evidence, and go on from the most it shows.

Nothing is ever lowered. A recovery is an event like any other: it says what was wrong, what was known and who decided;
sequence numbers that receipts or anchors saw are not used again. What was in flight may have been answered in a history
that is lost, so it is forfeited: answered again, one charge would have paid for two answers.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from discreet.accounting.costs import LARGEST_UNITS, NOTHING, Cost, FilterCaps
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger.integrity.anchors import Anchor, highest, reason_behind
from discreet.ledger.integrity.evidence import LEAST, MOST, OUTCOMES, Evidence
from discreet.ledger.integrity.replay import AnalystTotals, replay_totals, totals_in_row
from discreet.ledger.integrity.store_pages import answer_digests, read_tables
from discreet.ledger.integrity.verification import (
    Verification,
    damage_in,
    open_findings,
    recorded_budget,
    recorded_order,
)
from discreet.ledger.records import faults
from discreet.ledger.records.account import Account, account_of, order_text
from discreet.ledger.records.canonical_text import canonical, parse_object
from discreet.ledger.records.chain import MOST_EVENTS, ChainLink, Kind, State, columns_of, cost_in, now
from discreet.ledger.records.receipt import Receipt
from discreet.ledger.records.registration import budget_columns, budget_of, is_same_promise
from discreet.ledger.transactions import statements, steward
from discreet.ledger.transactions.statements import LedgerWriter

CODE = "recovered"

_OF = "SELECT * FROM {} WHERE dataset = :name ORDER BY {}"
_STANDING = "SELECT id, dataset FROM halts WHERE cleared IS NULL"
_HALTED = "SELECT dataset, finding FROM halts WHERE cleared IS NULL ORDER BY id"
_SETTLE = """UPDATE reservations SET state = :state
WHERE dataset = :dataset AND sequence = :sequence AND state = 'RESERVED'"""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What is known about one dataset besides what the store holds: anchors, and receipts that the ledger signed.

    `shared` has the id of the store that machines share anchors in and the highest sequence number of each key there,
    where all of it was read.
    `is_sound` says that nothing is wrong with the database itself, which no event could mend.
    """

    name: str
    anchors: tuple[Anchor, ...]
    receipts: tuple[Receipt, ...]
    reason: str
    shared: Mapping[str, Any] | None = None
    is_sound: bool = True

    @property
    def anchor(self) -> Anchor | None:
        """The highest anchor, with the most that any of them says was spent."""
        if not self.anchors:
            return None
        latest = max(self.anchors, key=lambda each: each.sequence)
        return replace(latest, spent=highest(NOTHING, (each.spent for each in self.anchors)))

    def lost_anchors(self, held: Evidence) -> list[Anchor]:
        """Anchors of histories that the chain does not hold and no recovery counted, in the order of their file."""
        unlike = (each for each in self.anchors if held.heads.get(each.sequence) != each.head)
        return [each for each in unlike if each.sequence and not held.counts(each)]

    def missing(self, held: Evidence) -> list[Receipt]:
        """Receipts, each once, of charges that the chain does not hold and that no recovery counted."""
        ours = {receipt.hash: receipt for receipt in self.receipts if receipt.dataset == self.name}
        return [ours[name] for name in ours.keys() - held.heads.values() - held.recovered_receipts().keys()]


def try_to_halt(run: Callable[[Callable[[LedgerWriter], None]], None], found: Verification) -> None:
    """Stop serving what does not agree, for every process; a store that cannot be written serves nothing anyway."""
    ours = [finding for finding in found.findings if finding.is_ours]
    texts = {finding.dataset or "": str(finding) for finding in reversed(ours)}

    def halt(writer: LedgerWriter) -> None:
        halts = {row["dataset"] for row in writer.rows(_STANDING)}
        for name in sorted((texts.keys() - halts) & {"", *statements.names(writer)}):
            row = {"id": secrets.token_hex(16), "dataset": name, "time": now(), "finding": texts[name]}
            writer.insert("halts", row | {"cleared": None})

    with suppress(LedgerError):
        run(halt)


def halt(commit: Callable[[Callable[[LedgerWriter], None]], object], finding: str) -> None:
    """Stop serving every dataset until a recovery."""
    row = {"id": secrets.token_hex(16), "dataset": "", "time": now(), "finding": finding, "cleared": None}
    commit(lambda writer: writer.insert("halts", row))


def open_halts(writer: LedgerWriter) -> dict[str, str]:
    """What was found of the datasets that do not serve; '' stands for all of them."""
    return {row["dataset"]: row["finding"] for row in writer.rows(_HALTED)}


def accounts(writer: LedgerWriter) -> list[Account]:
    """Where every dataset stands whose row can be read."""
    found = []
    for row in writer.rows("SELECT * FROM datasets ORDER BY name"):
        with suppress(LedgerError):
            found.append(account_of(row | {"halts": 0}))
    return found


def evidence(writer: LedgerWriter, name: str | None) -> Iterator[Evidence]:
    """Everything that the store holds about one dataset or about all, unread; it stays in memory."""
    for each in statements.names(writer) if name is None else [statements.name_of(writer, name)]:
        tables = read_tables(writer, each)
        yield Evidence(
            name=each,
            events=writer.rows(_OF.format("events", "sequence"), name=each),
            reservations=writer.rows(_OF.format("reservations", "sequence"), name=each),
            answers=answer_digests(writer, each, LEAST, MOST),
            **vars(tables),
        )


def recover(writer: LedgerWriter, proof: Proof) -> None:
    """Bring one dataset to the most that any evidence shows; nothing is written where all agree."""
    known = statements.find_account(writer, proof.name)
    if known is None:
        return
    (held,) = evidence(writer, known.name)
    missing = proof.missing(held)
    most = _recovered_total(known, held, missing, proof)
    is_lossy = (
        bool(open_findings(held))
        or most != known.spent
        or _is_behind(known, held, proof.anchor)
        or bool(proof.lost_anchors(held))
        or any(not held.is_covered(receipt.sequence) for receipt in missing)
    )
    if not is_lossy and not known.is_halted:
        return
    after = _recovered_account(known, held, proof.anchor, most)
    if is_lossy:
        after = _at_a_known_order(after, known, held)
    shares = _repaired_shares(held, missing, is_lossy=is_lossy)
    plan = _RecoveryPlan(known, after, held, proof, missing, shares, is_lossy)
    link = plan.link()
    plan.carry_out(writer, link)
    is_clean = not open_findings(plan.result(link))
    for row in writer.rows(_STANDING):
        if (row["dataset"] == known.name and is_clean) or (row["dataset"] == "" and proof.is_sound):
            writer.write_as_steward(steward.CLEAR_HALT, {"sequence": link.sequence, "id": row["id"]})


def _is_behind(known: Account, held: Evidence, anchor: Anchor | None) -> bool:
    if anchor is None:
        return False
    return reason_behind(anchor, sequence=known.sequence, head_at=held.heads.get, spent=known.spent) is not None


def _recovered_total(known: Account, held: Evidence, missing: list[Receipt], proof: Proof) -> Cost:
    """The most of: the row, the chain, the charges of which the chain or a receipt is left, and the anchors.

    A receipt that an event names as the one before it was in this history, and its charge is in the row's total.
    """
    named = {row["previous"] for row in held.events} | {known.head}
    beside = [each for each in missing if each.hash not in named and not held.is_covered(each.sequence)]
    lost = [*held.recovered_receipts().values(), *(receipt.cost for receipt in missing)]
    most = highest(
        known.spent + _receipt_total(beside),
        [
            _event_total(held.events),
            _event_total(held.intact(Kind.RESERVED)) + statements.total(lost),
            _anchored_cost(known, held, missing, proof),
            _cost_with_forks(known, held, missing, proof),
            *_capped_totals(held),
        ],
    )
    epsilon = None if most.epsilon is None else min(most.epsilon, LARGEST_UNITS)
    rho, delta, renyi = (min(units, LARGEST_UNITS) for units in (most.rho, most.delta, most.renyi))
    return Cost(epsilon, rho, delta, renyi)


def _capped_totals(held: Evidence) -> Iterator[Cost]:
    """What was spent when caps were set."""
    for row in held.intact(Kind.CAPPED):
        yield Cost.of_units(*parse_object(row["detail"])["spent"])


def _anchored_cost(known: Account, held: Evidence, missing: list[Receipt], proof: Proof) -> Cost:
    """What was anchored and was charged later; after another history, all that is not known to be in both."""
    anchor = proof.anchor
    if anchor is None:
        return NOTHING
    spent = anchor.spent + _receipt_total(receipt for receipt in missing if receipt.sequence > anchor.sequence)
    if anchor.sequence > known.sequence or held.heads.get(anchor.sequence) == anchor.head:
        return spent
    shared = max((each.sequence for each in proof.anchors if held.heads.get(each.sequence) == each.head), default=0)
    return spent + _event_total(row for row in held.intact(Kind.RESERVED) if row["sequence"] > shared)


def _cost_with_forks(known: Account, held: Evidence, missing: list[Receipt], proof: Proof) -> Cost:
    """What is spent here and, beside it, in histories that parted from this one: both were seen, so they add.

    An older copy that nobody charged since is no fork: its chain is the beginning of the one that is lost.
    """
    lost = proof.lost_anchors(held)
    if not lost:
        return NOTHING
    runs = [run for run in _histories(lost) if _is_fork(known, held, proof, run)]
    parted = statements.total(_cost_of_fork(run, held, proof) for run in runs)
    last = max(anchor.sequence for anchor in lost)
    return known.spent + parted + _receipt_total(receipt for receipt in missing if receipt.sequence > last)


def _histories(lost: list[Anchor]) -> list[list[Anchor]]:
    """Anchors by the history they are of: those of one key go on while the chain gets longer and more is spent."""
    runs: list[list[Anchor]] = []
    for anchor in lost:
        last = next((run[-1] for run in reversed(runs) if run[-1].key == anchor.key), None)
        if last and last.sequence < anchor.sequence and highest(anchor.spent, [last.spent]) == anchor.spent:
            next(run for run in reversed(runs) if run[-1] is last).append(anchor)
        else:
            runs.append([anchor])
    return runs


def _last_shared_anchor(held: Evidence, proof: Proof, before: int) -> Anchor | None:
    """The highest anchor that stands in the chain below a place."""
    shared = [each for each in proof.anchors if held.heads.get(each.sequence) == each.head and each.sequence < before]
    return max(shared, key=lambda each: each.sequence, default=None)


def _is_fork(known: Account, held: Evidence, proof: Proof, run: list[Anchor]) -> bool:
    """Whether this chain went its own way: it is as long as a lost one, or was written after that was anchored."""
    if run[0].sequence <= known.sequence:
        return True
    shared = _last_shared_anchor(held, proof, run[0].sequence)
    tail = [row for row in held.events if row["sequence"] > (0 if shared is None else shared.sequence)]
    return any(row["time"] > run[0].time for row in tail)


def _cost_of_fork(run: list[Anchor], held: Evidence, proof: Proof) -> Cost:
    """What a lost history spent after the last place that is known to be in both."""
    shared = _last_shared_anchor(held, proof, run[0].sequence)
    return _difference(highest(NOTHING, (each.spent for each in run)), NOTHING if shared is None else shared.spent)


def _receipt_total(receipts: Iterable[Receipt]) -> Cost:
    return statements.total(receipt.cost for receipt in receipts)


def _event_total(events: Iterable[dict[str, Any]]) -> Cost:
    return statements.total(cost_in(row, "cost") for row in events)


def _recovered_account(known: Account, held: Evidence, anchor: Anchor | None, most: Cost) -> Account:
    """The account as recovered, under the smallest budget in the row, the chain or a later anchor.

    Where they do not agree, somebody changed one of them; a cap that was raised and is lost is raised again.
    """
    recorded = recorded_budget(held)
    every = [known.budget, *([] if recorded is None else [budget_of(recorded)])]
    if anchor is not None and anchor.sequence > known.sequence:
        every.append(budget_of(anchor.budget))
    budget = min(every, key=lambda each: (each.epsilon, each.delta))
    return replace(known, budget=budget, caps=_caps(known, budget), spent=most, floor=most)


def _at_a_known_order(after: Account, known: Account, held: Evidence) -> Account:
    """What was spent by rho, which bounds all orders that what is left of the history may be of.

    The order stays where the row and the chain agree on it.
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


def _repaired_shares(held: Evidence, missing: list[Receipt], *, is_lossy: bool) -> dict[str, AnalystTotals]:
    """What analysts spent and failed and the quotas they have, of those whose row says otherwise or is not there.

    Where history is lost, all count by rho, as the dataset does.
    """
    recorded = replay_totals(held.events, held.heads)
    rows = {row["analyst"]: totals_in_row(row) for row in held.shares}
    repaired = {}
    for analyst in sorted(recorded.keys() | rows.keys() | {receipt.analyst for receipt in missing}):
        expected, own = recorded.get(analyst, AnalystTotals()), rows.get(analyst)
        lost = _receipt_total(receipt for receipt in missing if receipt.analyst == analyst)
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
    """A recovery: what is known, what the account and the shares become, and why; `is_lossy` where history is lost."""

    known: Account
    after: Account
    held: Evidence
    proof: Proof
    missing: list[Receipt]
    shares: dict[str, AnalystTotals]
    is_lossy: bool

    def link(self) -> ChainLink:
        """The event, which accepts the damage that is still there after it."""
        damage = damage_in(self.result(self._link([])))
        return self._link([[str(each), each.seal] for each in damage if each.seal])

    def result(self, link: ChainLink) -> Evidence:
        """What the store holds after it."""
        written = [link, *self._forfeits(link)]
        failed = Counter(each.analyst for each in written)
        rows = {row["analyst"]: row for row in self.held.shares}
        rows |= {analyst: own.row(self.held.name, analyst) for analyst, own in self.shares.items()}
        settled = self._reservation_states(written)
        return replace(
            self.held,
            dataset=self.after.row() | {"sequence": written[-1].sequence, "head": written[-1].hash},
            events=[*self.held.events, *map(columns_of, written)],
            shares=[row | {"failures": row["failures"] + failed[row["analyst"]]} for row in rows.values()],
            reservations=[
                row | {"state": settled.get(row["sequence"], row["state"])} for row in self.held.reservations
            ],
        )

    def carry_out(self, writer: LedgerWriter, link: ChainLink) -> None:
        """Write the event, the shares, and what becomes of charges in flight."""
        account = writer.promise(self.known, link, self.after)
        there = {row["analyst"] for row in self.held.shares}
        for analyst, own in self.shares.items():
            row = own.row(self.held.name, analyst)
            writer.write_as_steward(steward.REPAIR_SHARE if analyst in there else steward.ADD_SHARE, row)
        forfeits = self._forfeits(link)
        for forfeit in forfeits:
            account = writer.append(account, forfeit)
            statements.fail(writer, self.held.name, forfeit.analyst or "")
        for sequence, state in self._reservation_states(forfeits).items():
            writer.write(_SETTLE, {"dataset": self.held.name, "sequence": sequence, "state": state})

    def _link(self, accepted: list[list[str]]) -> ChainLink:
        anchor, charged = self.proof.anchor, _event_total(self.held.events)
        used = [self.known.sequence, 0 if anchor is None else anchor.sequence]
        used += [*(row["sequence"] for row in self.held.events), *(receipt.sequence for receipt in self.missing)]
        if max(used) > MOST_EVENTS:
            raise LedgerError(faults.FORGED_NUMBER)
        return self.known.link(
            Kind.RECOVERED,
            version=max((row["version"] for row in self.held.versions), default=1),
            after=max(used),
            cost=_difference(self.after.spent, charged),
            detail=canonical(self._detail() | {"accepted": accepted}),
        )

    def _detail(self) -> dict[str, Any]:
        known, after, anchor = self.known, self.after, self.proof.anchor
        return {
            "reason": self.proof.reason,
            "from": {"sequence": known.sequence, "head": known.head},
            "receipts": {each.hash: each.cost.units() for each in self.missing},
            "anchor": None if anchor is None else anchor.sequence,
            "anchors": [each.head for each in self.proof.lost_anchors(self.held)],
            "shared": self.proof.shared,
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
        """Charges without an outcome may have one in the history that is lost."""
        account, links = replace(self.after, sequence=link.sequence, head=link.hash), []
        concluded = {row["reservation"] for row in self.held.of_kind(*OUTCOMES)}
        for row in self.held.of_kind(Kind.RESERVED) if self.is_lossy else ():
            if row["sequence"] not in concluded:
                columns = {name: row[name] for name in ("version", "analyst", "question")}
                detail = canonical({"code": CODE})
                links.append(account.link(Kind.FORFEITED, reservation=row["sequence"], detail=detail, **columns))
                account = replace(account, sequence=links[-1].sequence, head=links[-1].hash)
        return links

    def _reservation_states(self, written: list[ChainLink]) -> dict[int, str]:
        """The states of reservations that stand open though the chain, with what is written now, concludes them."""
        outcomes = {row["reservation"]: str(row["kind"]) for row in self.held.of_kind(*OUTCOMES)}
        outcomes |= {each.reservation: str(each.kind) for each in written if each.reservation is not None}
        held = [row["sequence"] for row in self.held.reservations if row["state"] == State.RESERVED]
        return {sequence: outcomes[sequence] for sequence in held if sequence in outcomes}


def _difference(most: Cost, charged: Cost) -> Cost:
    """What must be added to the chain for its sum to be the total; None stays None."""
    if charged.epsilon is None or most.epsilon is None:
        epsilon = 0 if charged.epsilon is None else None
    else:
        epsilon = max(0, most.epsilon - charged.epsilon)
    rest = (max(0, getattr(most, name) - getattr(charged, name)) for name in ("rho", "delta", "renyi"))
    return Cost(epsilon, *rest)
