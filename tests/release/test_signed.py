"""A signature covers all of a result; one that was changed since is saved with its original."""

import pytest

from discreet.release.signed import Signed, covered, statement

PLAIN = {"schema": "discreet.release/2", "values": [1, 2.5], "text": "Größe"}
SIGNED = Signed(PLAIN, "ab", "cd")


def test_what_is_signed_is_one_ascii_text_for_one_value():
    assert statement(PLAIN) == '{"schema":"discreet.release/2","text":"Gr\\u00f6\\u00dfe","values":[1,2.5]}'
    assert statement(dict(reversed(PLAIN.items()))) == statement(PLAIN)
    with pytest.raises(ValueError, match="Out of range"):
        statement({"values": [float("nan")]})


def test_an_unchanged_result_has_the_signature_alone():
    assert SIGNED.beside(dict(PLAIN)) == {"signature": {"key": "ab", "signature": "cd"}}


def test_a_changed_result_has_its_original_with_it():
    assert SIGNED.beside(PLAIN | {"values": [1, 2]})["original"] == PLAIN
    assert "original" in SIGNED.beside(PLAIN | {"values": [1.0, 2.5]}), "1 and 1.0 are other texts"


def test_a_signature_is_read_back():
    saved = PLAIN | SIGNED.beside(PLAIN)
    assert Signed.from_json(saved) == SIGNED
    assert covered(saved) == PLAIN
    changed = PLAIN | {"values": []}
    assert Signed.from_json(changed | SIGNED.beside(changed)) == SIGNED
    assert Signed.from_json(PLAIN) is None
    with pytest.raises(TypeError):
        Signed.from_json(PLAIN | {"signature": {"key": 1, "signature": "cd"}})
