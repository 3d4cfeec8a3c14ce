"""A witness hears everything that a call shows, lets none of it through, and masks only what is random."""

import datetime as dt
import hashlib
import json
import logging
import os
import secrets
import stat
import sys
import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditing.side_channels.recorder import (
    CHANNELS,
    Witness,
    files_below,
    is_address,
    surroundings,
    within_a_day,
)
from discreet.home import VARIABLE

NOW = dt.datetime.now(dt.UTC)


@pytest.fixture
def witness():
    with surroundings() as places:
        yield Witness(places, "people.csv", dt.datetime.now(dt.UTC))


def shown(witness, make, channel):
    witness.watch("call", make)
    return json.loads(witness.seen["call"].channels[channel])


def test_a_call_is_seen_in_every_channel_and_its_result_comes_back(witness):
    assert witness.watch("call", lambda: 7) == 7
    assert set(witness.seen["call"].channels) == set(CHANNELS)
    assert json.loads(witness.seen["call"].channels["status"]) == "returned int"
    assert json.loads(witness.seen["call"].channels["text"]) == {"str": "7", "repr": "7"}
    assert witness.seen["call"].seconds > 0


def test_an_exception_is_told_with_what_is_behind_it(witness):
    def failing():
        try:
            int("HIV+")
        except ValueError as error:
            error.add_note("row 3")
            raise KeyError("x") from error

    first, second = shown(witness, failing, "error")
    assert json.loads(witness.seen["call"].channels["status"]) == "raised KeyError"
    assert (first["class"], first["arguments"]) == ("builtins.KeyError", "('x',)")
    assert first["lines"][-1] == f"failing, line {failing.__code__.co_firstlineno + 5}"
    assert (second["class"], second["notes"]) == ("builtins.ValueError", ["row 3"])
    assert "HIV+" in second["text"]


def test_every_logger_is_heard_at_every_level_and_nothing_comes_through(witness, caplog, capfd):
    deaf = logging.getLogger("deaf")
    deaf.propagate = False

    def logging_call():
        logging.getLogger("discreet").debug("%d rows", 3)
        deaf.warning("alone")
        try:
            int("x")
        except ValueError:
            logging.getLogger("other").exception("failed")

    before = logging.getLogRecordFactory(), logging.root.level, list(logging.root.handlers)
    with caplog.at_level(logging.DEBUG):
        records = shown(witness, logging_call, "log")
    deaf.propagate = True
    assert [record[:3] for record in records] == [
        ["discreet", "DEBUG", "3 rows"],
        ["deaf", "WARNING", "alone"],
        ["other", "ERROR", "failed"],
    ]
    assert records[2][3][0]["class"] == "builtins.ValueError"
    assert caplog.records == []
    assert before == (logging.getLogRecordFactory(), logging.root.level, list(logging.root.handlers))


def test_warnings_and_both_streams_are_heard_also_below_python(witness, capfd):
    def loud():
        warnings.warn("few rows", stacklevel=1)
        print("out")
        print("err", file=sys.stderr)
        os.write(1, b"below")

    assert shown(witness, loud, "printed") == ["below", "", "out\n", "err\n"]
    assert json.loads(witness.seen["call"].channels["warnings"]) == ["UserWarning: few rows"]
    assert capfd.readouterr() == ("", "")


def test_the_surroundings_are_empty_private_and_gone_afterwards():
    before = os.environ.get(VARIABLE), os.environ.get("TMPDIR"), tempfile.gettempdir()
    with surroundings() as places:
        assert os.environ[VARIABLE] == str(places["home"])
        assert tempfile.gettempdir() == str(places["temporary"])
        assert {stat.S_IMODE(place.stat().st_mode) for place in places.values()} == {0o700}
        assert files_below(places) == []
        Path(tempfile.mkdtemp()).joinpath("kept").touch()
    assert not places["home"].parent.exists()
    assert before == (os.environ.get(VARIABLE), os.environ.get("TMPDIR"), tempfile.gettempdir())


def test_files_are_told_by_name_and_mode_and_by_size_where_others_may_list_them(tmp_path):
    places = {"home": tmp_path / "home", "temporary": tmp_path / "temporary"}
    (places["home"] / "private" / "room").mkdir(parents=True)
    (places["home"] / "private" / "room" / "spill").write_bytes(b"rows")
    (places["home"] / "ledger.sqlite").write_bytes(b"12345")
    places["temporary"].mkdir()
    (places["temporary"] / "part-0").write_bytes(b"123")
    for path in tmp_path.rglob("*"):
        path.chmod(0o700)
    assert files_below(places) == [
        "home/ledger.sqlite 700",
        "home/private 700",
        "home/private/room 700",
        "temporary/part-0 700 3 bytes",
    ]


def test_moments_of_the_run_are_masked_and_any_other_is_somebodys(witness):
    told = lambda: [f"{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%S.%f+00:00}", "born 1911-11-11 11:11:11"]  # noqa: E731
    assert shown(witness, told, "text")["str"] == "['<moment>', 'born 1911-11-11 11:11:11']"
    assert shown(witness, lambda: f"since {dt.datetime.now(dt.UTC):%Y-%m-%d}", "text")["str"] == "since <today>"


def test_random_words_are_masked_and_kept_aside_and_numbers_are_not(witness):
    word = "a" + secrets.token_hex(8)
    told = lambda: f"receipt {word} of people.csv, 123456789012345 rows"  # noqa: E731
    assert shown(witness, told, "text")["str"] == "receipt <random> of <source>, 123456789012345 rows"
    assert witness.seen["call"].masked["text"] == {word}
    digest = hashlib.sha256(b"rows").hexdigest()
    assert shown(witness, lambda: digest, "text")["str"] == "<random>"
    assert witness.seen["call"].masked["text"] == {digest}
    assert shown(witness, object, "text")["str"] == "<object object <address>>"
    (address,) = {word for word in witness.seen["call"].masked["text"] if word.startswith("at 0x")}
    assert is_address(address)
    assert shown(witness, lambda: "0x00000000002a", "text")["str"] == "<address>"
    assert witness.seen["call"].masked["text"] == {"0x00000000002a"}
    assert not is_address("0x00000000002a")


def test_a_release_is_told_without_its_numbers(witness):
    rows = pa.table({"id": ["a", "b"], "w": ["A", "B"], "x": [1.0, 2.0]})
    query = dp.table("t").group_by("w").agg(n=dp.count(), m=dp.mean("x", bounds=(0, 5)))
    words = {
        "name": "t",
        "privacy_unit": "id",
        "max_rows": 2,
        "budget": dp.Budget(epsilon=1),
        "keys": {"w": ["A", "C"]},
    }
    with dp.testing.protect(rows, **words) as session:
        witness.session = session
        witness.watch("call", lambda: session.release(query, epsilon=0.5))
    seen = witness.seen["call"]
    told = {channel: json.loads(text) for channel, text in seen.channels.items()}
    assert told["keys"] == [
        [{"name": "w", "type": "text", "values": ["A", "C"]}],
        ["w", "n", "n_margin", "m", "m_margin"],
    ]
    assert set(told["margins"]) == {"n"}
    assert [output["types"] for output in told["shape"]["outputs"]] == [["int", "int"], ["float", "float"]]
    assert told["shape"]["receipt"]["cost"]["epsilon"] == "500000000000"
    assert told["cost"]["t"]["epsilon"] == 500_000_000_000
    assert [entry["kind"] for entry in told["ledger"]["t"]] == ["REGISTERED", "RESERVED"]
    assert "w n m A # ± # # ± # C # ± # # ± #" in told["text"]["str"]
    assert "receipt <receipt>" in told["text"]["str"]
    assert seen.measured[0].steps == (1, 0)
    assert not seen.is_private


@pytest.mark.parametrize("room", ["4daa810a82110dfe", "1234567890123456"])
def test_the_name_of_a_room_is_random_also_where_it_has_no_letter(witness, room):
    place = witness._places["home"] / "private" / room
    place.mkdir(parents=True)
    assert shown(witness, lambda: None, "files")[1] == "home/private/<random> 755"
    assert witness.seen["call"].masked["files"] == {room}


def test_a_receipt_is_random_also_where_it_has_no_letter_and_a_long_number_is_not(witness):
    call = lambda: logging.getLogger("discreet").error("receipt %s, sum %s", "123456789012", "123456789012")  # noqa: E731
    assert shown(witness, call, "log")[0][2] == "receipt <random>, sum 123456789012"


def test_the_id_of_a_ledger_is_random_also_where_it_has_no_letter(witness):
    call = lambda: logging.getLogger("discreet").error('{"ledger":"%s","caps":[%s]}', "1" * 32, "1" * 32)  # noqa: E731
    assert shown(witness, call, "log")[0][2] == '{"ledger":"<random>","caps":[' + "1" * 32 + "]}"


def test_what_midnight_came_into_is_looked_at_again():
    days, looks = iter([1, 2, 2, 3, 3, 3]), iter("abc")
    assert within_a_day(lambda: next(looks), lambda: next(days)) == "c"
    assert within_a_day(lambda: "now") == "now"
