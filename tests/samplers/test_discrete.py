"""The samplers draw what they say, exactly, freshly in every process and thread, or not at all."""

import inspect
import math
import multiprocessing
import random
import subprocess
import sys
import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance
from opendp.mod import enable_features

from discreet.errors import ParameterError
from discreet.exact import rounding
from discreet.samplers import discrete
from discreet.samplers.entropy import random_bytes
from discreet.samplers.source import KeyedStream
from entropy_taken_away import refused
from enumeration import masses
from fits import alike, fit
from grids import over

FALSE_ALARM = 1e-6
KEY = bytes(range(32))
enable_features("contrib")
INTEGERS = vector_domain(atom_domain(T="i64"))
DRAWS = 20_000

NOT_SCALES = [
    math.nan, math.inf, -math.inf, 1e999, 0, 0.0, -0.0, -1.0, 1e-320, 2.0**-41, 2.0**51, True, "0.1", None, [1.0],
    Fraction(1, 3),
]  # fmt: skip


def laplace_weight(scale):
    return lambda y: math.exp(-abs(y) / scale)


def gaussian_weight(sigma):
    return lambda y: math.exp(-y * y / (2 * sigma * sigma))


def law_of(weight, reach):
    """The probabilities of values on [-reach, reach] from their weights."""
    values = range(-reach, reach + 1)
    total = math.fsum(weight(y) for y in values)
    return {y: weight(y) / total for y in values}


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 3.7, 12.0])
def test_laplace_draws_fit_their_probabilities(scale, samples):
    """False-alarm rate 1e-6 for each scale."""
    draws = discrete.discrete_laplace(scale, samples(DRAWS)).tolist()
    assert fit(draws, law_of(laplace_weight(scale), math.ceil(60 * scale) + 5)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("sigma", [0.4, 1.0, 2.5, 10.0])
def test_gaussian_draws_fit_their_probabilities(sigma, samples):
    """False-alarm rate 1e-6 for each sigma."""
    draws = discrete.discrete_gaussian(sigma, samples(DRAWS)).tolist()
    assert fit(draws, law_of(gaussian_weight(sigma), math.ceil(15 * sigma) + 5)) > FALSE_ALARM


@pytest.mark.guarantee("samplers.discrete")
@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("scale", [6.5, 40.0])
def test_draws_in_two_parts_fit_their_probabilities(scale, samples, monkeypatch):
    """The path of scales above 2^20, at scales where blocks of 4 and 32 are wide. False-alarm rate 1e-6 for each."""
    monkeypatch.setattr(discrete, "_WIDEST", 4.0)
    monkeypatch.setattr(discrete, "_NARROWED_BITS", 1)
    draws = discrete.discrete_laplace(scale, samples(DRAWS)).tolist()
    assert fit(draws, law_of(laplace_weight(scale), math.ceil(60 * scale) + 5)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("scale", [1e6, discrete.LARGEST_SCALE])
def test_wide_laplace_draws_fall_evenly_between_quantiles(scale, samples):
    """Between 64 quantiles of the continuous law, whose shares differ from the draws' by less than 1e-6 here.

    False-alarm rate 1e-6, and less than twice that for the difference: in 80,000 draws it adds more than 0.2 to the
    exponent of the fit, where its deviation is 0.02, with probability below 1e-12.
    """
    draws = discrete.discrete_laplace(scale, samples(DRAWS)).tolist()
    cells = (min(63, int(64 * (0.5 * math.exp(y / scale) if y < 0 else 1 - 0.5 * math.exp(-y / scale)))) for y in draws)
    assert fit(cells, dict.fromkeys(range(64), 1 / 64)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("sigma", [1e6, discrete.LARGEST_SCALE])
def test_wide_gaussian_draws_fall_evenly_between_quantiles(sigma, samples):
    """Between 64 quantiles of the continuous law. False-alarm rate below 2e-6, for the reason above."""
    draws = discrete.discrete_gaussian(sigma, samples(DRAWS)).tolist()
    cells = (min(63, int(32 * math.erfc(-y / sigma / math.sqrt(2)))) for y in draws)
    assert fit(cells, dict.fromkeys(range(64), 1 / 64)) > FALSE_ALARM


@pytest.mark.parametrize("draws", [DRAWS, 4 * DRAWS])
def test_the_test_of_fit_catches_noise_of_a_slightly_different_scale(draws):
    """A positive control: noise 20% too wide is caught, in the first run and when it is run again.

    The draws' number times the relative entropy has a mean of 378 and a deviation of 30, and 61 is an alarm:
    missed with probability below 1e-12.
    """
    assert fit(discrete.discrete_laplace(2.4, draws).tolist(), law_of(laplace_weight(2.0), 130)) < FALSE_ALARM
    assert fit(discrete.discrete_gaussian(3.0, draws).tolist(), law_of(gaussian_weight(2.5), 50)) < FALSE_ALARM


ORACLES = {
    "laplace": (discrete.discrete_laplace, lambda scale: make_laplace(INTEGERS, l1_distance(T="i64"), scale)),
    "gaussian": (discrete.discrete_gaussian, lambda sigma: make_gaussian(INTEGERS, l2_distance(T=float), sigma)),
}


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("scale", [0.7, 3.3, 25.0])
@pytest.mark.parametrize("law", ORACLES)
def test_draws_and_those_of_opendp_have_one_law(law, scale, samples):
    """False-alarm rate 1e-6: values beyond 8 scales are one outcome, and so are those beyond -8."""
    ours, theirs = ORACLES[law]
    many, reach = samples(DRAWS), math.ceil(8 * scale)
    one = np.clip(ours(scale, many), -reach, reach).tolist()
    other = np.clip(theirs(scale)([0] * many), -reach, reach).tolist()
    assert alike(one, other, 2 * reach + 1) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("law", ORACLES)
def test_wide_draws_and_those_of_opendp_have_one_distribution_function(law, samples):
    """Kolmogorov and Smirnov, false-alarm rate below 2e-6: beyond d with probability at most 4 e^(-n d^2/2)

    for two samples of n, since each is within d/2 of the law but for 2 e^(-n d^2/2) (Massart 1990).
    """
    ours, theirs = ORACLES[law]
    many = samples(DRAWS)
    one, other = np.sort(ours(1e7, many)), np.sort(theirs(1e7)([0] * many))
    places = np.concatenate([one, other])
    apart = np.abs(np.searchsorted(one, places, "right") - np.searchsorted(other, places, "right")).max() / many
    assert 4 * math.exp(-many * apart**2 / 2) > FALSE_ALARM


def geometric(scale):
    """Bounds on q^k, q = e^(-1/scale)."""
    return lambda k: rounding.exp(-k / Fraction(scale))


def laplace_share(scale, y):
    """Bounds on the probability that an attempt at a Laplace draw gives y: half of (1 - q) q^|y|."""
    this, next_one = geometric(scale)(abs(y)), geometric(scale)(abs(y) + 1)
    return (this.low - next_one.high) / 2, (this.high - next_one.low) / 2


def holds(decided, undecided, share):
    low, high = share
    return decided <= high and low <= decided + undecided


def outcomes_of(propose):
    def outcomes(source, rows, attempts):
        values, kept = propose(source, rows, attempts)
        return [value if is_kept else None for value, is_kept in zip(values.tolist(), kept.tolist(), strict=True)]

    return outcomes


@pytest.mark.guarantee("samplers.discrete")
@pytest.mark.parametrize("scale", [0.5, 3.25])
def test_with_words_of_eight_bits_an_attempt_at_a_laplace_draw_has_its_probabilities(scale):
    """For every value: decided mass <= true probability <= decided and undecided mass, which shrinks with each word."""
    propose = outcomes_of(lambda source, rows, attempts: discrete._signed(rows, attempts, scale, source))
    before = Fraction(1)
    for more in (0, 1):
        decided, undecided = masses(propose, [0], 8, more)
        assert undecided < before
        for y in range(-30, 31):
            assert holds(decided.get(y, 0), undecided, laplace_share(scale, y))
        before = undecided / 50
    assert holds(decided[None], undecided, laplace_share(scale, 0))


@pytest.mark.full
def test_with_words_of_four_bits_a_wide_laplace_draw_in_two_parts_has_its_probabilities(monkeypatch):
    """The path of scales above 2^20, at a scale of 6.5: blocks of 4, an offset of 2 bits and a flip."""
    monkeypatch.setattr(discrete, "_WIDEST", 4.0)
    monkeypatch.setattr(discrete, "_NARROWED_BITS", 1)
    scale, block = 6.5, 4
    propose = outcomes_of(lambda source, rows, attempts: discrete._signed(rows, attempts, scale, source))
    decided, undecided = masses(propose, [0, 1, 2], 4, 1)
    assert undecided < Fraction(1, 8)
    power = geometric(scale)
    blocks = rounding.Interval(1 - power(block).high, 1 - power(block).low)
    for y in range(-20, 21):
        true = [blocks.low * power(abs(y)).low / 8, blocks.high * power(abs(y)).high / 8]
        assert holds(decided.get(y, 0), undecided, true)


@pytest.mark.full
@pytest.mark.parametrize("sigma", [0.75, 2.5])
def test_with_words_of_five_bits_an_attempt_at_a_gaussian_draw_has_its_probabilities(sigma):
    """The share of a proposal times e^(-(|y| - sigma^2/t)^2/(2 sigma^2))."""
    variance, scale = Fraction(sigma) ** 2, int(sigma) + 1

    def propose(source, rows, attempts):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(discrete, "_accepted", lambda attempt, _: attempt(rows, attempts))
            return discrete._gaussian(sigma, 0, source)

    decided, undecided = masses(outcomes_of(propose), [0, 3], 5, 1)
    assert undecided < Fraction(1, 8)
    for y in range(-12, 13):
        kept = rounding.exp(-((abs(y) - variance / scale) ** 2) / (2 * variance))
        low, high = laplace_share(scale, y)
        assert holds(decided.get(y, 0), undecided, (low * kept.low, high * kept.high))


def test_with_words_of_five_bits_an_attempt_at_a_staircase_draw_has_its_probabilities():
    """Every integer of stair s has the weight e^(-s/scale) (1 - q) / 2 / 4: places of two bits, of which 3 are used."""
    scale, step, inner = 1.5, 3, 2

    def propose(source, rows, attempts):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(discrete, "_accepted", lambda attempt, *_: attempt(rows, attempts))
            return discrete._staircase(scale, step, inner, 0, source)

    decided, undecided = masses(outcomes_of(propose), [0, 3], 5, 0)
    for y in range(-9, 10):
        low, high = laplace_share(scale, (abs(y) + step - inner) // step)
        assert holds(decided.get(y, 0), undecided, (low / 4, high / 4))


def test_stairs_too_wide_for_64_bits_are_python_integers_and_a_stream_gives_the_same_again():
    wide = discrete.discrete_staircase(2.0**30, 2**40, 5, 200, KeyedStream(KEY)).tolist()
    assert all(type(y) is int for y in wide)
    assert max(map(abs, wide)) > 2**63
    assert discrete.discrete_staircase(2.0**30, 2**40, 5, 20, KeyedStream(KEY)).tolist() == wide[:20]


@pytest.mark.parametrize(("step", "inner"), [(0, 0), (3, 4), (3, 0), (2**62 + 1, 1), (2.0, 1)])
def test_a_step_that_cannot_be_drawn_is_refused(step, inner):
    with pytest.raises(ParameterError):
        discrete.discrete_staircase(1.0, step, inner, 1)


@pytest.mark.parametrize("scale", [0.3, 5.0, 2.0**50])
@pytest.mark.parametrize("draw", [discrete.discrete_laplace, discrete.discrete_gaussian])
def test_a_draw_from_a_keyed_stream_depends_on_its_row_alone(draw, scale):
    few, many = draw(scale, 50, KeyedStream(KEY)), draw(scale, 70_000, KeyedStream(KEY))
    assert few.tolist() == many[:50].tolist()
    assert draw(scale, 50, KeyedStream(KEY[::-1])).tolist() != few.tolist()


@pytest.mark.statistical(false_alarm=1e-6)
def test_draws_from_a_keyed_stream_fit_their_probabilities(samples):
    """False-alarm rate 1e-6; the key is fresh."""
    draws = discrete.discrete_gaussian(2.5, samples(DRAWS), KeyedStream(random_bytes(32))).tolist()
    assert fit(draws, law_of(gaussian_weight(2.5), 50)) > FALSE_ALARM


def test_the_least_scale_draws_zeros():
    """False-alarm rate below e^-(2^39)."""
    assert set(discrete.discrete_laplace(discrete.LEAST_SCALE, 50).tolist()) == {0}
    assert set(discrete.discrete_gaussian(discrete.LEAST_SCALE, 50).tolist()) == {0}


@pytest.mark.parametrize(
    "draw",
    [
        lambda: discrete.discrete_laplace(2.0**40, 5),
        lambda: discrete.discrete_gaussian(2.0**40, 5),
        lambda: discrete.discrete_staircase(2.0**9, 2**40, 2**39, 5),
    ],
    ids=["laplace", "gaussian", "staircase"],
)
def test_a_draw_that_could_leave_its_bits_ends_with_an_error(draw, monkeypatch):
    """The limit of 61 bits is not reached by chance, so it is lowered."""
    draw()
    monkeypatch.setattr(discrete, "_MOST_BITS", 30)
    with pytest.raises(OverflowError, match="beyond 64 bits"):
        draw()


def test_there_are_as_many_draws_as_asked_for():
    for count in (0, 1, 7):
        assert len(discrete.discrete_laplace(2.0, count)) == len(discrete.discrete_gaussian(2.0, count)) == count


def test_blocks_of_a_large_request_do_not_repeat_each_other():
    """False-alarm rate below 1e-12: 40 draws of scale 2^50, of which two are equal with probability below 2^-51."""
    draws = discrete.discrete_laplace(2.0**50, discrete._BLOCK + 20).tolist()
    assert len(draws) == discrete._BLOCK + 20
    assert len(set(draws[:20] + draws[-20:])) == 40


@pytest.mark.full
def test_a_million_draws_come():
    assert len(discrete.discrete_laplace(2.0, 1_000_000)) == 1_000_000


@over("scale", NOT_SCALES)
@over("draw", [discrete.discrete_laplace, discrete.discrete_gaussian])
def test_a_scale_that_cannot_be_drawn_exactly_is_refused_in_three_parts(draw, scale):
    with pytest.raises(ParameterError) as refusal:
        draw(scale, 1)
    assert "scale=" in refusal.value.instead or "sigma=" in refusal.value.instead
    assert refusal.value.because


@pytest.mark.parametrize("count", [-1, 1.0, True, "3", None])
def test_a_count_that_is_no_whole_number_is_refused(count):
    with pytest.raises(ParameterError, match="count"):
        discrete.discrete_laplace(1.0, count)


def test_a_whole_scale_is_the_double_of_the_same_value():
    assert len(discrete.discrete_laplace(3, 2)) == 2


def test_no_seed_exists_and_the_seeds_of_others_change_nothing():
    """False-alarm rate below 1e-100."""
    assert set(inspect.signature(discrete.discrete_laplace).parameters) == {"scale", "count", "source"}
    assert set(inspect.signature(discrete.discrete_gaussian).parameters) == {"sigma", "count", "source"}
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the seed that others set
    first = discrete.discrete_laplace(2.0**40, 20).tolist()
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    assert discrete.discrete_laplace(2.0**40, 20).tolist() != first


def _draw_in_a_child(queue):
    queue.put((discrete.discrete_laplace(2.0**50, 5).tolist(), discrete.discrete_gaussian(2.0**50, 5).tolist()))


@pytest.mark.pitfall("D")
def test_four_forked_workers_share_no_noise_with_each_other_or_their_parent():
    """False-alarm rate below 1e-12: 50 draws, of which two are equal with probability below 2^-51."""
    context = multiprocessing.get_context("fork")
    before = discrete.discrete_laplace(2.0**50, 5).tolist()
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of fork beside threads
        workers = [context.Process(target=_draw_in_a_child, args=(queue,)) for _ in range(4)]
        for worker in workers:
            worker.start()
    drawn = [queue.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(timeout=60)
    after = discrete.discrete_laplace(2.0**50, 5).tolist()
    everything = before + after + [y for laplace, gaussian in drawn for y in laplace + gaussian]
    assert len(everything) == 50
    assert len(set(everything)) == 50


@pytest.mark.statistical(false_alarm=1e-7)
def test_eight_threads_draw_at_once(samples):
    """False-alarm rate: 3,200 draws, or 12,800, of which two are equal with probability below 2^-51: below 1e-7."""
    drawn, many = [], samples(50)

    def work():
        drawn.extend(
            [*discrete.discrete_laplace(2.0**50, many).tolist(), *discrete.discrete_gaussian(2.0**50, many).tolist()]
            for _ in range(4)
        )

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    everything = [y for part in drawn for y in part]
    assert len(everything) == len(set(everything)) == 64 * many


LAWS = """
from discreet.samplers import discrete
draws = [lambda: discrete.discrete_laplace(2.0, 3), lambda: discrete.discrete_gaussian(2.0, 3)]
"""


@pytest.mark.pitfall("D")
def test_a_machine_without_entropy_draws_nothing():
    """The kernel itself refuses getrandom to a child process."""
    assert refused(LAWS) == 2


def test_the_sampler_is_light_to_import():
    heavy = {"scipy", "pandas", "polars", "pyarrow", "dp_accounting", "opendp", "matplotlib", "duckdb"}
    code = f"import sys, discreet.samplers.discrete; print(sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"
