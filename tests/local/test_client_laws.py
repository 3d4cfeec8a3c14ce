"""The draws of the client have exactly the probabilities of the oracles, over all integers that it may draw."""

from collections import defaultdict
from fractions import Fraction

from discreet.local import oracles
from discreet.local.client import _ORACLES, _payload
from grids import over

HASH = bytes(range(32))
MOST_DRAWS = 12


class _Path:
    """Integers below bounds in a stated order; the first that is not stated is where the tree of draws branches."""

    def __init__(self, chosen):
        self.chosen, self.place, self.probability, self.bound = chosen, 0, Fraction(1), None

    def below(self, bound):
        if self.place == len(self.chosen):
            self.bound = bound
            raise StopIteration
        self.place += 1
        self.probability /= bound
        return self.chosen[self.place - 1]


def law(draw, slot):
    """The probability of each outcome, and that of paths which are cut off: only rejection makes them as long."""
    outcomes, cut, paths = defaultdict(Fraction), Fraction(0), [()]
    while paths:
        path = _Path(paths.pop())
        try:
            outcomes[draw(path, slot)] += path.probability
        except StopIteration:
            if len(path.chosen) == MOST_DRAWS:
                cut += path.probability
            else:
                paths += [(*path.chosen, number) for number in range(path.bound)]
    return outcomes, cut


RATIO = Fraction(5, 2)
SMALL = (
    oracles.KaryResponse(4, RATIO),
    oracles.UnaryEncoding(3, Fraction(3, 4), Fraction(1, 3)),
    oracles.SubsetSelection(5, 2, RATIO),
    oracles.LocalHashing(5, 3, RATIO).bind(HASH[:8], 2),
    oracles.HadamardResponse(5, RATIO),
    oracles.ProjectiveGeometryResponse(3, 2, 2, RATIO),
    oracles.DuchiResponse(4, RATIO),
    oracles.HybridResponse(3, 2, 3, RATIO, Fraction(2, 3)),
)


@over("oracle", SMALL)
def test_the_client_draws_each_report_with_its_exact_probability(oracle):
    fields = oracle.to_json()
    draw, encode = _ORACLES[oracle.kind][0](fields, HASH, 1), _payload(fields)[1]
    for slot in range(oracle.size):
        found, cut = law(lambda bits, slot: oracle.outcome(encode(draw(bits, slot))), slot)
        expected = oracle.pmf(slot, 1) if oracle.kind == "lh" else oracle.pmf(slot)
        assert cut < Fraction(1, 1000)
        assert all(0 <= mass - found[outcome] <= cut for outcome, mass in expected.items())
        assert sum(found.values()) + cut == 1
