import json
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import events
from discreet.accounting.costs import Cost, cost
from discreet.errors import LedgerError
from discreet.ledger.records.chain import ChainLink, Kind
from discreet.ledger.records.receipt import Receipt, cost_of, cost_texts, receipt_of
from discreet.ledger.records.signatures import Signer

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger"
SIGNER = Signer.in_memory()
# the key of the first test of RFC 8032, which signed the golden receipt
GOLDEN_PUBLIC = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="


CHARGE = ChainLink(
    dataset="visits",
    sequence=2,
    kind=Kind.RESERVED,
    time="2026-01-31T12:00:00+00:00",
    version=1,
    previous="1" * 64,
    library="0.1.0",
    cost=cost(events.PureEvent(Fraction(1, 10))),
    analyst="ann",
    event=events.canonical(events.PureEvent(Fraction(1, 10))),
    question="2" * 64,
    request="first",
    digest="3" * 64,
)


@pytest.fixture
def receipt() -> Receipt:
    return receipt_of(CHARGE)


def test_a_receipt_verifies_without_its_ledger(receipt):
    assert Receipt.from_json(receipt.to_json()).verify()


HASHED = [
    f.name for f in fields(Receipt) if f.name not in ("cost", "others", "ledger", "key", "signature", "certificate")
]


@pytest.mark.parametrize("name", HASHED)
def test_a_receipt_with_any_field_changed_does_not_verify(receipt, name):
    value = getattr(receipt, name)
    other = value + 1 if isinstance(value, int) else f"{value}x"
    assert not replace(receipt, **{name: other}).verify()


def test_a_receipt_with_another_cost_does_not_verify(receipt):
    assert not replace(receipt, cost=Cost(None, receipt.cost.rho, receipt.cost.delta, receipt.cost.rho)).verify()


def test_the_short_id_is_the_beginning_of_the_hash(receipt):
    assert len(receipt.id) == 12
    assert receipt.hash.startswith(receipt.id)


def test_a_receipt_names_its_format_and_writes_costs_as_text(receipt):
    data = json.loads(receipt.to_json())
    assert data["format"] == "discreet.receipt/2"
    assert data["cost"] == {"epsilon": "100000000000", "rho": "5000000000000", "delta": "0"}


def test_a_receipt_holds_a_digest_of_the_plan_and_not_the_plan(ledger, dataset, charge):
    ledger.register(dataset())
    assert "alice" not in charge(ledger, description='{"where": "name = alice"}').to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "discreet.receipt/3"},
        {"format": "discreet.receipt/3", "others": []},
        {"format": "discreet.receipt/3", "others": [1]},
        {"format": "discreet.receipt/3", "others": "one"},
        {"format": "discreet.receipt/4", "others": ["one"]},
        {"others": ["one"]},
        {"format": "discreet.receipt/1"},
        {"format": None},
        {"key": "ab"},
        {"signature": "ab"},
        {"key": 1, "signature": 1},
        {"ledger": 1},
        {"sequence": "2"},
        {"sequence": True},
        {"analyst": None},
        {"extra": 1},
        {"cost": {"epsilon": 1, "rho": "1", "delta": "0"}},
        {"cost": {"epsilon": "1", "rho": "1", "delta": "0", "more": "1"}},
        {"cost": {"rho": "1", "delta": "0"}},
        {"cost": {"epsilon": "1", "rho": None, "delta": "0"}},
        {"cost": {"epsilon": "1_0", "rho": "1", "delta": "0"}},
        {"cost": {"epsilon": "01", "rho": "1", "delta": "0"}},
        {"cost": {"epsilon": "9" * 5_000, "rho": "1", "delta": "0"}},
        {"cost": "1"},
    ],
)
def test_text_that_is_not_a_receipt_is_refused(receipt, change):
    text = json.dumps(json.loads(receipt.to_json()) | change)
    with pytest.raises(LedgerError, match="not a receipt"):
        Receipt.from_json(text)


@pytest.mark.parametrize("name", ["ledger", "key", "signature", "request", "hash", "cost", "format"])
def test_a_receipt_without_any_of_its_fields_is_refused(receipt, name):
    data = json.loads(receipt.to_json())
    del data[name]
    with pytest.raises(LedgerError, match="not a receipt"):
        Receipt.from_json(json.dumps(data))


def test_a_name_that_comes_twice_is_refused(receipt):
    text = receipt.to_json().replace('"sequence":2', '"sequence":1,"sequence":2')
    with pytest.raises(LedgerError, match="not a receipt"):
        Receipt.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "7", "not json", "[" * 100_000], ids=range(7))
def test_text_of_another_kind_is_refused(text):
    with pytest.raises(LedgerError, match="not a receipt"):
        Receipt.from_json(text)


class TestSignatures:
    def test_a_receipt_is_not_signed_until_a_key_signs_it(self, receipt):
        assert (receipt.key, receipt.signature) == (None, None)
        assert receipt.verify()
        assert not receipt.verify(SIGNER.public)

    def test_a_signed_receipt_verifies_without_its_ledger_against_one_of_some_keys(self, receipt):
        signed = Receipt.from_json(receipt.sign(SIGNER).to_json())
        other = Signer.in_memory()
        assert signed.key == SIGNER.key
        assert signed.verify()
        for public in (SIGNER.public, [other.public, SIGNER.public], {SIGNER.key: SIGNER.public}):
            assert signed.verify(public)
        for public in (other.public, [other.public], [], {}, "", {SIGNER.key: other.public}):
            assert not signed.verify(public)

    def test_signing_changes_no_other_field(self, receipt):
        signed = receipt.sign(SIGNER)
        assert replace(signed, key=None, signature=None) == receipt
        assert signed.hash == receipt.hash
        assert signed.sign(SIGNER) == signed
        with pytest.raises(FrozenInstanceError):
            signed.key = None

    def test_a_receipt_names_the_ledger_that_signed_it_and_goes_on_naming_it(self, receipt):
        assert receipt.is_of("a")
        signed = receipt.sign(SIGNER, "a")
        assert (signed.ledger, signed.hash) == ("a", receipt.hash)
        assert signed.sign(SIGNER) == signed
        assert (signed.is_of("a"), signed.is_of("b")) == (True, False)

    @pytest.mark.parametrize("name", [f.name for f in fields(Receipt) if f.name != "cost"])
    def test_a_signed_receipt_with_any_field_changed_does_not_verify(self, receipt, name):
        signed = receipt.sign(SIGNER)
        value = getattr(signed, name)
        other = value + 1 if isinstance(value, int) else f"{value}x"
        assert not replace(signed, **{name: other}).verify(SIGNER.public)

    def test_a_forger_who_mends_the_hash_is_found_by_the_signature(self, receipt):
        signed = receipt.sign(SIGNER)
        cheaper = replace(signed, cost=Cost(1, 1, 0, 1))
        mended = replace(cheaper, hash=cheaper.link().hash)
        assert mended.verify()
        assert not mended.verify(SIGNER.public)

    def test_a_signature_taken_from_another_receipt_does_not_verify(self, receipt):
        second = receipt_of(replace(CHARGE, sequence=3)).sign(SIGNER)
        stolen = replace(receipt, key=second.key, signature=second.signature)
        assert not stolen.verify(SIGNER.public)

    def test_a_receipt_signed_anew_after_a_rotation_names_the_new_key(self, receipt, tmp_path):
        old = Signer.at(tmp_path / "key")
        before = receipt.sign(old)
        new = Signer.rotate(tmp_path / "key")
        assert before.sign(new).verify(new.public)
        assert before.verify(new.known_keys())
        assert not before.verify(new.public)


class TestGolden:
    def test_a_receipt_of_the_first_format_is_read_and_is_not_signed(self):
        receipt = Receipt.from_json((GOLDEN / "v1.receipt.json").read_text())
        assert (receipt.key, receipt.signature) == (None, None)
        assert receipt.verify()
        assert not receipt.verify(SIGNER.public)
        assert Receipt.from_json(receipt.to_json()) == receipt

    def test_a_signed_receipt_is_read_and_written_for_ever(self):
        text = (GOLDEN / "signed.receipt.json").read_text()
        receipt = Receipt.from_json(text)
        assert receipt.verify(GOLDEN_PUBLIC)
        assert receipt.to_json() + "\n" == text


WHOLE = st.integers(-(2**70), 2**70)
TEXT = st.text(max_size=8)
OPTIONAL = st.one_of(st.none(), TEXT)


@settings(max_examples=50, deadline=None)
@given(
    st.builds(
        Receipt,
        **dict.fromkeys(("version", "sequence"), WHOLE),
        **dict.fromkeys(("dataset", "analyst", "time", "event", "question", "description"), TEXT),
        **dict.fromkeys(("library", "previous", "hash"), TEXT),
        cost=st.builds(Cost, st.one_of(st.none(), WHOLE), WHOLE, WHOLE),
        request=OPTIONAL,
    )
)
def test_any_receipt_is_read_back_as_it_was_written_signed_or_not(receipt):
    assert Receipt.from_json(receipt.to_json()) == receipt
    signed = replace(receipt, hash=receipt.link().hash).sign(SIGNER)
    assert Receipt.from_json(signed.to_json()) == signed
    assert Receipt.from_json(json.dumps(json.loads(signed.to_json()), indent=1)).verify(SIGNER.public)


@given(st.builds(Cost, st.one_of(st.none(), WHOLE), WHOLE, WHOLE))
def test_costs_are_read_back_from_their_texts(spent):
    assert cost_of(json.loads(json.dumps(cost_texts(spent)))) == spent


def test_a_receipt_that_lists_other_releases_says_so_by_its_format_and_its_signature_covers_them(receipt, tmp_path):
    signer = Signer.at(tmp_path / "key")
    listing = replace(receipt, others=("one", "two")).sign(signer)
    data = json.loads(listing.to_json())
    assert (data["format"], data["others"]) == ("discreet.receipt/3", ["one", "two"])
    assert Receipt.from_json(listing.to_json()) == listing
    assert listing.verify(signer.public)
    for others in ((), ("one",), ("two", "one"), ("one", "two", "three")):
        assert not replace(listing, others=others).verify(signer.public)
