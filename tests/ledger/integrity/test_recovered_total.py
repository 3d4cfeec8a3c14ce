"""Where lost histories parted from the chain, and which of them are added to its total.

Each charge costs one unit. Times are seconds.
"""

from datetime import UTC, datetime, timedelta

import pytest

from discreet.accounting.costs import Cost
from discreet.accounting.filters import Budget
from discreet.catalog.privacy_unit import Neighbours
from discreet.ledger import Anchor, Kind
from discreet.ledger.integrity import recovered_total
from discreet.ledger.integrity.evidence import DatasetRows
from discreet.ledger.integrity.lost_histories import LostHistory
from discreet.ledger.integrity.recovered_total import SKEWS, RecoveryCase, RecoveryEvidence
from discreet.ledger.records.account import Account
from discreet.ledger.records.chain import GENESIS, ChainLink, columns_of

pytestmark = [pytest.mark.guarantee("ledger"), pytest.mark.pitfall("B18")]

BUDGET = Budget(epsilon=1)
START = datetime(2026, 1, 1, tzinfo=UTC)


def stamp(second: float) -> str:
    return (START + timedelta(seconds=second)).isoformat(timespec="microseconds")


def units(number: int) -> Cost:
    return Cost(number, number, 0, number)


def chain_of(*seconds: float) -> list[ChainLink]:
    """A chain of charges at some times."""
    links: list[ChainLink] = []
    for sequence, second in enumerate(seconds, 1):
        link = ChainLink(
            dataset="visits",
            sequence=sequence,
            kind=Kind.RESERVED,
            time=stamp(second),
            version=1,
            previous=links[-1].hash if links else GENESIS,
            library="test",
            cost=units(1),
        )
        links.append(link)
    return links


def anchor(sequence: int, head: str, second: float, home: str) -> Anchor:
    """An anchor of a home, after as many charges as its number says."""
    return Anchor(
        ledger="ab",
        dataset="visits",
        sequence=sequence,
        head=head,
        spent=units(sequence),
        budget={},
        time=stamp(second),
        store="one",
        home=home,
        key="k",
    )


def lost_anchor(sequence: int, second: float, home: str = "own") -> Anchor:
    return anchor(sequence, f"lost {sequence}", second, home)


def case_of(links: list[ChainLink], *anchors: Anchor) -> RecoveryCase:
    known = Account(
        name="visits",
        unit="patient_id",
        neighbours=Neighbours.ADD_REMOVE,
        hash_key="key",
        budget=BUDGET,
        caps=BUDGET.caps(),
        spent=units(len(links)),
        sequence=links[-1].sequence,
        head=links[-1].hash,
    )
    held = DatasetRows(name="visits", dataset=known.row(), events=[columns_of(each) for each in links])
    return RecoveryCase(known, held, RecoveryEvidence(name="visits", anchors=anchors, receipts=(), reason="a test"))


def parting_of(case: RecoveryCase) -> recovered_total._Parting:
    return recovered_total._Parting.of(case, LostHistory(tuple(case.lost_anchors)))


def common_number(case: RecoveryCase) -> int | None:
    common = parting_of(case).common
    return None if common is None else common.sequence


def seconds_of_limit(case: RecoveryCase) -> float:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=parting_of(case).limit)
    return (moment - START).total_seconds()


def is_fork(case: RecoveryCase) -> bool:
    return recovered_total._is_fork(case, parting_of(case))


def total(case: RecoveryCase) -> int:
    found = recovered_total.recovered_total(case)
    assert found == units(found.rho)
    return found.rho


@pytest.mark.parametrize("home", ["own", "other"])
def test_an_anchor_in_the_chain_is_common_if_it_is_older_than_the_lost_one(home):
    links = chain_of(1, 2, 3)
    standing = [anchor(number, links[number - 1].hash, number, home) for number in (1, 2)]
    assert common_number(case_of(links, *standing, lost_anchor(4, 10))) == 2


@pytest.mark.parametrize("home", ["own", "other"])
def test_an_anchor_in_the_chain_is_not_common_if_it_is_later_than_the_lost_one(home):
    links = chain_of(1, 2, 30)
    standing = [anchor(1, links[0].hash, 1, home), anchor(3, links[2].hash, 30, home)]
    assert common_number(case_of(links, *standing, lost_anchor(4, 10))) == 1


def test_an_anchor_with_the_number_of_the_lost_one_or_a_higher_one_is_not_common():
    links = chain_of(1, 2, 3)
    standing = [anchor(number, links[number - 1].hash, number, "own") for number in (1, 2, 3)]
    assert common_number(case_of(links, *standing, lost_anchor(2, 10))) == 1


def test_an_anchor_of_another_home_is_common_only_if_it_is_before_the_limit():
    """Times in the chain fall by one second, so times of two homes are ordered if they differ by more than ten."""
    links = chain_of(1, 3, 2)
    for second, expected in [(50 - SKEWS, 2), (51 - SKEWS, None)]:
        case = case_of(links, anchor(2, links[1].hash, second, "other"), lost_anchor(4, 50))
        assert common_number(case) == expected


def test_an_anchor_of_the_own_home_is_common_also_after_the_limit():
    links = chain_of(1, 3, 2)
    assert common_number(case_of(links, anchor(2, links[1].hash, 49, "own"), lost_anchor(4, 50))) == 2


def test_without_an_anchor_in_the_chain_nothing_is_common():
    assert common_number(case_of(chain_of(1, 2), lost_anchor(4, 10))) is None


def test_the_limit_is_the_time_of_the_lost_anchor_if_times_in_the_chain_never_fall():
    assert seconds_of_limit(case_of(chain_of(1, 2, 2, 3), lost_anchor(5, 10))) == 10


def test_the_limit_is_earlier_by_ten_times_the_largest_fall_of_times_in_the_chain():
    assert seconds_of_limit(case_of(chain_of(1, 3, 2.5, 1, 2), lost_anchor(6, 50))) == 50 - SKEWS * 2


def test_a_fall_before_the_last_own_anchor_in_the_chain_does_not_move_the_limit():
    links = chain_of(3, 1, 5, 6)
    for home, expected in [("own", 50), ("other", 50 - SKEWS * 2)]:
        case = case_of(links, anchor(3, links[2].hash, 5, home), lost_anchor(5, 50))
        assert seconds_of_limit(case) == expected


def test_nothing_is_before_a_lost_anchor_whose_time_cannot_be_read():
    links = chain_of(1, 2)
    lost = Anchor(**vars(lost_anchor(3, 10)) | {"time": "nonsense"})
    case = case_of(links, anchor(2, links[1].hash, 2, "other"), lost)
    assert parting_of(case).common is None
    assert parting_of(case).limit == -1
    assert total(case) == 2 + 3


def test_an_older_copy_that_nobody_charged_is_the_beginning_of_the_lost_history():
    case = case_of(chain_of(1, 2), lost_anchor(5, 10))
    assert not is_fork(case)
    assert total(case) == 5


def test_a_chain_with_another_event_at_the_number_of_the_lost_anchor_is_a_fork():
    links = chain_of(1, 2, 3)
    assert is_fork(case_of(links, lost_anchor(3, 10)))
    assert not is_fork(case_of(links, lost_anchor(4, 10)))
    assert total(case_of(links, lost_anchor(3, 10))) == 3 + 3
    assert total(case_of(links, anchor(1, links[0].hash, 1, "own"), lost_anchor(3, 10))) == 3 + 2


def test_a_shorter_chain_with_an_event_later_than_the_lost_anchor_is_a_fork():
    links = chain_of(1, 2, 11)
    assert total(case_of(links, lost_anchor(5, 10))) == 3 + 5
    assert total(case_of(links, anchor(2, links[1].hash, 2, "other"), lost_anchor(5, 10))) == 3 + 3
    assert not is_fork(case_of(links, lost_anchor(5, 11)))


def test_an_event_up_to_the_last_common_anchor_makes_no_fork_whatever_its_time():
    links = chain_of(1, 3, 2)
    case = case_of(links, anchor(2, links[1].hash, 3, "own"), lost_anchor(5, 2 + SKEWS))
    assert seconds_of_limit(case) == 2
    assert not is_fork(case)


def test_a_chain_whose_clocks_differ_is_a_fork_if_an_event_may_be_later_than_the_lost_anchor():
    links = chain_of(1, 3, 2)
    assert total(case_of(links, lost_anchor(5, 4 + SKEWS))) == 5
    assert total(case_of(links, lost_anchor(5, 2 + SKEWS))) == 3 + 5


def test_a_chain_whose_last_event_alone_was_deleted_is_not_a_fork():
    links = chain_of(1, 2, 3)
    whole = case_of(links, anchor(3, links[2].hash, 4, "own"))
    held = DatasetRows(name="visits", dataset=whole.known.row(), events=[columns_of(each) for each in links[:2]])
    assert total(RecoveryCase(whole.known, held, whole.proof)) == 3


def test_of_several_lost_histories_that_are_no_forks_one_goes_on_from_the_chain_and_the_others_are_added():
    links = chain_of(1, 2)
    common = anchor(2, links[1].hash, 2, "own")
    apart = Anchor(**vars(lost_anchor(4, 10, "other")) | {"store": "two"})
    assert total(case_of(links, common, lost_anchor(6, 10), apart)) == 6 + 2
