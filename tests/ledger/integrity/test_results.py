"""Any edit of a saved result is found offline; version 1 and adjusted results say that numbers are not covered."""

import copy
import json
import random
from dataclasses import replace

import pytest

import discreet as dp
from discreet.errors import LedgerError
from discreet.ledger import Receipt, Signer
from discreet.ledger.integrity.results import CHANGED_LATER, FORMER, UNSIGNED, verify_result
from discreet.ledger.records.canonical_text import canonical
from discreet.release.signed import covered, statement

FACTS = {
    "name": "visits",
    "privacy_unit": "patient_id",
    "max_rows": 10,
    "budget": dp.Budget(epsilon=40, reason="tests"),
}
visits = dp.table("visits")
EDITS = 500


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("ledger")


@pytest.fixture(scope="module")
def session(place):
    with (
        dp.SQLiteLedger(place / "ledger.sqlite", key=place / "signing.key") as ledger,
        dp.protect(dp.datasets.visits(200), **FACTS, ledger=ledger) as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
def public(session, place):
    return [Signer.at(place / "signing.key").public]


@pytest.fixture(scope="module")
def release(session):
    keys = {"ward": ["surgery", "emergency"]}
    query = (
        visits.where(visits.age < 65).group_by("ward", keys=keys).agg(n=dp.count(), c=dp.mean("cost", bounds=(0, 9)))
    )
    return session.release(query, epsilon=0.5)


def plain(result):
    return json.loads(json.dumps(result.to_json()))


def test_every_kind_of_result_is_covered(session, release, public):
    results = [
        release,
        session.release(visits.choose(["surgery", "emergency"], score=dp.score(by="ward")), epsilon=0.1),
        session.release(visits.agg(m=dp.median("age", bounds=(0, 99))), epsilon=0.1, method=dp.SmoothSensitivity()),
        *session.release(
            [
                visits.agg(n=dp.count()),
                visits.choose(["surgery", "emergency"], score=dp.score(by="ward")),
                visits.apply("def answer(table): return 1", columns=["age"], blocks=5, bounds=(0, 1)),
                visits.agg(u=dp.count_units()),
            ],
            epsilon=0.1,
        ),
    ]
    for result in results:
        found = verify_result(plain(result), public)
        assert found.ok, (result, found)
        assert "original" not in result.to_json()


def test_a_stored_answer_has_the_signature_that_it_got_first(session, release, public):
    keys = {"ward": ["surgery", "emergency"]}
    query = (
        visits.where(visits.age < 65).group_by("ward", keys=keys).agg(n=dp.count(), c=dp.mean("cost", bounds=(0, 9)))
    )
    again = session.release(query, epsilon=0.5)
    assert again.repeated
    assert again.to_json() == release.to_json()
    assert verify_result(plain(again), public).ok


def _places(data, path=()):
    """The place of every value in plain data."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _places(value, (*path, name))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from _places(value, (*path, i))
    yield path


def _edited(value, chance):
    """Another value of the same shape, or of another one."""
    match value:
        case bool():
            return not value
        case int() | float():
            return chance.choice([value + 1, -value if value else 3, value * 2 if value else 5, str(value)])
        case str():
            at = chance.randrange(len(value) + 1)
            return value[:at] + chance.choice("0aZ é") + value[at:]
        case list():
            return value[:-1] if value else [1]
        case dict():
            return (
                {name: kept for name, kept in value.items() if name != next(iter(value), None)} if value else {"a": 1}
            )
    return 0


def test_five_hundred_random_edits_are_all_found(release, public):
    """Every edit changes what the file says; the receipt's own checks and the signature find it between them."""
    data, chance = plain(release), random.Random(2_026)  # noqa: S311 - edits, not noise
    places = [path for path in _places(data) if path]
    for _ in range(EDITS):
        edited = copy.deepcopy(data)
        *path, last = chance.choice(places)
        part = edited
        for step in path:
            part = part[step]
        part[last] = _edited(part[last], chance)
        if edited == data:
            continue
        try:
            found = verify_result(edited, public)
        except LedgerError:
            continue
        assert not found.ok, (path, last)


@pytest.mark.parametrize("added", [{"note": "n"}, {"original": {}}, {"original": None}])
def test_what_is_added_is_found(release, public, added):
    assert not verify_result(plain(release) | added, public).ok


def test_a_release_that_was_taken_back_to_version_1_is_not_covered(release, public):
    data = {name: value for name, value in plain(release).items() if name not in ("document", "signature")}
    found = verify_result(data | {"schema": "discreet.release/1"}, public)
    assert (found.faults, found.uncovered, found.ok) == ((), FORMER, False)
    assert verify_result(data, public).uncovered == UNSIGNED


def test_an_adjusted_release_has_its_original_and_is_not_covered(release, public):
    data = plain(release.rounded(to=10))
    found = verify_result(data, public)
    assert (found.faults, found.uncovered, found.ok) == ((), CHANGED_LATER, False)
    data["original"]["outputs"][0]["values"][0] += 1
    assert verify_result(data, public).faults


@pytest.mark.parametrize("name", ["guarantee", "unit", "library", "dataset", "document", "measured", "private", "keys"])
def test_what_adjusting_leaves_as_it_was_may_not_differ_from_the_original(release, public, name):
    data = plain(release.rounded(to=10))
    data[name] = {"document": data["document"] | {"others": ["x"]}, "private": False, "keys": [], "measured": []}.get(
        name, "another"
    )
    assert verify_result(data, public).faults, name


def test_a_file_that_says_version_1_and_has_a_signature_is_found(release, public):
    found = verify_result(plain(release) | {"schema": "discreet.release/1"}, public)
    assert "signature: a file of version 1 has none" in found.faults


def test_another_confidence_keeps_the_original(session, public):
    query = visits.agg(n=dp.count())
    session.release(query, epsilon=0.3)
    data = plain(session.release(query, epsilon=0.3, confidence=0.5))
    assert verify_result(data, public).uncovered == CHANGED_LATER
    assert verify_result(data, public).faults == ()


def test_the_original_of_another_charge_is_found(session, release, public):
    other = plain(session.release(visits.agg(n=dp.count()), epsilon=0.2))
    data = plain(release.rounded(to=10)) | {"receipt": other["receipt"]}
    assert "receipt: not that of the signed original" in verify_result(data, public).faults


def test_another_key_is_found(release, tmp_path):
    stranger = Signer.at(tmp_path / "key").public
    found = verify_result(plain(release), [stranger])
    assert found.faults[0].startswith("the receipt: another key signed it, ")
    assert len(found.faults) == 2


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """A release of a machine whose key the owner listed, the owner's key, and the machine's."""
    place = tmp_path_factory.mktemp("machines")
    owner, pod = (Signer.at(place / f"{name}.key") for name in ("owner", "pod"))
    with dp.SQLiteLedger(place / "ledger.sqlite", key=place / "owner.key", anchors=place / "own") as ledger:
        ledger.share_anchors(place / "shared", reason="a test")
        ledger.list_key(pod.public, name="pod", reason="a test")
    home = {"key": place / "pod.key", "anchors": place / "anchors"}
    with (
        dp.SQLiteLedger(place / "ledger.sqlite", **home) as ledger,
        dp.protect(dp.datasets.visits(200), **FACTS, ledger=ledger) as opened,
    ):
        return plain(opened.release(visits.agg(n=dp.count()), epsilon=0.5)), owner, pod


def forged(data, signer):
    """The release with other numbers and another charge, both signed by a key."""
    receipt = replace(Receipt.from_json(json.dumps(data["receipt"])), analyst="eve", key=None, signature=None)
    receipt = replace(receipt, hash=receipt.link().hash, certificate=())
    certificate = tuple(data["receipt"]["certificate"])
    data = covered(data) | {"receipt": json.loads(receipt.sign(signer, receipt.ledger, certificate).to_json())}
    data["outputs"][0]["values"] = [5_000]
    return data | {"signature": {"key": signer.key, "signature": signer.sign(statement(data))}}


def test_a_release_of_a_listed_key_is_covered_by_the_owners_key_and_the_certificate(certified):
    data, owner, pod = certified
    for publics in ([owner.public], [pod.public], [Signer.in_memory().public, owner.public]):
        assert verify_result(data, publics).ok
    edited = copy.deepcopy(data)
    edited["outputs"][0]["values"][0] += 1
    found = verify_result(edited, [owner.public])
    assert not found.is_by_unknown_key
    assert found.faults == ("the numbers: they, or what the file says of them, were changed after they were signed",)


def test_of_a_key_that_no_given_one_vouches_for_nothing_is_known(certified):
    data, _, pod = certified
    found = verify_result(data, [Signer.in_memory().public])
    assert found.is_by_unknown_key
    assert not found.ok
    assert found.faults[0] == f"the receipt: another key signed it, {pod.key}"
    data = data | {"dataset": {"name": "other", "version": 1}}
    assert not verify_result(data, [Signer.in_memory().public]).is_by_unknown_key


def test_a_forgers_key_is_in_no_certificate_that_counts(certified):
    data, owner, pod = certified
    (act,) = data["receipt"]["certificate"]
    forger = Signer.in_memory()
    altered = json.loads(act) | {"value": forger.public}
    unsigned = {name: value for name, value in altered.items() if name != "signature"}
    own_signature = forger.sign(canonical(unsigned))
    certificates = {
        "the owner's act on another key": [act],
        "an act whose key was replaced": [json.dumps(altered)],
        "an act that the forger signed": [canonical(altered | {"signature": own_signature})],
        "an act in the forger's name": [canonical(altered | {"owner": forger.key, "signature": own_signature})],
        "no act": ["{}"],
    }
    for what, certificate in certificates.items():
        forgery = forged(data | {"receipt": data["receipt"] | {"certificate": certificate}}, forger)
        assert verify_result(forgery, [forger.public]).ok, what  # but for the key it is whole
        for publics in ([owner.public], [pod.public], [owner.public, pod.public]):
            assert not verify_result(forgery, publics).ok, what
    stripped = {name: value for name, value in data["receipt"].items() if name != "certificate"}
    assert not verify_result(data | {"receipt": stripped | {"format": "discreet.receipt/2"}}, [owner.public]).ok


def test_a_certificate_of_another_ledger_shows_no_key_of_this_one(certified):
    data, owner, _ = certified
    receipt = data["receipt"] | {"ledger": "ab" * 16}
    assert not verify_result(data | {"receipt": receipt}, [owner.public]).ok


def test_numbers_that_another_trusted_key_signed_are_found(release, public, tmp_path):
    """Two ledgers are trusted: the key of one must not vouch for numbers under a receipt of the other."""
    other = Signer.at(tmp_path / "key")
    data = covered(plain(release))
    data["outputs"][0]["values"] = [5_000, 5_000]
    data["signature"] = {"key": other.key, "signature": other.sign(statement(data))}
    assert not verify_result(data, [*public, other.public]).ok


@pytest.mark.parametrize("damage", [{"note": "audited"}, {"key": None}, {"signature": 5}, {"key": "\x1b[2K"}])
def test_a_signature_with_anything_else_in_it_is_found(release, public, damage):
    data = plain(release)
    data["signature"] |= damage
    found = verify_result(data, public)
    assert found.faults
    assert "\x1b" not in str(found.faults)


def test_another_dataset_beside_a_receipt_is_found(release, public):
    data = plain(release) | {"dataset": {"name": "other", "version": 1}}
    assert "the dataset is not the one that was charged" in verify_result(data, public).faults


def test_data_without_a_receipt_is_refused(public):
    with pytest.raises(LedgerError, match="no result"):
        verify_result({"schema": "discreet.release/2"}, public)
