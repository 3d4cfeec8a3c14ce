"""Choices have exactly their probabilities: the bounds hold, what they leave open is settled, and draws fit the law."""

import inspect
import itertools
import math
import multiprocessing
import random
import subprocess
import sys
import warnings
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.samplers import categorical
from entropy_taken_away import refused
from fits import fit
from loops import A_SECOND, loops

FALSE_ALARM = 1e-6
RATES = [Fraction(1, 20), Fraction(1, 2), Fraction(7, 3), Fraction(50), Fraction(1, 999), Fraction(1000), Fraction(31)]
TINY = [Fraction(1, 10**6), Fraction(1, 2**31), Fraction(1, 2**31 + 1), Fraction(3, 2**33), Fraction(1, 10**25)]
FINE = Context(prec=90, Emin=-(10**9), Emax=10**9)


def near(exponent, bits=categorical.BITS):
    """2^bits e^(-exponent) to some eighty digits, by another precision than the code's."""
    power = FINE.exp(FINE.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))
    return Fraction(power) * 2**bits


def held(weights, gaps):
    """Check that the weight of each gap lies within its bounds, and return how far apart they are at most."""
    steps = categorical._steps(categorical._read(gaps), 0, weights)
    values = weights.values(steps)
    widest = 0
    for gap, low, high in zip(gaps, weights.lows(values).tolist(), weights.highs(values).tolist(), strict=True):
        assert low <= near(weights.rate * gap, weights.bits) * (1 + Fraction(1, 10**80))
        assert high >= near(weights.rate * gap, weights.bits) * (1 - Fraction(1, 10**80))
        widest = max(widest, high - low)
    return widest


@pytest.mark.guarantee("samplers.categorical")
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_every_gap_that_matters_has_its_weight_within_the_bounds(rate):
    weights = categorical.weights_of(rate)
    gaps = [*range(min(weights.cap + 3, 4_200)), *range(4_200, weights.cap + 50, 13)]
    assert held(weights, gaps) <= 3


@pytest.mark.parametrize("rate", TINY, ids=str)
def test_gaps_of_many_digits_have_their_weights_within_the_bounds(rate):
    weights = categorical.weights_of(rate)
    end = weights.end(0)
    edges = [4096**power * scale + move for power in (1, 2) for scale in (1, 2, 4095) for move in (-1, 0, 1)]
    edges = [edge << weights.shift for edge in edges] + [(edge << weights.shift) - 1 for edge in edges]
    gaps = [random.randrange(end) for _ in range(300)] + [random.randrange(end) >> 5 for _ in range(300)]  # noqa: S311
    gaps += [gap for gap in edges if gap >= 0] + [0, 1, 2, end - 1, end, end + 1, 5 * end, 10**40]
    assert held(weights, gaps) <= 7


@pytest.mark.parametrize("bits", [1, 2, 4, 7])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 500), Fraction(2)], ids=str)
def test_the_bounds_hold_for_any_number_of_bits(rate, bits):
    held(categorical.weights_of(rate, bits), list(range(0, 2_000, 3)))


@pytest.mark.parametrize("rate", [Fraction(1, 20), Fraction(1, 999)], ids=str)
def test_the_entries_of_a_table_are_exact(rate):
    for place, table in enumerate(categorical.weights_of(rate).tables):
        for digit in range(0, 4096, 5):
            assert table[digit] == math.floor(near(rate * digit * 4096**place))


def test_an_entry_that_160_bits_leave_open_is_found_by_more():
    assert categorical._floor(Fraction(1, 3), 31) == math.floor(near(Fraction(1, 3)))
    assert categorical._table(Fraction(1, 2**200), 31)[:3].tolist() == [2**31, 2**31 - 1, 2**31 - 1]


@pytest.mark.guarantee("samplers.categorical")
@pytest.mark.parametrize("exponent", [Fraction(1, 100), Fraction(1, 3), Fraction(2), Fraction(9)], ids=str)
def test_the_probabilities_of_all_ways_to_settle_a_flip_sum_to_the_weight(exponent):
    """The tree of bits, one more at a time: what says True, and what is left open, hold the weight between them."""
    sure, undecided = Fraction(0), [0]
    for bits in range(1, 120):
        children = [2 * drawn + bit for drawn in undecided for bit in (0, 1)]
        verdicts = {drawn: categorical.verdict(drawn, bits, exponent) for drawn in children}
        sure += Fraction(sum(found is True for found in verdicts.values()), 2**bits)
        undecided = [drawn for drawn, found in verdicts.items() if found is None]
        weight = near(exponent, 0)
        assert len(undecided) <= 2
        assert sure <= weight * (1 + Fraction(1, 10**80))
        assert weight * (1 - Fraction(1, 10**80)) <= sure + Fraction(len(undecided), 2**bits)


@pytest.mark.guarantee("samplers.categorical")
def test_the_probabilities_of_all_first_bits_and_all_ways_to_settle_them_sum_to_the_weight():
    """With 4 bits in the place of 31, every path: sure, refused, or settled by 40 more bits one at a time."""
    weights, unit = categorical.weights_of(Fraction(1, 3), 4), Fraction(1, 16)
    settled = 0
    for gap in range(14):
        values = weights.values(np.array([gap], dtype=np.uint64))
        low, high = int(weights.lows(values)[0]), int(weights.highs(values)[0])
        sure, undecided = low * unit, list(range(low, high))
        settled += len(undecided)
        for bits in range(4, 44):
            verdicts = {drawn: categorical.verdict(drawn, bits, weights.rate * gap) for drawn in undecided}
            sure += Fraction(sum(found is True for found in verdicts.values()), 2**bits)
            left = [drawn for drawn, found in verdicts.items() if found is None]
            undecided = [2 * drawn + bit for drawn in left for bit in (0, 1)]
        weight = near(weights.rate * gap, 0)
        assert sure <= weight * (1 + Fraction(1, 10**80)) <= sure + Fraction(len(left), 2**43) + Fraction(1, 10**70)
    assert settled > 10


@pytest.mark.statistical(false_alarm=4e-6)
@pytest.mark.parametrize("bits", [1, 3, categorical.BITS])
def test_flips_are_true_as_often_as_they_should_be_with_few_bits_too(bits, samples):
    """False-alarm rate 1e-6 for each of four gaps; with 1 or 3 bits most flips are settled by further ones."""
    weights = categorical.weights_of(Fraction(1, 4), bits)
    for gap in (0, 1, 4, 11):
        kept = categorical._flip_coins(np.full(samples(8_000), gap, dtype=np.uint64), weights)
        share = math.exp(-gap / 4)
        assert fit(kept.tolist(), {True: share, False: 1 - share}) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=2e-6)
def test_flips_of_gaps_beyond_64_bits_are_exact_too(samples):
    """False-alarm rate 1e-6 for each of two gaps."""
    many = samples(5_000)
    for rate, gap in ((Fraction(1, 2**90), 2**90), (Fraction(1, 3 * 10**30), 10**30)):
        kept = categorical.flips([gap] * many + [0, 10**60], rate)
        share = math.exp(-float(rate * gap))
        assert fit(kept[:many].tolist(), {True: share, False: 1 - share}) > FALSE_ALARM
        assert kept[many]
        assert not kept[many + 1]


def test_a_flip_of_gap_zero_is_always_true_and_one_far_away_never():
    """The second has a probability below e^-(10^6)."""
    assert categorical.flips(np.zeros(100_000, dtype=np.int32), Fraction(1, 9)).all()
    assert not categorical.flips(np.full(100_000, 10**7), Fraction(1, 9)).any()
    assert categorical.flips([], Fraction(1)).tolist() == []


def weights_of(gaps, rate):
    return [math.exp(-float(rate) * gap) for gap in gaps]


@pytest.mark.guarantee("samplers.categorical")
@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(3)], ids=str)
@pytest.mark.parametrize("gaps", [[0, 0, 0], [0, 1, 2, 3, 9, 40], [5, 3, 3, 20], [0], [0, 10**30, 2]], ids=str)
def test_choices_fit_their_probabilities(gaps, rate, samples):
    """False-alarm rate 1e-6 for each."""
    shares = weights_of([gap - min(gaps) for gap in gaps], rate)
    law = {place: share / sum(shares) for place, share in enumerate(shares)}
    assert fit((categorical.choose(gaps, rate) for _ in range(samples(4_000))), law) > FALSE_ALARM


def first_kept_law(gaps, rate):
    """The mean over all orders of the chance to be the first that is kept."""
    kept = weights_of(gaps, rate)
    law = dict.fromkeys(range(len(gaps)), 0.0)
    orders = list(itertools.permutations(range(len(gaps))))
    for order in orders:
        left = 1.0 / len(orders)
        for place in order:
            law[place] += left * kept[place]
            left *= 1 - kept[place]
    return law


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("gaps", [[0, 0, 0], [0, 1, 2, 3, 9], [4, 0], [0]], ids=str)
def test_the_first_kept_in_a_random_order_fits_its_probabilities(gaps, samples):
    """False-alarm rate 1e-6 for each."""
    rate = Fraction(1, 3)
    draws = [categorical.permute_and_flip(np.array(gaps), rate) for _ in range(samples(4_000))]
    assert fit(draws, first_kept_law(gaps, rate)) > FALSE_ALARM


def peeled_law(gaps, rate, count):
    shares = weights_of(gaps, rate)
    law = {}
    for places in itertools.permutations(range(len(gaps)), count):
        share = 1.0
        for turn, place in enumerate(places):
            share *= shares[place] / math.fsum(shares[other] for other in set(range(len(gaps))) - set(places[:turn]))
        law[places] = share
    return law


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("gaps", [[0, 0, 0, 0], [3, 0, 1, 9], [0, 10**25, 10**25 + 2, 1], [0, 60, 120, 5]], ids=str)
def test_peeling_fits_its_probabilities(gaps, count, samples):
    """False-alarm rate 1e-6 for each; gaps of 60 are beyond the urn while the best is in it."""
    rate = Fraction(1, 2)
    shifted = [gap - 10**25 + 200 if gap >= 10**25 else gap for gap in gaps]
    draws = [tuple(categorical.choose_without_replacement(gaps, rate, count)) for _ in range(samples(3_000))]
    assert fit(draws, peeled_law(shifted, rate, count)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("bits", [1, 3])
def test_choices_fit_their_probabilities_with_few_bits_too(bits, samples):
    """False-alarm rate 1e-6 for each; with few bits most choices are settled by further ones or drawn again."""
    gaps, weights = [0, 1, 1, 5, 30], categorical.weights_of(Fraction(1, 2), bits)
    law = peeled_law(gaps, weights.rate, 3)
    ranked = np.array(gaps, dtype=np.uint64)
    draws = [tuple(categorical._choose_places(ranked, weights, 3)) for _ in range(samples(3_000))]
    assert fit(draws, law) > FALSE_ALARM


def test_peeling_all_gives_every_index_once_whatever_the_gaps():
    """Many refills of the urn: dense, spread, equal, wide, with ties in the leading bits."""
    for gaps in ([0] * 50, list(range(500)), [100 * place for place in range(200)], [2**90] * 30 + [2**90 + 1, 0] * 20):
        assert sorted(categorical.choose_without_replacement(gaps, Fraction(1, 3), len(gaps))) == list(range(len(gaps)))


def test_what_is_sorted_is_in_order_where_leading_bits_tie():
    gaps = [2**100 + 5, 2**100 + 1, 7, 3, 2**99, 2**100 + 3, 3]
    order, ranked = categorical._sort_gaps(list(gaps))
    assert ranked == sorted(gaps)
    assert [gaps[place] for place in order] == ranked


def test_arrays_and_lists_of_any_integers_are_read_alike():
    for gaps in (
        [0, 5, 9],
        np.array([0, 5, 9], dtype=np.uint8),
        np.array([0, 5, 9], dtype=object),
        (0, 5, np.int64(9)),
    ):
        assert categorical._read(gaps).tolist() == [0, 5, 9]
    assert categorical._read(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [0, 2**64 - 1]
    assert categorical.choose(np.array([2**64 - 1, 0], dtype=np.uint64), Fraction(1)) == 1


@pytest.mark.parametrize("draw", [categorical.choose, categorical.permute_and_flip])
@pytest.mark.parametrize("gaps", [[], [-1, 0], np.array([-1, 0]), [2**70, -1]], ids=str)
def test_gaps_that_are_none_are_refused(draw, gaps):
    with pytest.raises(ParameterError) as refusal:
        draw(gaps, Fraction(1))
    assert "-1" not in str(refusal.value)


def test_no_best_candidate_more_choices_than_candidates_and_strange_rates_are_refused():
    with pytest.raises(ParameterError, match="all above zero"):
        categorical.permute_and_flip([1, 2], Fraction(1))
    with pytest.raises(ParameterError, match="more choices"):
        categorical.choose_without_replacement([1, 2], Fraction(1), 3)
    for rate in (0, -1, math.nan, True, "1"):
        with pytest.raises(ParameterError, match="rate"):
            categorical.flips([1], rate)
    with pytest.raises(TypeError):
        categorical.flips([1.5], Fraction(1))


@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("below", [1, 2, 3, 10, 2**63])
def test_whole_numbers_are_uniform(below, samples):
    """False-alarm rate 1e-6 for each of two fits; the largest in 10 equal parts."""
    drawn = categorical.uniform(below, samples(5_000))
    assert drawn.min() >= 0
    parts = min(below, 10)
    cells = [int(number) * parts // below for number in drawn]
    assert fit(cells, dict.fromkeys(range(parts), 1 / parts)) > FALSE_ALARM
    assert len(categorical.uniform(below, 0)) == 0
    assert fit((categorical._below(3) for _ in range(samples(3_000))), dict.fromkeys(range(3), 1 / 3)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
def test_orders_are_uniform(samples):
    """False-alarm rate 1e-6."""
    law = dict.fromkeys(itertools.permutations(range(4)), 1 / 24)
    assert fit((tuple(categorical.permutation(4).tolist()) for _ in range(samples(4_800))), law) > FALSE_ALARM
    assert categorical.permutation(0).tolist() == []
    assert sorted(categorical.permutation(1_000).tolist()) == list(range(1_000))


def test_bounds_and_counts_that_are_none_are_refused():
    for below in (0, -1, 1.5, True, 2**63 + 1):
        with pytest.raises(ParameterError):
            categorical.uniform(below, 1)
    with pytest.raises(ParameterError, match="count"):
        categorical.permutation(-1)


def test_no_seed_exists_and_the_seeds_of_others_change_nothing():
    """False-alarm rate below 1e-100."""
    for draw in (
        categorical.flips,
        categorical.choose,
        categorical.choose_without_replacement,
        categorical.permute_and_flip,
        categorical.uniform,
        categorical.permutation,
    ):
        assert set(inspect.signature(draw).parameters) <= {"gaps", "rate", "count", "below"}
    random.seed(1)
    first = categorical.uniform(2**63, 20).tolist()
    random.seed(1)
    assert categorical.uniform(2**63, 20).tolist() != first


def _draw_in_a_child(queue):
    queue.put(categorical.uniform(2**63, 50).tolist())


@pytest.mark.pitfall("D")
def test_forked_workers_share_no_choices():
    """False-alarm rate below 1e-13: 150 draws of 63 bits."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of fork beside threads
        workers = [context.Process(target=_draw_in_a_child, args=(queue,)) for _ in range(2)]
        for worker in workers:
            worker.start()
    drawn = [number for _ in workers for number in queue.get(timeout=60)] + categorical.uniform(2**63, 50).tolist()
    for worker in workers:
        worker.join(timeout=60)
    assert len(set(drawn)) == 150


DRAWS = """
from fractions import Fraction
from discreet.samplers import categorical
one = Fraction(1)
draws = [lambda: categorical.flips([1, 2], one), lambda: categorical.choose([0, 2], one),
         lambda: categorical.uniform(9, 1), lambda: categorical.permute_and_flip([0, 2], one),
         lambda: categorical.permutation(3)]
"""


@pytest.mark.pitfall("D")
def test_a_machine_without_entropy_chooses_nothing():
    """The kernel itself refuses getrandom to a child process."""
    assert refused(DRAWS) == 5


@pytest.mark.parametrize("shape", ["equal", "one far above", "spread", "wide"])
@pytest.mark.nightly
@pytest.mark.timing
def test_a_million_candidates_take_well_under_a_second(shape):
    """In turns of a plain loop, of which a second has about 17 million: the machine is shared, and may trace."""
    gaps = {
        "equal": lambda: np.zeros(10**6, dtype=np.int64),
        "one far above": lambda: np.append(np.full(10**6 - 1, 10**12), 0),
        "spread": lambda: np.arange(10**6),
        "wide": lambda: [place << 80 for place in range(10**6)],
    }[shape]()
    for draw in (categorical.choose, categorical.permute_and_flip):
        assert loops(lambda draw=draw: draw(gaps, Fraction(1, 20))) < A_SECOND


def test_choices_are_light_to_import():
    heavy = {"scipy", "pandas", "polars", "pyarrow", "opendp", "matplotlib", "duckdb"}
    code = f"import sys, discreet.samplers.categorical; print(sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"
