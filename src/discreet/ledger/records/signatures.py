"""Signatures: one Ed25519 key of a ledger, the list of every public key it ever had, and checking by anyone.

The private key is one file that only its owner may read. Beside it, in `<path>.public`, stands one line for each public
key, oldest first; a key is on that list, and the list on the disk, before it signs anything, so all that was ever
signed can be checked after any number of rotations. Signing draws no randomness: the same text gives the same
signature, in any thread and after any fork.
"""

# ruff: noqa: PLC0415 - cryptography takes 35 ms to import, and reading a ledger signs nothing

import base64
import binascii
import contextlib
import hashlib
import json
import os
import shlex
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, ParameterError
from discreet.home.durable_files import sync_directory
from discreet.ledger.records import append_log
from discreet.ledger.records.canonical_text import canonical
from discreet.ledger.records.chain import now

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

Publics = str | Iterable[str] | Mapping[str, str]
"""One public key, several, or several by their ids as `public_keys` gives them."""

DAMAGED_KEY = "the signing key is damaged, or is not an Ed25519 private key; restore it from a backup"
UNWRITABLE_KEY = "the signing key cannot be made or replaced; check its path, its directory and their rights"
UNREADABLE_KEY = "the signing key cannot be read; check its path and its rights"
DAMAGED_LIST = "the list of public keys beside the signing key is damaged; restore it from a backup"
UNWRITABLE_LIST = "the list of public keys beside the signing key cannot be read or written; check its rights"

LIST = ".public"

_SCHEME = "ed25519:"
_SUCCESSION = "discreet.succession/1"
_LARGEST_KEY = 65_536
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64
_ID_DIGITS = 16
_PEM = b"-----BEGIN "


class Signer:
    """An Ed25519 private key: `key` names it, `public` lets anyone check what it signs.

    Get one by `Signer.at`, `Signer.find`, `Signer.in_memory` or `Signer.rotate`.

    Example:
        >>> from discreet.ledger import Signer
        >>> Signer.at("signing.key").public == Signer.at("signing.key").public
        True
    """

    def __init__(
        self,
        private: "Ed25519PrivateKey",
        path: Path | None = None,
        *,
        is_read_only: bool = False,
        is_missing: bool = False,
    ) -> None:
        self._private = private
        self._path = path
        self._is_read_only = is_read_only
        self.is_missing = is_missing
        """Whether it takes the place of one that was named and is not there."""

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> "Signer":
        """The key in a file, created if absent; processes that start at once end with one key.

        Args:
            path: Path of the file; the list of public keys is beside it.

        Returns:
            The key.

        Raises:
            LedgerError: If the key or its list cannot be read or written, or others can read the key.
        """
        place = _place(path)
        with _constant_error(UNWRITABLE_KEY):
            if not place.exists():
                _create(place)
        signer = cls(_load_key(place), place)
        with _constant_error(UNWRITABLE_LIST):
            signer._enlist(place)
        return signer

    @classmethod
    def find(cls, path: str | os.PathLike[str]) -> "Signer | None":
        """The key in a file, or None where there is none; neither the key nor its list is made or changed."""
        place = _place(path)
        with _constant_error(UNREADABLE_KEY):
            is_there = place.exists()
        return cls(_load_key(place), place, is_read_only=True) if is_there else None

    @classmethod
    def in_memory(cls, *, is_missing: bool = False) -> "Signer":
        """A key that no file holds and that ends with the process."""
        return cls(_generate_key(), is_missing=is_missing)

    @classmethod
    def rotate(cls, path: str | os.PathLike[str]) -> "Signer":
        """Put a new key in the place of the one in a file. The old public key stays on the list.

        The old key signs that the new one succeeds it, so that a ledger that the old one owns accepts the new one.

        Args:
            path: Path of the file.

        Returns:
            The new key.

        Raises:
            ParameterError: If there is no key at that path.
            LedgerError: If the key or its list cannot be read or written.
        """
        place = _place(path)
        if not place.exists():
            raise ParameterError(
                f"rotation of the signing key at {str(path)!r}",
                because="there is no key at that path",
                instead=f"discreet ledger key new --signing-key {shlex.quote(str(path))}, for the first one",
            )
        former = cls.at(place)  # the old key is on the list before it goes; the new one comes on it before it signs
        private = _generate_key()
        with _constant_error(UNWRITABLE_LIST):
            cls(private, place)._enlist(place, former)  # noqa: SLF001 - our own class
        with _constant_error(UNWRITABLE_KEY):
            _replace(place, private)
        return cls.at(place)

    def reopen(self) -> "Signer":
        """The key that is in the file now, where another process rotated it."""
        if self._path is None:
            return self
        return (Signer.find(self._path) or self) if self._is_read_only else Signer.at(self._path)

    @property
    def is_in_file(self) -> bool:
        """Whether a file holds the key; one in memory ends with the process."""
        return self._path is not None

    @cached_property
    def public(self) -> str:
        """The public key as text."""
        return _SCHEME + base64.b64encode(self._raw).decode()

    @cached_property
    def key(self) -> str:
        """The id of the key: the first 16 hexadecimal digits of the SHA-256 of the public key's 32 bytes."""
        return _id(self._raw)

    def sign(self, text: str) -> str:
        """The signature of a text, in base64; the same text gives the same signature."""
        return base64.b64encode(self._private.sign(text.encode())).decode()

    def known_keys(self) -> dict[str, str]:
        """Every public key that the list has by now, this one and older and newer ones, by their ids."""
        listed = {} if self._path is None else public_keys(self._path)
        return listed | {self.key: self.public}

    def handover_from(self, owner: str) -> str | None:
        """What shows that this key succeeded another, perhaps over keys between them; None where it did not.

        It is the id of that key, its signature, and for each key between the two that key and its signature.
        """
        succeeded = {} if self._path is None else _successions(self._path)
        publics, key = self.known_keys(), self.key
        steps: list[str] = []
        while key in succeeded and key != owner:
            former, signature = succeeded.pop(key)
            steps = [signature, *([] if key == self.key else [publics[key]]), *steps]
            key = former
        return " ".join([owner, *steps]) if steps and key == owner else None

    def __repr__(self) -> str:
        return f"<signing key {self.key}>"

    @property
    def _raw(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    def _enlist(self, place: Path, former: "Signer | None" = None) -> None:
        listed = _list_of(place)
        if self.key not in public_keys(place):
            line = {"key": self.key, "public": self.public, "time": now()}
            if former is not None:
                line["handover"] = f"{former.key} {former.sign(succession(former.key, self.public))}"
            append_log.append(listed, [canonical(line)])
        # Another process may have written both a moment ago, and not have come to this yet.
        _sync(listed)
        sync_directory(place.parent)


def public_keys(path: str | os.PathLike[str]) -> dict[str, str]:
    """Every public key that ever signed from a path, oldest first, by its id; none where no key was ever made."""
    listed = _list_of(_place(path))
    with _constant_error(UNWRITABLE_LIST):
        _refuse_a_list_that_others_write(listed)
        return dict(_entry(line) for _, line in append_log.read_all(listed))


def succession(former: str, public: str) -> str:
    """What a key signs to say that another, given by its public half, succeeds it."""
    return canonical({"format": _SUCCESSION, "former": former, "public": public})


def is_signature(text: object, signature: object, public: object) -> bool:
    """Whether the signature is that of the text by the public key; false for anything else, never an error."""
    from cryptography.exceptions import InvalidSignature

    key = _public_key(public) if isinstance(public, str) else None
    signed = _bytes(signature, _SIGNATURE_BYTES)
    if key is None or signed is None or not isinstance(text, str):
        return False
    try:
        key.verify(signed, text.encode())
    except (InvalidSignature, UnicodeEncodeError):
        return False
    return True


def is_signed_by(text: str, key: str | None, signature: str | None, publics: Publics) -> bool:
    """Whether a text that names its key is signed by that key, and the key is one of some public keys."""
    if key is None or signature is None:
        return False
    if isinstance(publics, str):
        publics = (publics,)
    elif isinstance(publics, Mapping):
        publics = (publics.get(key, ""),)
    return any(key_id(public) == key and is_signature(text, signature, public) for public in publics)


def key_id(public: object) -> str | None:
    """The id of a public key; None for text that is not one."""
    raw = _raw_of(public)
    return None if raw is None else _id(raw)


def _id(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()[:_ID_DIGITS]


def _raw_of(public: object) -> bytes | None:
    is_ours = isinstance(public, str) and public.startswith(_SCHEME)
    return _bytes(str(public)[len(_SCHEME) :], _KEY_BYTES) if is_ours else None


def _bytes(text: object, size: int) -> bytes | None:
    """The bytes that base64 text stands for, if it is the one text for so many bytes."""
    if not isinstance(text, str) or len(text) != 4 * -(-size // 3):
        return None
    try:
        content = base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None
    return content if len(content) == size and base64.b64encode(content).decode() == text else None


@lru_cache(maxsize=64)
def _public_key(public: str) -> "Ed25519PublicKey | None":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    raw = _raw_of(public)
    return None if raw is None else Ed25519PublicKey.from_public_bytes(raw)


def _place(path: str | os.PathLike[str]) -> Path:
    """The resolved path of a key: symbolic links to one key share one list."""
    return Path(os.path.realpath(path))


def _list_of(place: Path) -> Path:
    return place.with_name(place.name + LIST)


def _generate_key() -> "Ed25519PrivateKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.generate()


def _create(place: Path) -> None:
    """A key appears whole or not at all; where another process was first, its key stands."""
    draft = _write_draft(place, _generate_key())
    try:
        with contextlib.suppress(FileExistsError):
            os.link(draft, place)
    finally:
        draft.unlink()
    sync_directory(place.parent)


def _replace(place: Path, private: "Ed25519PrivateKey") -> None:
    draft = _write_draft(place, private)
    try:
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
    sync_directory(place.parent)


def _write_draft(place: Path, private: "Ed25519PrivateKey") -> Path:
    """A file beside the key, of the owner's alone, that holds a new key and is on the disk."""
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".new", dir=place.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(_document(private))
        file.flush()
        os.fsync(file.fileno())
    return Path(name)


def _document(private: "Ed25519PrivateKey") -> bytes:
    """The key as PEM, after a line that names it: without that line, a flipped bit would be another key."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return f"discreet signing key {_id(private.public_key().public_bytes_raw())}\n".encode() + pem


def _load_key(place: Path) -> "Ed25519PrivateKey":
    """The key in a file: as `_document` wrote it, or as PEM that an owner brought."""
    from cryptography.exceptions import InternalError, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = _content(place)
    try:
        private = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm, InternalError):
        raise LedgerError(DAMAGED_KEY) from None
    if not isinstance(private, Ed25519PrivateKey):
        raise LedgerError(DAMAGED_KEY)
    if not content.startswith(_PEM) and content != _document(private):
        raise LedgerError(DAMAGED_KEY)
    return private


def _content(place: Path) -> bytes:
    with _constant_error(UNREADABLE_KEY), place.open("rb") as file:
        if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise ParameterError(
                f"the signing key at {str(place)!r}",
                because="other users of this machine may open it, and could sign in the ledger's name",
                instead=f"chmod 600 '{place}'; if anybody may have read it, also"
                f" discreet ledger key rotate --signing-key {shlex.quote(str(place))}",
            )
        return file.read(_LARGEST_KEY)


def _refuse_a_list_that_others_write(listed: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if os.name == "posix" and stat.S_IMODE(listed.stat().st_mode) & 0o022:
            raise ParameterError(
                f"the list of public keys at {str(listed)!r}",
                because="other users can write it, and could add a key",
                instead=f"chmod 600 '{listed}', after comparing its lines with the keys that you know",
            )


def _entry(line: bytes) -> tuple[str, str]:
    try:
        data = json.loads(line)
        key, public = data["key"], data["public"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LedgerError(DAMAGED_LIST) from None
    if key is None or key_id(public) != key:
        raise LedgerError(DAMAGED_LIST)
    return key, public


def _successions(place: Path) -> dict[str, tuple[str, str]]:
    """By the id of each key on the list that succeeded another: the id of that one, and its signature of it."""
    with _constant_error(UNWRITABLE_LIST):
        read = [json.loads(line) for _, line in append_log.read_all(_list_of(place))]
    found = {each["key"]: str(each["handover"]).partition(" ") for each in read if each.get("handover")}
    return {key: (former, signature) for key, (former, _, signature) in found.items()}


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _constant_error(sentence: str) -> Iterator[None]:
    """Turn the system's faults into a constant sentence."""
    try:
        yield
    except OSError:
        raise LedgerError(sentence) from None
