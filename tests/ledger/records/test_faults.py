from pathlib import Path

from discreet.ledger.records import faults
from grids import over

SENTENCES = {name: text for name, text in vars(faults).items() if name.isupper() and isinstance(text, str)}
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "ledger.md"


@over("name", SENTENCES)
def test_a_fault_is_one_constant_sentence_in_the_house_style(name):
    text = SENTENCES[name]
    assert text[0].islower()
    assert not text.endswith(".")
    assert not {"{", "%", "\n"} & set(text)
    assert "please" not in text
    assert "invalid" not in text


def test_every_fault_says_what_to_do_on_the_page_about_the_ledger():
    rows = [line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.count("|") == 3]
    told = [row for row in rows if len(row) > 10]
    assert [name for name, text in SENTENCES.items() if not any(text.startswith(row) for row in told)] == []
