"""Words of the operating system are fresh; those of a keyed stream depend on key and address alone."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.errors import ParameterError
from discreet.samplers.source import KeyedStream, OperatingSystem

KEY = bytes(range(32))


def words(source, rows, attempt=0, place=0):
    rows = np.asarray(rows)
    return source.words(rows, np.full(len(rows), attempt), place).tolist()


def test_words_of_the_system_are_fresh_at_the_same_address():
    """False-alarm rate below 1e-300."""
    source = OperatingSystem()
    assert words(source, range(100)) != words(source, range(100))


@pytest.mark.guarantee("samplers.source")
def test_a_word_of_a_stream_is_the_first_half_of_the_encrypted_address():
    block = (5).to_bytes(8, "little") + (7 << 32 | 2).to_bytes(8, "little")
    encryptor = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()  # noqa: S305
    expected = int.from_bytes(encryptor.update(block)[:8], "little")
    assert words(KeyedStream(KEY), [5], attempt=7, place=2) == [expected]


def test_words_of_a_stream_do_not_depend_on_what_else_is_asked():
    whole = words(KeyedStream(KEY), range(1000), 3, 1)
    assert words(KeyedStream(KEY), [700, 2], 3, 1) == [whole[700], whole[2]]


def test_different_addresses_and_keys_have_different_words():
    one, other = KeyedStream(KEY), KeyedStream(KEY[::-1])
    seen = [word for place in range(3) for attempt in range(3) for word in words(one, range(100), attempt, place)]
    assert len({*seen, *words(other, range(100))}) == 1000


@pytest.mark.parametrize("key", [b"", bytes(16), bytes(33)])
def test_a_key_of_another_length_is_refused(key):
    with pytest.raises(ParameterError, match="32 bytes"):
        KeyedStream(key)


def test_an_address_beyond_the_stream_is_an_error():
    for attempt, place in ((1 << 32, 0), (0, 1 << 32)):
        with pytest.raises(OverflowError):
            words(KeyedStream(KEY), [0], attempt, place)


@pytest.mark.parametrize("kind", [np.uint8, np.int32])
def test_numbers_of_attempts_may_be_narrow(kind):
    rows = np.arange(3)
    wide, narrow = (KeyedStream(KEY).words(rows, np.array([0, 1, 7], dtype=each), 2) for each in (np.int64, kind))
    assert wide.tolist() == narrow.tolist()
