"""Findings as sections: their order, their sentences, and the words that they never use."""

from fractions import Fraction

from discreet.anonymity.report.findings import NOT_A_GUARANTEE, listing, part, sections, share_text, size_bins


def test_the_sections_are_attacker_generalisation_release_and_limits(report):
    headings = [section.heading for section in sections(report.findings)]
    assert headings[0] == "What an attacker who knows zip_code, birth_date and sex learns"
    assert headings[1:3] == [
        "What generalisation would cost",
        "What a differentially private release would give instead",
    ]
    assert "do not protect against" in headings[3]


def test_class_sizes_are_put_into_bins_that_add_up():
    sizes = [(1, 7), (2, 3), (3, 1), (4, 2), (60, 1), (20_000, 1)]
    bins = size_bins(sizes)
    assert [name for name, _, _ in bins] == ["1", "2", "3 to 4", "50 to 99", "10,000 or more"]
    assert sum(number for _, number, _ in bins) == sum(number for _, number in sizes)
    assert sum(people for _, _, people in bins) == sum(size * number for size, number in sizes)


def test_numbers_have_their_share():
    assert part(1, 4) == "1 (25%)"
    assert part(0, 0) == "0 (0%)"
    assert share_text(Fraction(19_994, 20_000)) == "99.97%"
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"


def test_people_whose_value_is_learned_without_being_alone_are_named(report):
    (learned,) = [line for line in sections(report.findings)[0].sentences if line.startswith("marital_status")]
    found = report.findings.sensitive[0]
    assert f"{found.people:,} people" in learned
    assert f"{found.sharing:,} of them are not alone" in learned


def test_k_anonymity_is_never_called_private_or_safe(report):
    for section in sections(report.findings):
        for sentence in (section.heading, *section.sentences):
            words = sentence.lower().replace("differentially private", "")
            assert "private" not in words
            assert "safe" not in words
    assert NOT_A_GUARANTEE in sections(report.findings)[3].sentences
