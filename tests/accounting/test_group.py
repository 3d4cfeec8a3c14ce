"""Several units at once: what is reached, and what is only bounded."""

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest
from scipy.stats import norm

from discreet.accounting import group
from discreet.errors import AccountingError, ParameterError


def test_epsilon_grows_with_the_group_and_laplace_noise_reaches_it():
    assert group.pure(epsilon=0.1, size=7) == Fraction(7, 10)
    scale, size = 10.0, 7
    ratio = math.exp(-abs(0) / scale) / math.exp(-abs(0 - size) / scale)
    assert math.log(ratio) == pytest.approx(float(group.pure(epsilon=0.1, size=size)))


def test_rho_grows_with_the_square_and_gaussian_noise_reaches_it():
    assert group.concentrated(rho=0.005, size=3) == Fraction(45, 1000)
    assert Fraction(3**2, 2 * 100) == group.concentrated(rho=Fraction(1, 200), size=3)


@pytest.mark.guarantee("accounting.group")
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_delta_for_a_group_covers_gaussian_noise(epsilon, size):
    """The true delta of Gaussian noise at `size` times the distance, at `size` times epsilon."""

    def gaussian(shift: float, at: float) -> float:
        return norm.cdf(shift / 2 - at / shift) - math.exp(at) * norm.cdf(-shift / 2 - at / shift)

    shift = epsilon / 4
    single = gaussian(shift, epsilon)
    found = group.approximate(epsilon=epsilon, delta=single, size=size)
    assert found.epsilon == size * Fraction(str(epsilon))
    assert gaussian(size * shift, size * epsilon) <= float(found.delta) * (1 + 1e-9)
    assert found.delta <= group.simple_delta(epsilon=epsilon, delta=single, size=size)


def test_the_sum_of_powers_is_what_it_says():
    found = group.approximate(epsilon=1, delta=1e-9, size=3)
    assert float(found.delta) == pytest.approx(1e-9 * (1 + math.e + math.e**2), rel=1e-12)
    assert float(group.simple_delta(epsilon=1, delta=1e-9, size=3)) == pytest.approx(3e-9 * math.e**2, rel=1e-12)
    assert group.approximate(epsilon=1, delta=0, size=3) == (3, 0)


@pytest.mark.parametrize("size", [30, 10**9])
def test_a_group_so_large_that_nothing_is_promised_is_refused(size):
    with pytest.raises(AccountingError, match="has reached one"):
        group.approximate(epsilon=1, delta=1e-9, size=size)


@pytest.mark.parametrize("size", [0, -1, 2.0, True])
def test_a_group_has_a_whole_number_of_units(size):
    with pytest.raises(ParameterError):
        group.pure(epsilon=1, size=size)


PAGES = Path(__file__).parents[2]
ONLY_EPSILON = re.compile(
    r"(covered|protected|holds?) (with|at) (twice|\w+ times|\w+-fold)\s+(the\s+)?epsilon(?!.{0,200}delta)",
    re.IGNORECASE | re.DOTALL,
)
FORMULA = "delta (e^(k epsilon) - 1)/(e^epsilon - 1)"


def _pages() -> dict[str, str]:
    files = [PAGES / "README.md", *(PAGES / "docs").rglob("*.md"), *(PAGES / "src").rglob("*.py")]
    return {str(path.relative_to(PAGES)): path.read_text(encoding="utf-8") for path in files}


def test_no_page_says_that_only_epsilon_grows_with_a_group():
    assert [name for name, text in _pages().items() if ONLY_EPSILON.search(text)] == []


@pytest.mark.parametrize("page", ["privacy-guarantee", "reference/mechanisms-and-accounting"])
def test_pages_that_speak_of_groups_state_both_parameters_exactly(page):
    text = " ".join(_pages()[f"docs/{page}.md"].split())
    assert FORMULA in text
    assert "k^2 rho" in text


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_formula_on_the_pages_is_the_one_that_is_computed(size):
    epsilon, delta = 0.5, 1e-9
    found = group.approximate(epsilon=Fraction(1, 2), delta=Fraction(1, 10**9), size=size)
    assert found.epsilon == Fraction(size, 2)
    assert float(found.delta) == pytest.approx(delta * math.expm1(size * epsilon) / math.expm1(epsilon), rel=1e-9)
