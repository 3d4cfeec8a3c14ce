"""What an owner records of a release that was not charged, and what is refused before the ledger is asked."""

from dataclasses import replace

import pytest

from discreet.errors import ParameterError
from discreet.ledger.records.chain import GENESIS, ChainLink, Kind, columns_of
from discreet.ledger.records.other_release import (
    LONGEST_WHAT,
    UNREADABLE,
    OtherRelease,
    ReleaseKind,
    checked_request,
    other_release_of,
    place_in_line,
    published_text,
    read_release,
    receipt_lines,
)

SHA256 = "0123456789abcdef" * 4


def _request(**changes: object):
    usual = {"what": "ages in tens", "kind": "generalised", "sha256": SHA256, "author": "ann", "request": "r"}
    return checked_request(**(usual | changes))


def _link(**changes: object) -> ChainLink:
    place = {"dataset": "people", "sequence": 5, "kind": Kind.PUBLISHED, "time": "2026-11-18T05:00:00.000000+00:00"}
    columns = place | {"version": 2, "previous": GENESIS, "library": "0"} | _request().columns()
    return ChainLink(**(columns | changes))


def test_what_is_recorded_is_read_from_the_link_as_it_was_given():
    assert other_release_of(_link()) == OtherRelease(
        dataset="people",
        version=2,
        sequence=5,
        time="2026-11-18T05:00:00.000000+00:00",
        author="ann",
        kind=ReleaseKind.GENERALISED,
        what="ages in tens",
        sha256=SHA256,
    )


def test_a_document_names_words_kind_date_digest_and_place():
    release = other_release_of(_link())
    assert release.text == f"ages in tens (generalised data, 2026-11-18, SHA-256 {SHA256}, event 5)"
    assert str(replace(release, sha256=None)) == "ages in tens (generalised data, 2026-11-18, event 5)"


@pytest.mark.parametrize("kind", list(ReleaseKind))
def test_every_kind_has_words_that_end_the_line_of_history(kind):
    detail = _request(kind=str(kind)).columns()["detail"]
    assert published_text(detail, None).startswith("ages in tens (")
    assert "safe" not in published_text(detail, None)


def test_only_what_is_differentially_private_is_said_to_be_private():
    texts = {kind: published_text(_request(kind=kind).columns()["detail"], SHA256) for kind in ReleaseKind}
    assert [kind for kind, text in texts.items() if "private" in text] == [ReleaseKind.DIFFERENTIALLY_PRIVATE]


@pytest.mark.parametrize(
    "changes",
    [
        {"what": ""},
        {"what": "  "},
        {"what": "a\nb"},
        {"what": "a\x00b"},
        {"what": "a\x1b[2Jb"},
        {"what": "a\u2028b"},
        {"what": "a\u202eb"},
        {"what": "a\ud800b"},
        {"what": "x" * (LONGEST_WHAT + 1)},
        {"what": 3},
        {"what": None},
        {"author": "a\rb"},
        {"author": ""},
        {"author": "x" * 201},
        {"kind": "Generalised"},
        {"kind": ""},
        {"kind": None},
        {"kind": 1},
        {"sha256": ""},
        {"sha256": SHA256[1:]},
        {"sha256": SHA256 + "0"},
        {"sha256": SHA256.upper()},
        {"sha256": SHA256[:-1] + "\n"},
        {"sha256": b"0" * 64},
    ],
)
def test_what_does_not_print_or_is_not_of_its_kind_is_refused(changes):
    with pytest.raises(ParameterError):
        _request(**changes)


def test_the_longest_text_is_recorded_and_the_nearest_kind_is_proposed():
    assert len(_request(what="x" * LONGEST_WHAT).what) == LONGEST_WHAT
    with pytest.raises(ParameterError, match='kind="generalised"'):
        _request(kind="generalized")
    with pytest.raises(ParameterError, match='kind="generalised"'):
        _request(kind="zzz")


@pytest.mark.parametrize("detail", [None, "", "[]", "{}", '{"kind":"generalised"}', '{"kind":"x","what":"y"}', "{"])
def test_a_row_that_records_no_release_has_its_place_alone(detail):
    left = read_release(columns_of(_link(detail=detail)))
    assert (left.what, left.kind, left.sha256, left.sequence) == (UNREADABLE, ReleaseKind.OTHER, None, 5)
    assert left.text == f"{UNREADABLE} (event 5)"
    assert published_text(detail, None) is None


@pytest.mark.parametrize(
    "change",
    [{"digest": None}, {"time": "never"}, {"analyst": "bob"}, {"cost_rho": -1}, {"cost_rho": "x"}, {"kind": "RENAMED"}],
)
def test_of_a_changed_row_only_its_place_is_believed(change):
    row = columns_of(_link())
    assert read_release(row) == other_release_of(_link())
    assert read_release(row | change).text == f"{UNREADABLE} (event 5)"


def test_a_link_of_another_kind_is_not_a_release():
    with pytest.raises(TypeError):
        other_release_of(_link(kind=Kind.RENAMED))


def test_a_receipt_lists_the_newest_after_the_number_of_the_earlier_ones():
    newest = [replace(other_release_of(_link()), sequence=place) for place in (5, 7)]
    lines = tuple(release.text for release in newest)
    assert receipt_lines([], 0) == ()
    assert receipt_lines(newest, 2) == lines
    assert receipt_lines(newest, 3) == ("1 earlier release, before event 5", *lines)
    assert receipt_lines(newest, 3000) == ("2998 earlier releases, before event 5", *lines)


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("a file (exact data, 2026-11-18, event 12)", 12),
        (f"{UNREADABLE} (event 5)", 5),
        ("(event 3) and (event 4)", 4),
        ("2998 earlier releases, before event 5", None),
        ("a file (event 5) ", None),
        (f"a file (event {'9' * 5000})", None),
    ],
)
def test_a_line_is_about_the_event_at_its_end(line, place):
    assert place_in_line(line) == place
