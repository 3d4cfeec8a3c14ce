import base64
import concurrent.futures
import json
import os
import stat
import string
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.records import signatures as signing
from discreet.ledger.records.signatures import Signer, is_signature, is_signed_by, key_id, public_keys

FAILING = Path(__file__).parents[1] / "failing_rotation.py"

# RFC 8032, section 7.1: secret key, public key, message, signature
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
]

STARTER = """
import os, sys
from discreet.ledger.records.signatures import Signer

Signer.in_memory().sign("")
for place in range(8):
    ready, gate = os.pipe()
    children = []
    for _ in range(8):
        child = os.fork()
        if not child:
            os.close(gate)
            os.read(ready, 1)
            signer = Signer.at(f"{sys.argv[1]}/{place}")
            os.write(1, f"{place} {signer.key} {signer.sign('text')}\\n".encode())
            os._exit(0)
        children.append(child)
    os.close(gate)
    os.close(ready)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
"""

ROTATOR = """
import os, sys
from discreet.ledger.records.signatures import Signer

sys.stdin.read(1)
for turn in range(10):
    signer = Signer.rotate(sys.argv[1]) if turn % 2 else Signer.at(sys.argv[1])
    os.write(1, f"{signer.key} {signer.sign('text')}\\n".encode())
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "signing.key"


def signer_of(secret: str, path: Path) -> Signer:
    """The signer of a raw secret key, brought as the PEM that openssl writes."""
    der = bytes.fromhex("302e020100300506032b657004220420" + secret)
    path.write_text(f"-----BEGIN PRIVATE KEY-----\n{base64.b64encode(der).decode()}\n-----END PRIVATE KEY-----\n")
    path.chmod(0o600)
    return Signer.at(path)


class TestSigning:
    @pytest.mark.parametrize(("secret", "public", "message", "signature"), VECTORS)
    def test_signatures_are_those_of_the_standard(self, path, secret, public, message, signature):
        signer = signer_of(secret, path)
        assert signer.public == "ed25519:" + base64.b64encode(bytes.fromhex(public)).decode()
        assert base64.b64decode(signer.sign(bytes.fromhex(message).decode())).hex() == signature

    def test_a_key_is_named_by_the_digest_of_its_public_half(self, path):
        assert signer_of(VECTORS[0][0], path).key == "21fe31dfa154a261"

    def test_the_same_text_has_the_same_signature_in_every_thread(self, path):
        signer = Signer.at(path)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            signatures = set(pool.map(signer.sign, ["text"] * 200))
        assert signatures == {Signer.at(path).sign("text")}

    def test_a_signature_verifies_and_one_of_another_text_or_key_does_not(self):
        one, other = Signer.in_memory(), Signer.in_memory()
        signature = one.sign("text é \N{SNOWMAN}")
        assert is_signature("text é \N{SNOWMAN}", signature, one.public)
        assert not is_signature("text", signature, one.public)
        assert not is_signature("text é \N{SNOWMAN}", signature, other.public)

    def test_a_key_shows_its_id_and_nothing_else(self):
        signer = Signer.in_memory()
        assert repr(signer) == f"<signing key {signer.key}>"
        with pytest.raises(TypeError):
            signer.__reduce_ex__(4)[2]["_private"].__reduce_ex__(4)


ODD = st.one_of(
    st.none(), st.integers(), st.binary(max_size=100), st.text(st.characters()), st.lists(st.text(), max_size=2)
)
SIZES = st.sampled_from([0, 1, 31, 32, 33, 63, 64, 65])
ENCODED = SIZES.flatmap(lambda n: st.binary(min_size=n, max_size=n)).map(lambda raw: base64.b64encode(raw).decode())
KEY = Signer.in_memory()


class TestHostileInput:
    @settings(max_examples=60, deadline=None)
    @given(st.one_of(ODD, st.text()), st.one_of(ODD, ENCODED), st.one_of(ODD, ENCODED.map("ed25519:".__add__)))
    def test_whatever_is_not_a_signature_is_false_and_raises_nothing(self, text, signature, public):
        assert is_signature(text, signature, public) is False
        assert is_signature(text, signature, KEY.public) is False
        assert is_signature("text", KEY.sign("text"), public) is False
        assert is_signed_by("text", KEY.key, signature, [public]) is False
        assert key_id(public) is None or len(key_id(public)) == 16

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 87), st.characters(codec="ascii"))
    def test_a_signature_has_one_spelling(self, place, character):
        signature = KEY.sign("text")
        other = signature[:place] + character + signature[place + 1 :]
        assert is_signature("text", other, KEY.public) is (other == signature)
        assert not is_signature("text", signature + character, KEY.public)

    def test_spare_bits_of_the_last_letter_are_no_second_spelling(self):
        signature = KEY.sign("text")
        spelled = [signature[:85] + letter + "==" for letter in string.ascii_letters + string.digits + "+/"]
        assert sum(base64.b64decode(each) == base64.b64decode(signature) for each in spelled) == 16
        assert [each for each in spelled if is_signature("text", each, KEY.public)] == [signature]

    def test_text_that_cannot_be_encoded_is_false(self):
        assert not is_signature("\ud800", KEY.sign("text"), KEY.public)

    @pytest.mark.parametrize("public", ["ed25519:" + base64.b64encode(bytes([n] * 32)).decode() for n in (0, 1, 255)])
    def test_points_that_are_no_keys_verify_nothing_of_ours(self, public):
        assert not is_signature("text", KEY.sign("text"), public)

    def test_a_key_is_one_of_some_by_itself_in_a_list_or_by_its_id(self):
        other, signature = Signer.in_memory(), KEY.sign("text")
        for publics in (KEY.public, [other.public, KEY.public], {KEY.key: KEY.public}, iter([KEY.public])):
            assert is_signed_by("text", KEY.key, signature, publics)
        for publics in ("", [], {}, other.public, [None, 7], {KEY.key: other.public}):
            assert not is_signed_by("text", KEY.key, signature, publics)

    def test_a_text_that_names_another_key_is_not_signed(self):
        signature = KEY.sign("text")
        assert not is_signed_by("text", Signer.in_memory().key, signature, KEY.public)
        assert not is_signed_by("text", None, signature, KEY.public)
        assert not is_signed_by("text", KEY.key, None, KEY.public)


class TestKeyFile:
    def test_a_key_is_made_once_and_for_its_owner_alone(self, path):
        first = Signer.at(path)
        assert Signer.at(str(path)).public == first.public
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert sorted(p.name for p in path.parent.iterdir()) == ["signing.key", "signing.key.public"]

    def test_the_private_key_is_not_in_the_list(self, path):
        signer = Signer.at(path)
        listed = path.with_name("signing.key.public").read_text()
        assert json.loads(listed).keys() == {"key", "public", "time"}
        assert signer.public in listed

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
    def test_a_key_that_others_may_open_is_refused(self, path, mode):
        Signer.at(path)
        path.chmod(mode)
        with pytest.raises(ParameterError, match="could sign in the ledger's name") as refused:
            Signer.at(path)
        assert "chmod 600" in refused.value.instead

    def test_a_key_that_may_not_be_written_serves(self, path):
        first = Signer.at(path)
        path.chmod(0o400)
        assert Signer.at(path).key == first.key

    def test_every_flipped_bit_and_every_cut_of_a_key_is_found(self, path):
        Signer.at(path)
        content = path.read_bytes()
        damaged = [content[:size] for size in range(len(content))]
        flipped = range(len(content))
        damaged += [content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :] for place in flipped]
        for text in damaged:
            path.write_bytes(text)
            with pytest.raises(LedgerError) as refused:
                Signer.at(path)
            assert str(refused.value) == signing.DAMAGED_KEY
        assert len(public_keys(path)) == 1

    @pytest.mark.parametrize("content", [b"", b"\0" * 200, b"not a key", b"-----BEGIN PRIVATE KEY-----\n" * 9])
    def test_a_file_that_is_no_key_is_refused(self, path, content):
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(LedgerError, match="signing key is damaged"):
            Signer.at(path)

    @pytest.mark.parametrize("kind", ["of another curve", "encrypted"])
    def test_a_key_of_another_kind_is_refused(self, path, kind):
        is_encrypted = kind == "encrypted"
        private = Ed25519PrivateKey.generate() if is_encrypted else ec.generate_private_key(ec.SECP256R1())
        secret = BestAvailableEncryption(b"secret") if is_encrypted else NoEncryption()
        path.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret))
        path.chmod(0o600)
        with pytest.raises(LedgerError, match="signing key is damaged"):
            Signer.at(path)

    def test_places_that_cannot_hold_a_key_are_one_sentence(self, tmp_path):
        with pytest.raises(LedgerError) as refused:
            Signer.at(tmp_path / "absent" / "key")
        assert str(refused.value) == signing.UNWRITABLE_KEY
        with pytest.raises(LedgerError) as refused:
            Signer.at(tmp_path)
        assert str(refused.value) == signing.UNREADABLE_KEY

    def test_a_link_leads_to_one_key_and_one_list(self, path):
        link = path.with_name("link")
        link.symlink_to(path)
        assert Signer.at(link).key == Signer.at(path).key
        Signer.rotate(link)
        assert link.is_symlink()
        assert public_keys(link) == public_keys(path)
        assert len(public_keys(path)) == 2

    def test_processes_that_start_at_once_end_with_one_key(self, tmp_path, script):
        result = script(STARTER, tmp_path)
        assert result.returncode == 0, result.stderr
        started = [line.split() for line in result.stdout.splitlines()]
        assert len(started) == 64
        assert len({tuple(line) for line in started}) == 8
        for place, key, signature in started:
            assert list(public_keys(tmp_path / place)) == [key]
            assert is_signature("text", signature, public_keys(tmp_path / place)[key])


class TestRotation:
    def test_a_rotated_key_is_new_and_old_signatures_stay_good(self, path):
        old = Signer.at(path)
        signature = old.sign("text")
        new = Signer.rotate(path)
        assert new.key != old.key
        assert Signer.at(path).key == new.key
        assert public_keys(path) == {old.key: old.public, new.key: new.public}
        assert list(public_keys(path)) == [old.key, new.key]
        assert is_signature("text", signature, public_keys(path)[old.key])
        assert old.known_keys() == new.known_keys() == public_keys(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_a_key_that_is_not_on_the_list_comes_on_it_before_it_goes(self, path):
        old = Signer.at(path)
        path.with_name("signing.key.public").unlink()
        new = Signer.rotate(path)
        assert list(public_keys(path)) == [old.key, new.key]

    def test_there_is_nothing_to_rotate_where_no_key_is(self, path):
        with pytest.raises(ParameterError, match="there is no key at that path"):
            Signer.rotate(path)
        assert public_keys(path) == {}

    @pytest.mark.parametrize(("action", "least"), [("create", 10), ("rotate", 15)])
    def test_killed_at_any_step_it_leaves_a_working_key_and_loses_none(self, tmp_path, action, least):
        command = [sys.executable, FAILING, tmp_path, action]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result.stderr
        attempts = [json.loads(line) for line in result.stdout.splitlines()]
        assert len(attempts) > least
        assert [attempt["killed"] for attempt in attempts] == [True] * (len(attempts) - 1) + [False]
        assert attempts[-1]["changed"]
        for attempt in attempts:
            assert all(attempt[name] for name in ("listed", "old", "works", "again")), attempt
            # a new key is on the list before it takes the place of the old one
            assert attempt["keys"] == 1 if action == "create" else 1 + attempt["changed"] <= attempt["keys"] <= 2
            assert attempt["mode"] == "0o600"

    def test_whatever_processes_sign_while_others_rotate_can_be_verified(self, path):
        Signer.at(path)
        crowd = [
            subprocess.Popen(
                [sys.executable, "-c", ROTATOR, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(4)
        ]
        signed = [line.split() for process in crowd for line in process.communicate("x", timeout=120)[0].splitlines()]
        assert [process.returncode for process in crowd] == [0] * 4
        assert len(signed) == 40
        known = public_keys(path)
        assert all(is_signature("text", signature, known[key]) for key, signature in signed)


class TestList:
    def test_a_list_that_was_lost_is_begun_again_with_the_key_that_signs(self, path):
        Signer.at(path)
        new = Signer.rotate(path)
        path.with_name("signing.key.public").unlink()
        assert public_keys(path) == {}
        assert list(Signer.at(path).known_keys()) == [new.key]

    def test_a_line_that_a_crash_cut_off_is_written_again(self, path):
        listed = path.with_name("signing.key.public")
        old = Signer.at(path)
        new = Signer.rotate(path)
        os.truncate(listed, listed.stat().st_size - 20)
        assert list(public_keys(path)) == [old.key]
        assert list(Signer.at(path).known_keys()) == [old.key, new.key]

    @pytest.mark.parametrize(
        "line",
        [
            "",
            "{}",
            "[]",
            "not json",
            '{"key":null,"public":null}',
            '{"key":"00","public":"ed25519:"}',
            json.dumps({"key": "0" * 16, "public": KEY.public}),
            json.dumps({"key": KEY.key, "public": Signer.in_memory().public}),
            "[" * 100_000,
        ],
        ids=range(9),
    )
    def test_a_damaged_list_is_one_sentence(self, path, line):
        Signer.at(path)
        with path.with_name("signing.key.public").open("a") as listed:
            listed.write(line + "\n")
        for reading in (public_keys, Signer.at, Signer.rotate):
            with pytest.raises(LedgerError) as refused:
                reading(path)
            assert str(refused.value) == signing.DAMAGED_LIST

    def test_a_list_that_others_may_write_is_refused_and_one_that_they_read_is_not(self, path):
        listed = path.with_name("signing.key.public")
        signer = Signer.at(path)
        listed.chmod(0o644)
        assert list(public_keys(path)) == [signer.key]
        listed.chmod(0o620)
        with pytest.raises(ParameterError, match="could add a key"):
            Signer.at(path)

    def test_a_key_in_memory_knows_itself(self):
        assert KEY.known_keys() == {KEY.key: KEY.public}


def test_reading_receipts_does_not_import_cryptography(script):
    result = script("import sys, discreet.ledger.records.receipt; print('cryptography' in sys.modules)")
    assert result.stdout.strip() == "False", result.stderr


def test_a_key_that_is_looked_for_is_found_and_never_made(tmp_path):
    assert Signer.find(tmp_path / "none.key") is None
    assert list(tmp_path.iterdir()) == []
    made = Signer.at(tmp_path / "a.key")
    (tmp_path / "a.key.public").unlink()
    found = Signer.find(tmp_path / "a.key")
    assert (found.key, found.is_in_file, Signer.in_memory().is_in_file) == (made.key, True, False)
    rotated = Signer.rotate(tmp_path / "a.key")
    before = (tmp_path / "a.key.public").read_bytes()
    assert found.reopen().key == rotated.key
    (tmp_path / "a.key").unlink()
    assert found.reopen() is found
    assert (tmp_path / "a.key.public").read_bytes() == before
