"""The owners' page carries the stamp, and has a section of risks where attacks were run."""

from discreet.anonymity import AttackRate, AttackRisk
from discreet.anonymity.owners import STAMP
from discreet.synthesis.quality.distances import MarginalDistances
from discreet.synthesis.quality.owner import ModelAccuracy, OwnerQuality
from discreet.synthesis.quality.owner_page import owner_page

RATES = AttackRate(30, 100), AttackRate(20, 100), AttackRate(10, 100)
RISK = AttackRisk("linkability", *RATES)
FAR = MarginalDistances(0.01, 0.02, 0.03, (), ((("a", "b"), 0.02),))


def quality(**changes):
    return OwnerQuality((10, 12), FAR, 970.0, 0.4, 3, 1, 0.51, ModelAccuracy("b", 0.7, 0.8, 0.6), **changes)


def test_the_page_is_stamped_and_has_all_figures():
    page = owner_page(quality())
    assert page.stamp == STAMP
    assert [row[0] for row in page.figures][-1] == "Accuracy"
    assert page.pairs == {("a", "b"): 0.02}
    assert [each.heading for each in page.sections] == ["Limits of this page"]


def test_risks_have_their_rates_and_interval():
    section = owner_page(quality(risks=(RISK,))).sections[0]
    assert section.rows[0][:4] == ("Linkability", "30.0%", "20.0%", "10.0%")
    assert section.rows[0][4].startswith("12.5% (")


def test_one_column_has_no_pairs_and_no_score():
    far = MarginalDistances(0.01, None, None, ())
    page = owner_page(OwnerQuality((10, 12), far, None, None, 3, 1, 0.51, None))
    assert page.cards[0][1] == "0.010"
    assert len(page.cards) == 2
