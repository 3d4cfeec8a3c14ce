import pytest

from discreet.errors import ParameterError
from discreet.ledger.records import canonical_text


@pytest.mark.parametrize("name", ["ann", "Ann Müller", "分析者", "a" * 200, "o'brien; DROP TABLE events"])
def test_a_name_that_prints_is_kept_as_it_is(name):
    assert canonical_text.label(name, "analyst") == name


@pytest.mark.parametrize(
    "name", ["", "  ", "a" * 201, "a\x00b", "a\nb", "a\x1b[31m", "\u202egnp", "\ud800", "a\u2028b", 7, None]
)
def test_a_name_that_an_audit_could_not_show_is_refused(name):
    with pytest.raises(ParameterError, match="analyst that the ledger cannot keep"):
        canonical_text.label(name, "analyst")


@pytest.mark.parametrize("name", ["a\x00b", "\u202egnp"])
def test_the_refusal_of_a_name_does_not_print_it(name):
    with pytest.raises(ParameterError) as caught:
        canonical_text.label(name, "analyst")
    assert name not in str(caught.value)


@pytest.mark.parametrize("key", ["", "AB", "xyz", "0" * 129, b"ab", None, "ab\n"])
def test_a_key_is_lower_case_hexadecimal(key):
    with pytest.raises(ParameterError):
        canonical_text.key(key, "question")


@pytest.mark.parametrize("code", ["", "Conversion Error: 'HIV+ alice'", "a" * 65, None, "x\n"])
def test_a_failure_code_cannot_carry_a_message(code):
    with pytest.raises(ParameterError):
        canonical_text.short_code(code, "code")


@pytest.mark.parametrize("document", ["", "{", "NaN", '{"a": Infinity}', "[" * 100_000, '"\ud800"', None, b"{}"])
def test_a_document_is_json(document):
    with pytest.raises(ParameterError, match="facts that the ledger cannot keep"):
        canonical_text.document(document, "facts")


def test_two_documents_are_the_same_whatever_the_order_of_their_keys():
    assert canonical_text.same_document('{"a": 1, "b": [1, 2]}', '{"b":[1,2],"a":1}')


@pytest.mark.parametrize("other", ['{"a": 1.0}', '{"a": true}', '{"a": "1"}', '{"a": 1, "b": null}'])
def test_documents_that_differ_in_a_type_are_not_the_same(other):
    assert not canonical_text.same_document('{"a": 1}', other)


def test_an_object_comes_back_from_its_canonical_text():
    assert canonical_text.parse_object(canonical_text.canonical({"b": [1, None], "a": "ü"})) == {
        "a": "ü",
        "b": [1, None],
    }


@pytest.mark.parametrize("written", ["[]", "1", '"a"', "null"])
def test_a_text_that_is_no_object_is_not_taken_for_one(written):
    with pytest.raises(TypeError):
        canonical_text.parse_object(written)


@pytest.mark.parametrize(("what", "example"), [("reason", "decided by the board"), ("analyst", '"ana"')])
def test_the_refusal_of_a_blank_name_shows_one_of_its_kind(what, example):
    with pytest.raises(ParameterError) as caught:
        canonical_text.label(" ", what)
    assert example in caught.value.instead
