"""The charge transaction: the same query again, a place in the queue, or a durable charge.

A query over several datasets is charged to all of them, or to none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet import events
from discreet.accounting.costs import NOTHING, Cost
from discreet.errors import BudgetError, Failure, LedgerError, ParameterError
from discreet.ledger.records import admission, faults, registration
from discreet.ledger.records.account import Account
from discreet.ledger.records.canonical_text import canonical, digest, document, key, label
from discreet.ledger.records.chain import ChainLink, Kind, State
from discreet.ledger.records.description import plan_of
from discreet.ledger.records.quota import Share, lacks_delta
from discreet.ledger.records.receipt import receipt_of
from discreet.ledger.records.registration import checked_version
from discreet.ledger.records.reservation import Reservation
from discreet.ledger.transactions import limits, outcome, register, statements, stored_charge
from discreet.ledger.transactions.statements import LedgerWriter
from discreet.ledger.transactions.store import Ask, Row, Statement
from discreet.ledger.transactions.stored_charge import StoredCharge

Check = Callable[[Account], None]

_UNUSABLE = 3


@dataclass(frozen=True, kw_only=True)
class DatasetCharge:
    """What one dataset is charged for a query, for `Ledger.charge_together`.

    Args:
        name: Name of the dataset.
        version: Version of the dataset.
        event: The event that is charged.
        registration: Event that registered the version; the charge is refused if it was replaced. Default: any.

    Raises:
        ParameterError: If a field is not what it should be, or the event has no price.

    Example:
        >>> from fractions import Fraction
        >>> from discreet import events
        >>> from discreet.ledger import DatasetCharge
        >>> DatasetCharge(name="visits", version=1, event=events.PureEvent(Fraction(1, 10))).cost(None).epsilon
        100000000000
    """

    name: str
    version: int
    event: events.Event
    registration: int | None = None
    text: str = field(init=False)

    def __post_init__(self) -> None:
        label(self.name, "name")
        object.__setattr__(self, "version", checked_version(self.version))
        self.cost(None)
        object.__setattr__(self, "text", events.canonical(self.event))

    def cost(self, order: Fraction | None) -> Cost:
        """The cost under a budget with this order of the Renyi filter."""
        return admission.price(self.event, order)


@dataclass(frozen=True, kw_only=True)
class ChargeRequest:
    """One query of one analyst, as the charge transaction writes it; `term` is its lease in milliseconds.

    `question` is its fingerprint, under which it is charged; `former` are the fingerprints that it had in earlier
    formats, under which it is looked up as well and never charged. `made` are the hashes of all links that were made
    for it, by which it knows its own charge again.
    """

    parts: tuple[DatasetCharge, ...]
    analyst: str
    question: str
    request: str
    description: str
    fresh: bool
    term: int
    former: tuple[str, ...] = ()
    made: list[str] = field(default_factory=list)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        label(self.analyst, "analyst")
        for name in self.fingerprints:
            key(name, "question")
        label(self.request, "request")
        object.__setattr__(self, "digest", digest(plan_of(document(self.description, "description"))))
        _refuse_duplicates([part.name for part in self.parts], [part.name for part in self.parts])

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Every fingerprint of the query, the present one first."""
        return (self.question, *self.former)

    def claim(self, part: DatasetCharge) -> dict[str, Any]:
        """The columns of a link that tell of this query to one dataset."""
        return {
            "version": part.version,
            "analyst": self.analyst,
            "event": part.text,
            "question": self.question,
            "request": self.request,
            "digest": self.digest,
        }

    def detail(self) -> dict[str, Any]:
        """What a link tells of the other datasets of the query."""
        names = sorted(part.name for part in self.parts)
        return {"detail": canonical({"together": names})} if len(names) > 1 else {}


@dataclass(frozen=True)
class Waiting:
    """Somebody else is answering the same query under a lease that lives."""


@dataclass(frozen=True)
class _DatasetState:
    """State of one dataset in a charge transaction; `by_question` has a place for each fingerprint of the query."""

    part: DatasetCharge
    account: Account
    share: Share
    has_share: bool
    registered: int | None
    by_request: StoredCharge | None
    by_question: tuple[StoredCharge | None, ...]

    @cached_property
    def cost(self) -> Cost:
        """What the query costs under the dataset's budget."""
        return self.part.cost(self.account.order)


def charge(writer: LedgerWriter, request: ChargeRequest, check: Check) -> Reservation | Waiting | BudgetError:
    """One of three: a reservation (new, or with a stored answer), a wait, or an error that was recorded.

    `check` gets each account under its lock, and refuses one that is behind its last known state.
    """
    request = _by_true_names(writer, request)
    found = _read_states(writer, request)
    for each in found:
        check(each.account)
        if each.account.is_halted:
            raise LedgerError(faults.HALTED)
        if not each.account.keeps_its_budget:
            raise LedgerError(faults.DAMAGED)
    earlier = _earlier(found, request)
    if earlier is not None and not _is_given_up(writer, request, earlier):
        return _repeat(writer, request, earlier, found)
    if earlier is not None:
        found = [_forfeit_expired_charge(writer, charge, own) for charge, own in zip(earlier, found, strict=True)]
    found = [_upgrade(writer, each) for each in found]
    for each in found:
        _check_registration(writer, each)
        if not admission.is_countable(each.account.spent + each.cost):
            raise admission.beyond_counting()
    for each in found:
        refusal = _refusal(each)
        if refusal is not None:
            _reject(writer, request, each)
            return refusal
    return Reservation(receipts=tuple(receipt_of(_reserve(writer, request, each)) for each in found))


def resolve(writer: LedgerWriter, request: ChargeRequest, check: Check) -> Reservation | Waiting | BudgetError:
    """Outcome of a charge whose COMMIT got no reply: its locks were waited for, so it is there, or never will be.

    It is known by the hash of its own link, and the totals must hold it. One of the same request key may be planted.
    """
    found = _read_states(writer, _by_true_names(writer, request))
    ours = [each.by_request.link for each in found if each.by_request is not None]
    if len(ours) < len(found) or not all(link.hash in request.made for link in ours):
        return charge(writer, request, check)
    for each in found:
        _refuse_planted_charge(writer, each)
    return Reservation(receipts=tuple(map(receipt_of, ours)))


def find_stored_answer(request: ChargeRequest, ask: Ask, is_anchored: Callable[[str, int], bool]) -> Reservation | None:
    """The stored answer to a query of a single dataset, read without waiting for anybody; None to go on to charge.

    `is_anchored` says of a dataset and an event whether the machines that share anchors know of the event.
    """
    if request.fresh or len(request.parts) > 1:
        return None
    (part,) = request.parts
    for name in request.fingerprints:
        earlier = stored_charge.charge_in(ask(stored_charge.same_question(part.name, name)))
        if earlier is None or earlier.is_halted or not _is_the_question(earlier.link, part, request):
            continue
        if not _is_paid(earlier):
            continue
        if earlier.payload is not None and is_anchored(earlier.link.dataset, earlier.concluded or 0):
            return Reservation(receipts=(receipt_of(earlier.link),), attempt=earlier.attempt, payload=earlier.payload)
    return None


def _questions(part: DatasetCharge, request: ChargeRequest) -> list[Statement]:
    """What to read for one dataset once the rows of all are locked."""
    return [
        statements.shares_question(part.name, request.analyst),
        statements.version_question(part.name, part.version),
        stored_charge.request_question(part.name, request.analyst, request.request),
        *(stored_charge.same_question(part.name, name) for name in request.fingerprints),
    ]


def _by_true_names(writer: LedgerWriter, request: ChargeRequest) -> ChargeRequest:
    """The same query by the names of its datasets: several are locked in one order."""
    if len(request.parts) == 1:
        return request
    names = statements.true_names(writer, [part.name for part in request.parts])
    _refuse_duplicates([part.name for part in request.parts], names)
    parts = zip(request.parts, names, strict=True)
    return replace(
        request, parts=tuple(part if part.name == name else replace(part, name=name) for part, name in parts)
    )


def _read_states(writer: LedgerWriter, request: ChargeRequest) -> list[_DatasetState]:
    """Everything, in one round trip to the store; the rows of datasets are locked in the order of their names."""
    parts = sorted(request.parts, key=lambda part: part.name)
    accounts = statements.account_questions([part.name for part in parts], lock=True)
    found = writer.read(*accounts, *(question for part in parts for question in _questions(part, request)))
    known, answers = found[: len(accounts)], found[len(accounts) :]
    each = len(answers) // len(parts)
    held = [statements.account_in(writer, part.name, known, place, lock=True) for place, part in enumerate(parts)]
    return [
        _dataset_state(part, account, request, answers[place * each : (place + 1) * each])
        for place, (part, account) in enumerate(zip(parts, held, strict=True))
    ]


def _refuse_duplicates(given: list[str], names: list[str]) -> None:
    """A dataset is charged once for a query, by any of its names."""
    if not names or len(set(names)) != len(names):
        raise ParameterError(
            f"a charge to {given}", because="it names no dataset, or one twice", instead="each dataset once"
        )


def _dataset_state(
    part: DatasetCharge, account: Account, request: ChargeRequest, answers: list[list[Row]]
) -> _DatasetState:
    shares, versions, by_request, *by_question = answers
    share, has_share = statements.share_in(shares, account.name, request.analyst)
    return _DatasetState(
        part=part,
        account=account,
        share=share,
        has_share=has_share,
        registered=versions[0]["registered"] if versions else None,
        by_request=stored_charge.charge_in(by_request),
        by_question=() if request.fresh else tuple(map(stored_charge.charge_in, by_question)),
    )


def _earlier(found: list[_DatasetState], request: ChargeRequest) -> list[StoredCharge] | None:
    """The charge of this request, or of the same query; for several datasets, only one made for them all."""
    requested = [each.by_request for each in found]
    if any(requested):
        pairs = list(zip(requested, found, strict=True))
        if not all(each is not None and _is_same(each, own.part, request) for each, own in pairs):
            raise _reused_request_error(request)
        if not all(each is not None and _is_usable(each, own, request) for each, own in pairs):
            raise _changed_plan_error(request)
        if not all(each is not None and _is_paid(each) for each in requested):
            raise LedgerError(faults.DAMAGED)
        return [each for each in requested if each is not None]
    ranked = [(_rank(charges, found, request), charges) for charges in _earlier_charges(found, request)]
    rank, charges = min(ranked, key=lambda pair: pair[0], default=(_UNUSABLE, []))
    return None if rank == _UNUSABLE else charges


def _earlier_charges(found: list[_DatasetState], request: ChargeRequest) -> Iterator[list[StoredCharge]]:
    """The charges of the same query under each of its fingerprints, the present one first."""
    for same in zip(*(each.by_question for each in found), strict=True):
        charges = [each for each in same if each is not None]
        if len(charges) < len(found) or len({(each.link.analyst, each.link.request) for each in charges}) > 1:
            continue
        if not all(map(_is_paid, charges)):
            continue
        if all(_is_the_question(each.link, own.part, request) for each, own in zip(charges, found, strict=True)):
            yield charges


def _rank(charges: list[StoredCharge], found: list[_DatasetState], request: ChargeRequest) -> int:
    """What an earlier charge is good for: its answer, a wait for it, to be taken over, or nothing."""
    if any(each.state is State.ANSWERED for each in charges):
        return 0
    if not all(each.is_expired for each in charges):
        return 1
    alike = all(_is_planned_alike(each.link, own, request) for each, own in zip(charges, found, strict=True))
    return 2 if alike else _UNUSABLE


def _is_paid(charge: StoredCharge) -> bool:
    """Whether a charge cost what its own event costs at least; an answer of a planted one below that is not given."""
    return admission.is_paid(charge.link.cost, charge.link.event)


def _is_the_question(link: ChainLink, part: DatasetCharge, request: ChargeRequest) -> bool:
    """Whether a charge under a fingerprint of this query was to the same version and the same other datasets."""
    return link.version == part.version and link.detail == request.detail().get("detail")


def _is_planned_alike(link: ChainLink, own: _DatasetState, request: ChargeRequest) -> bool:
    """Whether an earlier charge paid for just what would be done now: only then may it be taken over.

    A stored answer is repeated under any plan. An answer that is still to be made is made as it is planned now, so its
    own event must be the one that was charged, at its price: the database cannot compute it, and takes any. The price
    is that of the present order, or by rho, which bounds it at every order.
    """
    is_paid = link.cost in (own.cost, own.part.cost(None))
    return is_paid and (link.event, link.digest) == (own.part.text, request.digest)


def _is_same(charge: StoredCharge, part: DatasetCharge, request: ChargeRequest) -> bool:
    """Whether the charge of a request key was for this query."""
    return charge.link.question in request.fingerprints and _is_the_question(charge.link, part, request)


def _is_usable(charge: StoredCharge, own: _DatasetState, request: ChargeRequest) -> bool:
    """Whether a charge of this query is good for a retry; one that has no outcome yet, only for the same plan."""
    return charge.state is not State.RESERVED or _is_planned_alike(charge.link, own, request)


def _reused_request_error(request: ChargeRequest) -> ParameterError:
    return ParameterError(
        f"idempotency key {request.request!r} for another query",
        because="a key belongs to one query",
        instead="idempotency_key=None, or another key for each query",
    )


def _changed_plan_error(request: ChargeRequest) -> ParameterError:
    return ParameterError(
        f"idempotency key {request.request!r} for a query that is planned otherwise now",
        because="its charge has no answer yet and was for other noise",
        instead="another idempotency key, which is a charge of its own",
    )


def _repeat(
    writer: LedgerWriter, request: ChargeRequest, earlier: list[StoredCharge], found: list[_DatasetState]
) -> Reservation | Waiting:
    first = max(earlier, key=lambda each: each.state is State.ANSWERED)
    receipts = tuple(receipt_of(each.link) for each in earlier)
    if any(each.state is State.FORFEITED for each in earlier):
        raise Failure
    if first.state is State.ANSWERED:
        return Reservation(receipts=receipts, attempt=first.attempt, payload=first.payload)
    if not all(each.is_expired for each in earlier):
        return Waiting()
    for own in found:
        _check_registration(writer, own)
    for charge, own in zip(earlier, found, strict=True):
        _resume(writer, request, charge, own)
    return Reservation(receipts=receipts, attempt=first.attempt + 1)


def _is_given_up(writer: LedgerWriter, request: ChargeRequest, earlier: list[StoredCharge]) -> bool:
    """Whether an expired charge is of somebody else who may fail no more: taken over, it would be one more failure."""
    if not all(each.state is State.RESERVED and each.is_expired for each in earlier):
        return False
    places = [(each.link.dataset, each.link.analyst or "") for each in earlier if each.link.analyst != request.analyst]
    shares = [statements.share(writer, dataset, analyst)[0] for dataset, analyst in places]
    return any(share.failures >= share.most_failures for share in shares)


def _forfeit_expired_charge(writer: LedgerWriter, charge: StoredCharge, own: _DatasetState) -> _DatasetState:
    """What was found, once the charge of somebody who never came back is forfeited."""
    after = outcome.forfeit_charge(writer, own.account, charge, outcome.EXPIRED)
    return replace(own, account=after, by_question=())


def _upgrade(writer: LedgerWriter, own: _DatasetState) -> _DatasetState:
    """What was found, once what an earlier version recorded is stated in the terms of the budget."""
    if not own.account.lacks_order and not lacks_delta(own.share.quota, own.account.budget):
        return own
    after = limits.upgrade_records(writer, own.account)
    share = own.share.restated(own.account.order, after.order) if own.account.lacks_order else own.share
    return replace(own, account=after, share=share.in_terms_of(after.budget))


def _resume(writer: LedgerWriter, request: ChargeRequest, charge: StoredCharge, own: _DatasetState) -> None:
    """Take over a charge whose holder let the lease expire: the charge stands, and its holder's failure is counted."""
    _refuse_planted_charge(writer, own)
    whose = charge.link.analyst or ""
    share, _ = statements.share(writer, own.account.name, whose)
    refusal = share.refusal(NOTHING) if share.failures >= share.most_failures else None
    if refusal is not None:
        raise refusal
    writer.append(own.account, stored_charge.outcome_of(own.account, charge, Kind.RESUMED))
    stored_charge.resume(writer, charge, request.term)
    statements.fail(writer, own.account.name, whose)


def _refuse_planted_charge(writer: LedgerWriter, own: _DatasetState) -> None:
    """Refuse a charge that the totals do not hold: no rule of the database ties an event to them."""
    if statements.charged_total(writer, own.account.name) != own.account.spent:
        raise LedgerError(faults.DAMAGED)


def _check_registration(writer: LedgerWriter, each: _DatasetState) -> None:
    if each.registered is None:
        raise register.unknown_version_error(writer, each.account, each.part.version)
    if each.part.registration not in (None, each.registered):
        raise registration.replaced_registration_error(each.account.name)


def _refusal(each: _DatasetState) -> BudgetError | None:
    known, cost = each.account, each.cost
    if not known.caps.admit(known.spent + cost):
        return admission.refusal(known.name, known.budget, known.spent, cost)
    return each.share.in_terms_of(known.budget).refusal(cost)


def _reject(writer: LedgerWriter, request: ChargeRequest, each: _DatasetState) -> None:
    detail = canonical({"asked": each.cost.units()})
    writer.append(each.account, each.account.link(Kind.REJECTED, detail=detail, **request.claim(each.part)))


def _reserve(writer: LedgerWriter, request: ChargeRequest, each: _DatasetState) -> ChainLink:
    """The guarded update, the analyst's share, the chained event, the reservation."""
    link = each.account.link(Kind.RESERVED, cost=each.cost, **request.claim(each.part), **request.detail())
    request.made.append(link.hash)
    writer.charge(each.account, link)
    statements.spend(writer, each.share, each.cost, is_there=each.has_share)
    writer.record(link)
    stored_charge.reserve(writer, link, request.description, request.term)
    return link
