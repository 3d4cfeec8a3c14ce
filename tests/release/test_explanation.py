"""An explanation is readable as text and as HTML, and nothing in it can be mistaken for markup."""

from fractions import Fraction
from html.parser import HTMLParser

import pytest

from discreet.release.explanation import ExplainedOutput, Explanation


def _explanation(**changes) -> Explanation:
    facts = {
        "dataset": "visits",
        "unit": "one patient_id, added or removed",
        "caps": "of one patient_id at most 10 rows in all",
        "outputs": (ExplainedOutput("n", "count", "scale 20 for an L1 sensitivity of 10", Fraction(60)),),
        "groups": 3,
        "columns_read": ("age", "patient_id"),
        "mechanism": "discrete Laplace, because the privacy budget is pure, so epsilons add",
        "cost": "epsilon 0.5",
        "left": "epsilon 2 of epsilon 2 before this query",
        "fits": True,
        "confidence": Fraction(19, 20),
        "statement": "free to read; nothing was opened and nothing is spent",
    }
    return Explanation(**facts | changes)


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, _):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def _parsed(text: str) -> _Cells:
    cells = _Cells()
    cells.feed(text)
    cells.close()
    return cells


def test_lines_come_in_the_order_in_which_a_person_needs_them():
    labels = [label for label, _ in _explanation().lines()]
    assert labels == ["protects", "keeps", "n", "groups", "reads", "noise", "costs", "left"]


def test_labels_are_aligned_whatever_the_longest_is():
    output = ExplainedOutput("an_output_with_a_long_name", "count", "noise", Fraction(1))
    lines = str(_explanation(outputs=(output,))).splitlines()[1:-1]
    starts = {len(line) - len(line[2:].split("  ", 1)[1].lstrip()) for line in lines}
    assert len(starts) == 1


def test_a_price_is_never_shown_without_the_unit_it_protects():
    for shown in (str(_explanation()), _explanation()._repr_html_()):
        assert "epsilon 0.5" in shown
        assert "one patient_id, added or removed" in shown


def test_the_text_and_the_html_say_the_same():
    explanation = _explanation(fits=False)
    texts = "\n".join(_parsed(explanation._repr_html_()).texts)
    for label, text in explanation.lines():
        assert label in texts
        assert text in texts
        assert text in str(explanation)
    assert "IT DOES NOT FIT" in texts
    assert "± at 95%, for the noise" in texts


@pytest.mark.pitfall("D")
def test_hostile_names_are_shown_and_not_run():
    hostile = "<script>alert('x')</script>&amp;"
    output = ExplainedOutput(hostile, "count", hostile, None, hostile)
    cells = _parsed(_explanation(dataset=hostile, outputs=(output,), columns_read=(hostile,))._repr_html_())
    assert "script" not in cells.tags
    assert hostile in "".join(cells.texts)


def test_the_html_is_a_table_that_a_screen_reader_can_walk():
    cells = _parsed(_explanation()._repr_html_())
    assert cells.tags.count("th") == cells.tags.count("tr") == len(_explanation().lines())
    assert 'scope="row"' in _explanation()._repr_html_()


@pytest.mark.parametrize(
    ("margin", "note", "text"),
    [
        (Fraction(60), "", "count: ± 60; the noise"),
        (Fraction(1, 3), "", "count: ± 0.333333; the noise"),
        (None, "", "count: ± depends on the size of each group; the noise"),
        (Fraction(5, 2), "at most, for groups of 5 rows", "count: ± 2.5 at most, for groups of 5 rows; the noise"),
    ],
)
def test_an_output_says_its_margin_then_what_it_holds_for_then_its_noise(margin, note, text):
    assert str(ExplainedOutput("n", "count", "the noise", margin, note)) == text


def test_one_answer_and_many_groups_and_no_columns_are_said_in_words():
    assert dict(_explanation(groups=1).lines())["groups"] == "none, one answer"
    assert dict(_explanation(groups=12345).lines())["groups"] == "12,345"
    assert dict(_explanation(columns_read=()).lines())["reads"] == "no column"


def test_an_explanation_prints_itself():
    assert repr(_explanation()) == str(_explanation())
