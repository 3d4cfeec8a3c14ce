"""Where samplers take random words from: the operating system, or a keyed stream that is addressed and not consumed.

Definition
    A word is a whole number below 2^bits. Its address is a row, an attempt at drawing that row, and a place within the
    attempt. `OperatingSystem` gives fresh words at every call, whatever the address. `KeyedStream(key)` gives
    the first half of AES-256 of the address, so the same address always has the same word.

Guarantee
    Words at different addresses are independent and uniform: those of the operating system by its promise, those of
    a keyed stream for whoever does not know the key, if AES-256 is a pseudorandom permutation. A draw that takes
    words by address does not depend on the batch or the process that draws it. Proof: docs/proofs/samplers/source.md.

Exactness
    Words are whole numbers, and every bit of them is used or left; nothing is rounded.

Not covered
    Who else knows the key, and whether an address is used for two draws: whoever makes a keyed stream answers for both.

References
    FIPS 197, Advanced Encryption Standard. Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3,
    SC 2011 (words by address instead of in sequence).
"""

from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.samplers.entropy import random_bytes

Words = NDArray[np.uint64]
Rows = NDArray[np.int64]

WORD_BITS = 64
KEY_BYTES = 32
MOST_ATTEMPTS = 1 << 32
MOST_PLACES = 1 << 32


class Source(Protocol):
    """Random words by address."""

    bits: int
    """The width of a word, at most 64."""

    def words(self, rows: Rows, attempts: Rows, place: int) -> Words:
        """The words at some addresses, no two of which are the same.

        Args:
            rows: Row of each address.
            attempts: Attempt of each address.
            place: Which word of an attempt, in all of them.

        Returns:
            A word for each address.
        """


class OperatingSystem:
    """Fresh words at every call; nothing is kept, so threads and forked processes share none."""

    bits = WORD_BITS

    def words(self, rows: Rows, attempts: Rows, place: int) -> Words:  # noqa: ARG002 - every word is fresh
        """A fresh word for each address."""
        return np.frombuffer(random_bytes(8 * len(rows)), dtype=np.uint64)


class KeyedStream:
    """Words that a key and an address determine.

    Args:
        key: 32 secret bytes.

    Raises:
        ParameterError: If the key has another length.
    """

    bits = WORD_BITS

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ParameterError(
                "a key that is not 32 bytes", because="words are AES-256 of their addresses", instead="os.urandom(32)"
            )
        self._cipher = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305 - each block is one address, used once

    def words(self, rows: Rows, attempts: Rows, place: int) -> Words:
        """The words at these addresses."""
        if place >= MOST_PLACES or int(attempts.max(initial=0)) >= MOST_ATTEMPTS:
            raise OverflowError("an address beyond the stream")
        blocks = np.empty((len(rows), 2), dtype="<u8")
        blocks[:, 0] = rows
        blocks[:, 1] = attempts.astype(np.int64) << 32 | place
        encryptor = self._cipher.encryptor()
        encrypted = np.frombuffer(encryptor.update(blocks.tobytes()) + encryptor.finalize(), dtype="<u8")
        return np.ascontiguousarray(encrypted.reshape(-1, 2)[:, 0]).astype(np.uint64)
