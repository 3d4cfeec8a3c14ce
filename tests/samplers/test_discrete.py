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

import pytest
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian, make_laplace
from opendp.metrics import l1_distance, l2_distance

from discreet.errors import ParameterError
from discreet.rounding import double_up
from discreet.samplers import discrete
from entropy_taken_away import refused
from fits import fit
from grids import over

FALSE_ALARM = 1e-6
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
    draws = discrete.discrete_laplace(scale, samples(DRAWS))
    assert fit(draws, law_of(laplace_weight(scale), math.ceil(60 * scale) + 5)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=1e-6)
@pytest.mark.parametrize("sigma", [0.4, 1.0, 2.5, 10.0])
def test_gaussian_draws_fit_their_probabilities(sigma, samples):
    """False-alarm rate 1e-6 for each sigma."""
    draws = discrete.discrete_gaussian(sigma, samples(DRAWS))
    assert fit(draws, law_of(gaussian_weight(sigma), math.ceil(15 * sigma) + 5)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("scale", [1e6, discrete.LARGEST_SCALE])
def test_wide_laplace_draws_fall_evenly_between_quantiles(scale, samples):
    """Between 64 quantiles of the continuous law, whose shares differ from the draws' by less than 1e-6 here.

    False-alarm rate 1e-6, and less than twice that for the difference: in 80,000 draws it adds more than 0.2 to the
    exponent of the fit, where its deviation is 0.02, with probability below 1e-12.
    """
    draws = discrete.discrete_laplace(scale, samples(DRAWS))
    cells = (min(63, int(64 * (0.5 * math.exp(y / scale) if y < 0 else 1 - 0.5 * math.exp(-y / scale)))) for y in draws)
    assert fit(cells, dict.fromkeys(range(64), 1 / 64)) > FALSE_ALARM


@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("sigma", [1e6, discrete.LARGEST_SCALE])
def test_wide_gaussian_draws_fall_evenly_between_quantiles(sigma, samples):
    """Between 64 quantiles of the continuous law. False-alarm rate below 2e-6, for the reason above."""
    draws = discrete.discrete_gaussian(sigma, samples(DRAWS))
    cells = (min(63, int(32 * math.erfc(-y / sigma / math.sqrt(2)))) for y in draws)
    assert fit(cells, dict.fromkeys(range(64), 1 / 64)) > FALSE_ALARM


@pytest.mark.parametrize("draws", [DRAWS, 4 * DRAWS])
def test_the_test_of_fit_catches_noise_of_a_slightly_different_scale(draws):
    """A positive control: noise 20% too wide is caught, in the first run and when it is run again.

    The draws' number times the relative entropy has a mean of 378 and a deviation of 30, and 61 is an alarm:
    missed with probability below 1e-12.
    """
    assert fit(discrete.discrete_laplace(2.4, draws), law_of(laplace_weight(2.0), 130)) < FALSE_ALARM
    assert fit(discrete.discrete_gaussian(3.0, draws), law_of(gaussian_weight(2.5), 50)) < FALSE_ALARM


def test_the_sampling_library_takes_a_double_for_exactly_the_rational_that_it_is():
    integers = vector_domain(atom_domain(T="i64"))
    for _ in range(200):
        scale = random.uniform(0.01, 100)  # noqa: S311 - chooses cases, not noise
        epsilon = make_laplace(integers, l1_distance(T="i64"), scale).map(1)
        rho = make_gaussian(integers, l2_distance(T=float), scale).map(1.0)
        assert epsilon == double_up(1 / Fraction(scale))
        assert rho == double_up(1 / (2 * Fraction(scale) ** 2))


def test_the_least_scale_draws_zeros_and_the_largest_stays_inside_64_bits():
    """False-alarm rate below e^-8000 for the second; the first is certain up to e^-(2^40)."""
    assert set(discrete.discrete_laplace(discrete.LEAST_SCALE, 50)) == {0}
    assert set(discrete.discrete_gaussian(discrete.LEAST_SCALE, 50)) == {0}
    assert all(abs(y) < 2**63 - 1 for y in discrete.discrete_laplace(discrete.LARGEST_SCALE, 1000))


def test_draws_are_python_integers_and_as_many_as_asked_for():
    for count in (0, 1, 7):
        draws = discrete.discrete_laplace(2.0, count)
        assert len(draws) == count
        assert all(type(y) is int for y in draws)
    assert discrete.discrete_gaussian(2.0, 0) == []


def test_chunks_of_a_large_request_do_not_repeat_each_other():
    """False-alarm rate below 1e-12: 40 draws of scale 2^50, of which two are equal with probability below 2^-51."""
    draws = discrete.discrete_laplace(2.0**50, discrete._DRAWS_PER_CALL + 20)
    assert len(draws) == discrete._DRAWS_PER_CALL + 20
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
    assert set(inspect.signature(discrete.discrete_laplace).parameters) == {"scale", "count"}
    assert set(inspect.signature(discrete.discrete_gaussian).parameters) == {"sigma", "count"}
    random.seed(1)
    first = discrete.discrete_laplace(2.0**40, 20)
    random.seed(1)
    assert discrete.discrete_laplace(2.0**40, 20) != first


def _draw_in_a_child(queue):
    queue.put((discrete.discrete_laplace(2.0**50, 5), discrete.discrete_gaussian(2.0**50, 5)))


@pytest.mark.pitfall("D")
def test_four_forked_workers_share_no_noise_with_each_other_or_their_parent():
    """False-alarm rate below 1e-12: 50 draws, of which two are equal with probability below 2^-51."""
    context = multiprocessing.get_context("fork")
    before = discrete.discrete_laplace(2.0**50, 5)
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of fork beside threads
        workers = [context.Process(target=_draw_in_a_child, args=(queue,)) for _ in range(4)]
        for worker in workers:
            worker.start()
    drawn = [queue.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(timeout=60)
    after = discrete.discrete_laplace(2.0**50, 5)
    everything = before + after + [y for laplace, gaussian in drawn for y in laplace + gaussian]
    assert len(everything) == 50
    assert len(set(everything)) == 50


@pytest.mark.statistical(false_alarm=1e-7)
def test_eight_threads_draw_at_once(samples):
    """False-alarm rate: 3,200 draws, or 12,800, of which two are equal with probability below 2^-51: below 1e-7."""
    drawn, many = [], samples(50)

    def work():
        drawn.extend(
            discrete.discrete_laplace(2.0**50, many) + discrete.discrete_gaussian(2.0**50, many) for _ in range(4)
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
    heavy = {"scipy", "pandas", "polars", "pyarrow", "dp_accounting", "matplotlib", "duckdb"}
    code = f"import sys, discreet.samplers.discrete; print(sorted({heavy!r} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"
