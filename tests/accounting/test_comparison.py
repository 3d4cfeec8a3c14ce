"""One table, every accountant, the same events."""

import subprocess
import sys
from fractions import Fraction

import pytest

from discreet import accounting, events
from discreet.accounting.comparison import ACCOUNTANTS, compare
from discreet.errors import AccountingError, ParameterError
from loops import times_as_long

ORDERED = ["pure", "basic", "advanced", "concentrated", "concentrated, loose", "renyi", "pld"]


@pytest.mark.guarantee("accounting.comparison")
def test_every_accountant_has_a_row_and_the_loss_distribution_is_the_tightest():
    table = compare(events.RepeatedEvent(events.DiscreteLaplaceEvent(10, 1), 40), delta=1e-6)
    assert [row.accountant for row in table.rows] == ORDERED == list(ACCOUNTANTS)
    assert all(row.epsilon is not None for row in table.rows)
    assert table.tightest.accountant == "pld"
    assert table["pure"].epsilon == table["basic"].epsilon == 4.0
    figures = {row.accountant: row.epsilon for row in table.rows}
    assert figures["pld"] < figures["renyi"] < figures["concentrated"] < figures["concentrated, loose"] < 4.0


def test_accountants_that_refuse_say_why():
    table = compare([events.DiscreteGaussianEvent(100, 1), events.DiscreteLaplaceEvent(10, 1)], delta=1e-6)
    for name in ("pure", "basic", "advanced"):
        assert table[name].epsilon is None
        assert table[name].note.startswith("refused because Gaussian noise")
    assert table["concentrated"].epsilon is not None


def test_a_delta_below_those_of_the_events_is_refused_by_all():
    table = compare(events.ApproximateEvent(1, 1e-5), delta=1e-6)
    assert all(row.epsilon is None for row in table.rows)
    assert "deltas of their own that sum to 1e-05" in table["basic"].note
    assert compare(events.ApproximateEvent(1, 1e-6), delta=1e-6)["basic"].epsilon == 1.0


def test_the_table_reads_as_text_and_as_html():
    table = compare([events.DiscreteLaplaceEvent(10, 1), events.GaussianEvent(100, 1)], delta=1e-6)
    lines = str(table).splitlines()
    assert lines[0] == "at delta 1e-06"
    assert len(lines) == 2 + len(ORDERED)
    column = lines[1].index("epsilon") + len("epsilon")
    for line, row in zip(lines[2:], table.rows, strict=True):
        assert line.startswith(row.accountant)
        assert line[column - 1] != " "
        assert line[column : column + 2] == "  "
    text = table._repr_html_()
    assert text.count("<tr>") == 1 + len(ORDERED)
    assert "<caption>" in text
    assert 'scope="row"' in text


def test_figures_are_rounded_up():
    table = compare(events.PureEvent(Fraction(1, 3)), delta=1e-6)
    assert "0.333334" in str(table)
    assert table["pure"].epsilon >= Fraction(1, 3)


def test_an_unknown_event_is_refused_before_any_accountant_sees_it():
    for strange in (object(), [events.PureEvent(1), object()], events.ComposedEvent((object(),)), "laplace"):
        with pytest.raises(AccountingError, match="its privacy cost is not known"):
            compare(strange, delta=1e-6)


def test_without_a_row_that_states_an_epsilon_none_is_tightest():
    with pytest.raises(AccountingError, match="tightest"):
        _ = compare(events.ApproximateEvent(1, 1e-5), delta=1e-6).tightest


def test_at_delta_zero_only_sums_of_epsilons_are_left():
    assert "0" in str(compare(events.PureEvent(0), delta=1e-6)).splitlines()[2].split()
    table = compare(events.PureEvent(1), delta=0)
    assert table["pure"].epsilon == table["basic"].epsilon == 1.0
    assert table["concentrated"].epsilon is None
    with pytest.raises(KeyError):
        _ = table["magic"]
    with pytest.raises(ParameterError):
        compare(events.PureEvent(1), delta=2)


def test_the_family_offers_the_function_and_the_modules():
    assert accounting.compare is compare
    assert accounting.pld.epsilon(events.PureEvent(1), 1e-6) <= 1
    assert accounting.calibrate.PRECISION == 1e-6
    with pytest.raises(AttributeError, match="magic"):
        _ = accounting.magic
    assert accounting.__all__ == sorted(accounting.__all__)
    for name in accounting.__all__:
        assert getattr(accounting, name) is not None


def test_importing_the_family_loads_nothing_heavy():
    code = (
        "import sys, discreet.accounting; "
        "assert not {'scipy', 'dp_accounting', 'discreet.accounting.pld'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_family_lists_its_public_names_and_nothing_else():
    assert dir(accounting) == sorted(accounting.__all__)
    assert "importlib" not in dir(accounting)


def test_at_delta_zero_laplace_noise_is_refused_for_the_right_reason():
    table = compare(events.DiscreteLaplaceEvent(10, 1), delta=0)
    assert table["pure"].epsilon == table["basic"].epsilon == 0.1
    assert not any("Gaussian" in row.note for row in table.rows)
    assert "delta above zero" in table["concentrated"].note
    assert "delta above zero" in table["pld"].note


@pytest.mark.timing
def test_many_equal_events_are_priced_as_quickly_as_one():
    many, one = (
        [events.DiscreteLaplaceEvent(10, 1)] * 1000,
        events.RepeatedEvent(events.DiscreteLaplaceEvent(10, 1), 1000),
    )
    table = compare(many, delta=1e-6)
    assert table == compare(one, delta=1e-6)
    assert repr(table) == str(table)
    assert times_as_long(lambda: compare(many, delta=1e-6), lambda: compare(one, delta=1e-6)) < 5


def test_every_accountant_prices_events_of_bounded_range():
    table = compare([events.BoundedRangeEvent(0.1)] * 100, delta=1e-6)
    assert all(row.epsilon is not None for row in table.rows)
    same = compare([events.PureEvent(0.1)] * 100, delta=1e-6)
    assert table["pure"].epsilon == same["pure"].epsilon
    for name in ("concentrated", "renyi", "pld"):
        assert table[name].epsilon < same[name].epsilon * 0.6
