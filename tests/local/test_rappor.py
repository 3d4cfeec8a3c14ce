"""RAPPOR: bits and epsilons of its clients, and a decoder that finds frequent words and no others."""

import hmac
import itertools
import math
import secrets
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls

import discreet as dp
from discreet.errors import ParameterError
from discreet.local.rappor import BloomRappor, holm, non_negative_least_squares

TYPICAL = {"bits": 32, "hashes": 2, "cohorts": 64, "f": 0.5, "p": 0.25, "q": 0.75}


class Encoder:
    """A client of google/rappor, written anew from its documentation: for tests alone."""

    def __init__(self, rappor, cohort):
        self.rappor, self.cohort, self.key = rappor, cohort, secrets.token_bytes(32)

    def permanent(self, word):
        """A byte of HMAC for each bit: its lowest bit is the replacement, the other seven decide about it."""
        digest = hmac.new(self.key, word.encode(), "sha256").digest()
        own = self.rappor.bloom_bits(word, self.cohort)
        replaced = [byte >> 1 < self.rappor.f * 128 for byte in digest]
        return [digest[i] & 1 if replaced[i] else int(i in own) for i in range(self.rappor.bits)]

    def report(self, word):
        chances = [self.rappor.q if bit else self.rappor.p for bit in self.permanent(word)]
        return [int(secrets.randbelow(each.denominator) < each.numerator) for each in chances]


def test_bloom_bits_are_those_of_the_published_clients():
    """The vectors of google/rappor's bin/hash_candidates_test.py, which count bits from 1."""
    published = {
        "apple": (5, 1, 26, 26, 38, 34, 63, 62),
        "banana": (12, 14, 28, 24, 37, 34, 62, 49),
        "carrot": (4, 12, 25, 21, 48, 38, 61, 54),
    }
    rappor = BloomRappor(bits=16, hashes=2, cohorts=4, f=0.5, p=0.5, q=0.75)
    for word, numbers in published.items():
        ours = [16 * cohort + bit + 1 for cohort in range(4) for bit in rappor.bloom_bits(word, cohort)]
        assert sorted(set(numbers)) == ours


def test_probabilities_are_those_that_clients_use():
    rappor = BloomRappor(**TYPICAL | {"f": 0.3})
    assert rappor.f == Fraction(39, 128)
    assert sum(byte >> 1 < 0.3 * 128 for byte in range(256)) == 256 * rappor.f
    assert (rappor.p, rappor.q) == (Fraction(1, 4), Fraction(3, 4))
    cpp = BloomRappor(**TYPICAL | {"f": 0.3, "p": 0.3, "q": 0.7}, client="cpp")
    assert (cpp.f, cpp.p, cpp.q) == (Fraction(38, 128), Fraction(76, 256), Fraction(179, 256))
    assert cpp.permanent_epsilon > rappor.permanent_epsilon


def _laws(rappor, own):
    """The exact law of one report, and of the permanent response, of a word with these bits."""
    half = rappor.f / 2
    laws = []
    for kept, chances in ((None, rappor.rates), (1 - half, (half, 1 - half))):
        low, high = chances
        law = {}
        for bits in itertools.product((0, 1), repeat=rappor.bits):
            mass = Fraction(1)
            for place, bit in enumerate(bits):
                one = high if place in own else low
                mass *= one if bit else 1 - one
            law[bits] = mass
        laws.append(law)
        assert kept is None or sum(law.values()) == 1
    return laws


@pytest.mark.guarantee("local.rappor")
@pytest.mark.parametrize("hashes", [1, 2])
def test_epsilons_are_never_exceeded_and_are_reached_by_words_without_a_common_bit(hashes):
    for f, p, q in ((0.5, 0.5, 0.75), (0.25, 0.2, 0.9), (0.3, 0.75, 0.25), (0.5, 0, 1), (0.25, 1, 0)):
        rappor = BloomRappor(bits=5, hashes=hashes, cohorts=1, f=f, p=p, q=q)
        sets = [own for size in range(1, hashes + 1) for own in itertools.combinations(range(5), size)]
        laws = [_laws(rappor, own) for own in sets]
        for kind, stated in ((0, rappor.report_ratio), (1, rappor.permanent_ratio)):
            pairs = itertools.product(laws, repeat=2)
            largest = max(one[kind][bits] / other[kind][bits] for one, other in pairs for bits in one[kind])
            assert largest == stated
    assert rappor.permanent_epsilon >= Fraction(math.log(rappor.permanent_ratio) - 1e-9)
    assert abs(float(rappor.report_epsilon) - math.log(rappor.report_ratio)) < 1e-9


@pytest.mark.guarantee("local.rappor")
def test_the_rates_of_a_report_are_those_of_both_stages():
    rappor = BloomRappor(**TYPICAL)
    permanent = (1 - rappor.f) + rappor.f / 2
    assert rappor.rates[1] == permanent * rappor.q + (1 - permanent) * rappor.p
    assert rappor.rates[0] == (1 - permanent) * rappor.q + permanent * rappor.p


WORDS = [f"word {i}" for i in range(80)]
TRUTH = {f"word {i}": 1 / (i + 1) for i in range(8)}


def _collect(rappor, shares, clients, generator):
    """Ones by cohort and bit, and reports by cohort, of clients in random cohorts with one report each."""
    words, masses = list(shares), np.array(list(shares.values()))
    cells = generator.multinomial(clients, np.outer(np.full(rappor.cohorts, 1 / rappor.cohorts), masses).ravel())
    table = cells.reshape(rappor.cohorts, len(words))
    true = np.zeros((rappor.cohorts, rappor.bits), dtype=np.int64)
    for cohort in range(rappor.cohorts):
        for place, word in enumerate(words):
            true[cohort, list(rappor.bloom_bits(word, cohort))] += table[cohort, place]
    low, high = map(float, rappor.rates)
    sizes = table.sum(axis=1)
    counts = generator.binomial(true, high) + generator.binomial(sizes[:, None] - true, low)
    return counts, sizes, dict(zip(words, table.sum(axis=0), strict=True))


def _shares(unlisted):
    weights = TRUTH | {f"other {i}": unlisted * sum(TRUTH.values()) / 300 for i in range(300)}
    total = sum(weights.values())
    return {word: weight / total for word, weight in weights.items()}


@pytest.mark.statistical(false_alarm=1e-5)
@pytest.mark.parametrize("unlisted", [0, 0.5])
def test_frequent_candidates_are_found_and_absent_ones_are_not(samples, unlisted):
    """At a false-alarm probability of 10^-6 over all candidates, and with words of 7 standard errors and more."""
    rappor = BloomRappor(**TYPICAL)
    counts, sizes, truth = _collect(rappor, _shares(unlisted), samples(400_000), np.random.default_rng())
    found = rappor.decode(counts, sizes, WORDS, false_alarm=1e-6)
    assert {each.word for each in found if each.is_significant} == set(TRUTH)
    for each in found:
        assert abs(each.estimate - truth.get(each.word, 0)) < 6 * each.standard_error
        assert each.count >= 0


@pytest.mark.statistical(false_alarm=1e-5)
def test_standard_errors_are_those_of_the_estimates(samples):
    """The scaled errors of 80 words in 30 collections, about 2,400, within five standard errors of their variance."""
    rappor = BloomRappor(**TYPICAL | {"cohorts": 16})
    scaled = []
    for _ in range(samples(30)):
        shares = _shares(0)
        counts, sizes, _ = _collect(rappor, shares, 50_000, np.random.default_rng())
        found = rappor.decode(counts, sizes, WORDS)
        scaled += [(each.estimate - 50_000 * shares.get(each.word, 0)) / each.standard_error for each in found]
    assert 0.8 < np.std(scaled) < 1.1


def test_reports_of_a_client_decode_to_its_words():
    """A few thousand reports of the encoder itself: the frequent word is found."""
    rappor = BloomRappor(bits=8, hashes=1, cohorts=4, f=0.25, p=0.25, q=0.75)
    counts, sizes = np.zeros((4, 8), dtype=np.int64), np.zeros(4, dtype=np.int64)
    for client in range(6_000):
        encoder = Encoder(rappor, client % 4)
        counts[client % 4] += encoder.report("cat" if client % 3 else "dog")
        sizes[client % 4] += 1
    found = {each.word: each for each in rappor.decode(counts, sizes, ["cat", "dog", "owl"], false_alarm=1e-6)}
    assert found["cat"].is_significant
    for word, truth in (("cat", 4_000), ("dog", 2_000), ("owl", 0)):
        assert abs(found[word].estimate - truth) < 7 * found[word].standard_error


def test_a_word_is_permanently_randomised_alike():
    encoder = Encoder(BloomRappor(**TYPICAL), 3)
    assert encoder.permanent("cat") == encoder.permanent("cat")


def test_non_negative_least_squares_agree_with_scipy():
    generator = dp.testing.generator(21)
    for rows, columns in ((5, 3), (40, 20), (200, 60)):
        for _ in range(20):
            design, target = generator.normal(size=(rows, columns)), generator.normal(size=rows)
            ours, (theirs, _) = non_negative_least_squares(design, target), nnls(design, target)
            assert np.allclose(ours, theirs, atol=1e-8)


def test_holm_rejects_in_order_and_stops_at_the_first_that_is_too_likely():
    assert holm([0.001, 0.02, 0.04, 0.2], 0.05) == [True, False, False, False]
    assert holm([0.01, 0.012, 0.02, 0.04], 0.05) == [True, True, True, True]
    assert holm([], 0.05) == []


@pytest.mark.parametrize(
    "facts",
    [
        {"f": 0},
        {"f": 1},
        {"p": 0.5, "q": 0.5},
        {"bits": 257},
        {"hashes": 17},
        {"cohorts": 0},
        {"q": 1.5},
        {"q": 1, "client": "cpp"},
        {"f": 1, "p": 0, "q": 1},
    ],
)
def test_parameters_whose_reports_say_nothing_or_everything_are_refused(facts):
    with pytest.raises(ParameterError):
        BloomRappor(**TYPICAL | facts)


@pytest.mark.parametrize("candidates", ["cat", [], ["cat", "cat"], [str(i) for i in range(1024)], [1]])
def test_candidates_that_cannot_be_told_apart_are_refused(candidates):
    rappor = BloomRappor(**TYPICAL)
    with pytest.raises(ParameterError):
        rappor.decode(np.zeros((64, 32), dtype=np.int64), [1] * 64, candidates)


def test_counts_of_another_shape_or_above_their_reports_are_refused():
    rappor = BloomRappor(**TYPICAL)
    for counts, reports in ((np.zeros((2, 2)), [1, 1]), (np.full((64, 32), 2), [1] * 64)):
        with pytest.raises(ParameterError, match="not those of this RAPPOR"):
            rappor.bit_counts(counts, reports)
    nothing = np.full((64, 32), np.nan)
    for counts, reports in ((nothing, [1] * 64), (np.zeros((64, 32)), [np.nan] * 64), ("none", [1] * 64)):
        with pytest.raises(ParameterError, match="not those of this RAPPOR"):
            rappor.decode(counts, reports, ["cat"])


def test_a_client_that_is_not_known_is_the_reason_of_its_refusal():
    with pytest.raises(ParameterError) as caught:
        BloomRappor(**TYPICAL | {"client": "java"})
    assert caught.value.what == "client='java'"
    assert "round" in caught.value.because


def test_in_one_time_rappor_a_report_loses_what_the_permanent_response_loses():
    rappor = BloomRappor(**TYPICAL | {"p": 0, "q": 1})
    assert rappor.report_ratio == rappor.permanent_ratio


def test_a_candidate_prints_as_a_sentence_of_ordinary_numbers():
    rappor = BloomRappor(**TYPICAL)
    counts = np.random.default_rng().integers(50, 70, (64, 32))
    found = rappor.decode(counts, [100] * 64, ["cat\x1b", "dog"])[0]
    assert "np." not in repr(found)
    assert str(found).startswith(r"cat\x1b: ")
    assert str(found).endswith(" significant")


@pytest.mark.parametrize("probabilities", [{"confidence": 0}, {"confidence": 1.5}, {"false_alarm": 1.5}])
def test_an_error_about_a_probability_has_its_name(probabilities):
    with pytest.raises(ParameterError) as caught:
        BloomRappor(**TYPICAL).decode(np.zeros((64, 32)), [1] * 64, ["cat"], **probabilities)
    assert caught.value.what.startswith(next(iter(probabilities)))
