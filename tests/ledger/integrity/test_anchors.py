import json
import os
import subprocess
import sys
import threading
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.costs import NOTHING, Cost
from discreet.accounting.filters import Budget
from discreet.errors import LedgerError
from discreet.ledger.integrity import anchors
from discreet.ledger.integrity.anchors import Anchor, AnchorFile, highest, reason_behind
from discreet.ledger.records import append_log
from discreet.ledger.records.chain import MOST_EVENTS
from discreet.ledger.records.registration import budget_columns
from discreet.ledger.records.signatures import Signer

GOLDEN = Path(__file__).parents[2] / "golden" / "ledger" / "signed.anchors.jsonl"
# the key of the first test of RFC 8032, which signed the golden anchors
GOLDEN_PUBLIC = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

SIGNER, STRANGER = Signer.in_memory(), Signer.in_memory()
BUDGET = budget_columns(Budget(epsilon=2, delta=1e-9, reason="a study"))

WRITER = """
import sys
from discreet.accounting.costs import Cost
from discreet.ledger.integrity.anchors import Anchor, AnchorFile
from discreet.ledger.records.signatures import Signer

key, path, name = sys.argv[1:]
sys.stdin.read(1)
file = AnchorFile(path, Signer.at(key))
for turn in range(1, 41):
    file.append(
        Anchor(ledger="", dataset=dataset, sequence=turn, head=name, spent=Cost(turn, 1, 0, 1), budget={}, time="")
        for dataset in (name, "shared")
    )
    if turn == 20 and name == "p0":
        file = AnchorFile(path, Signer.rotate(key))
"""


def anchor(sequence=1, **changes):
    usual = {
        "ledger": "one",
        "dataset": "visits",
        "head": f"{sequence:064x}",
        "spent": Cost(sequence, sequence, 0, sequence),
    }
    return Anchor(sequence=sequence, **({"budget": BUDGET, "time": "2026-01-31"} | usual | changes))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "anchors.jsonl"


@pytest.fixture
def file(path):
    return AnchorFile(path, SIGNER)


UNITS = st.integers(0, 2**70)
COSTS = st.builds(Cost, st.one_of(st.none(), UNITS), UNITS, UNITS)
TEXT = st.text(max_size=8)
ANCHORS = st.builds(
    Anchor,
    **dict.fromkeys(("ledger", "dataset", "head", "time"), TEXT),
    sequence=st.integers(0, 2 * MOST_EVENTS),
    spent=COSTS,
    budget=st.dictionaries(TEXT, st.one_of(st.none(), TEXT), max_size=3),
    store=st.one_of(st.none(), TEXT),
    home=st.one_of(st.none(), TEXT),
)


class TestAnchor:
    @settings(max_examples=50, deadline=None)
    @given(ANCHORS)
    def test_any_anchor_is_one_line_that_is_read_back_and_verifies(self, found):
        signed = found.sign(SIGNER)
        assert "\n" not in signed.to_json()
        assert Anchor.from_json(found.to_json()) == found
        assert Anchor.from_json(signed.to_json()) == signed
        assert signed.verify(SIGNER.public)
        assert not signed.verify(STRANGER.public)
        assert not found.verify(SIGNER.public)

    @pytest.mark.parametrize("name", [field.name for field in fields(Anchor)])
    def test_an_anchor_with_anything_changed_does_not_verify(self, name):
        signed = anchor().sign(SIGNER)
        other = {"sequence": 2, "spent": Cost(None, 1, 0, 1), "budget": BUDGET | {"epsilon": "3/1"}}.get(name, "other")
        assert not replace(signed, **{name: other}).verify(SIGNER.known_keys())

    def test_an_anchor_holds_the_promise_as_the_ledger_writes_it(self):
        data = json.loads(anchor().to_json())
        assert data["format"] == "discreet.anchor/1"
        assert data["budget"] == BUDGET
        assert data["spent"] == {"epsilon": "1", "rho": "1", "delta": "0"}

    @pytest.mark.parametrize(
        "change",
        [
            {"format": "discreet.anchor/2"},
            {"format": "discreet.receipt/2"},
            {"sequence": "1"},
            {"sequence": True},
            {"sequence": -1},
            {"sequence": 1.0},
            {"dataset": None},
            {"key": 7},
            {"budget": []},
            {"budget": {"epsilon": 2}},
            {"spent": {"epsilon": 1, "rho": "1", "delta": "0"}},
            {"spent": {"epsilon": "1", "rho": None, "delta": "0"}},
            {"spent": None},
            {"extra": 1},
        ],
    )
    def test_text_that_is_not_an_anchor_is_refused(self, change):
        text = json.dumps(json.loads(anchor().to_json()) | change, sort_keys=True, separators=(",", ":"))
        with pytest.raises(LedgerError, match="not an anchor"):
            Anchor.from_json(text)

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda text: text + " ",
            lambda text: text.replace(":", ": "),
            lambda text: text.replace('"sequence":1', '"sequence":0,"sequence":1'),
            lambda text: text[:-1],
            lambda _: "",
            lambda _: "[]",
            lambda _: "7",
            lambda _: "[" * 100_000,
        ],
        ids=range(8),
    )
    def test_an_anchor_is_read_to_the_letter(self, spoil):
        with pytest.raises(LedgerError, match="not an anchor"):
            Anchor.from_json(spoil(anchor().to_json()))

    def test_golden_anchors_are_read_and_written_for_ever(self):
        texts = GOLDEN.read_text().splitlines()
        found = [Anchor.from_json(text) for text in texts]
        assert [each.to_json() for each in found] == texts
        assert all(each.verify(GOLDEN_PUBLIC) for each in found)
        assert [each.dataset for each in found] == ["visits", "people"]


HEADS = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


class TestBehind:
    @given(st.data(), HEADS, st.lists(COSTS, min_size=6, max_size=6))
    def test_a_store_is_behind_exactly_where_it_lacks_something_that_was_anchored(self, data, heads, costs):
        """The model: a history extends the anchored one, and its total is at least the anchored total."""
        place = data.draw(st.integers(1, len(heads)))
        taken = anchor(place, head=heads[place - 1], spent=costs[0])
        other = data.draw(st.one_of(st.just(heads), HEADS))
        spent = data.draw(st.sampled_from([*costs, highest(costs[0], costs)]))
        store = dict(enumerate(other, start=1))
        expected = len(other) >= place and other[place - 1] == heads[place - 1] and at_least(spent, costs[0])
        assert (reason_behind(taken, sequence=len(other), head_at=store.get, spent=spent) is None) == expected

    def test_each_way_to_be_behind_is_said(self):
        taken = anchor(5)
        good = {"sequence": 5, "head_at": {5: taken.head}.get, "spent": taken.spent}
        assert reason_behind(taken, **good) is None
        assert "ends at event 4" in reason_behind(taken, **good | {"sequence": 4})
        assert "another history" in reason_behind(taken, **good | {"head_at": {5: "0"}.get})
        assert "another history" in reason_behind(taken, **good | {"head_at": {}.get})
        for less in (Cost(4, 5, 0, 5), Cost(None, 4, 0, 4)):
            assert "less is spent" in reason_behind(taken, **good | {"spent": less})
        assert reason_behind(taken, **good | {"spent": Cost(None, 5, 0, 5)}) is None

    def test_an_anchored_epsilon_without_bound_is_more_than_any(self):
        taken = anchor(5, spent=Cost(None, 5, 0, 5))
        store = {"sequence": 5, "head_at": {5: taken.head}.get}
        assert "less is spent" in reason_behind(taken, spent=Cost(2**62, 5, 0, 5), **store)
        assert reason_behind(taken, spent=Cost(None, 6, 1, 6), **store) is None

    def test_an_anchor_before_the_first_event_asks_for_none(self):
        assert reason_behind(anchor(0, spent=NOTHING), sequence=0, head_at={}.get, spent=NOTHING) is None


class TestHighest:
    @given(COSTS, st.lists(COSTS, max_size=4))
    def test_it_is_the_least_that_is_at_least_every_cost(self, cost, others):
        most = highest(cost, others)
        assert all(at_least(most, each) for each in (cost, *others))
        for name in ("epsilon", "rho", "delta", "renyi"):
            assert getattr(most, name) in [getattr(each, name) for each in (cost, *others)]
        assert highest(most, [*others, cost]) == most


def at_least(one: Cost, other: Cost) -> bool:
    epsilon = one.epsilon is None or (other.epsilon is not None and one.epsilon >= other.epsilon)
    return epsilon and one.rho >= other.rho and one.delta >= other.delta and one.renyi >= other.renyi


class TestFile:
    def test_the_latest_anchor_of_each_dataset_is_the_one_with_the_highest_sequence(self, file):
        assert file.latest() == {}
        file.append([anchor(1), anchor(3), anchor(2), anchor(7, dataset="people")], sync=True)
        assert {name: found.sequence for name, found in file.latest().items()} == {"visits": 3, "people": 7}
        assert all(found.key == SIGNER.key for found in file.latest().values())
        assert file.findings() == []

    def test_the_file_is_its_owners_alone(self, file, path):
        file.append([anchor()])
        assert path.stat().st_mode & 0o777 == 0o600

    def test_nothing_to_append_is_nothing(self, file, path):
        file.append([])
        assert not path.exists()

    def test_anchors_of_several_ledgers_are_told_apart_or_taken_together(self, file):
        file.append([anchor(5), anchor(9, ledger="two", spent=Cost(1, 99, 0, 99))])
        assert file.latest()["visits"].sequence == 9
        assert file.latest("one")["visits"].sequence == 5
        assert file.latest("three") == {}
        assert file.largest_totals()["visits"] == Cost(5, 99, 0, 99)
        assert file.largest_totals("one")["visits"] == Cost(5, 5, 0, 5)

    def test_the_most_spent_is_kept_where_a_later_anchor_says_less(self, file):
        file.append([anchor(5, spent=Cost(50, 5, 0, 5)), anchor(6, spent=Cost(6, 6, 6, 6))])
        file.append([anchor(4, spent=Cost(None, 4, 0, 4))])
        assert file.latest()["visits"].sequence == 6
        assert file.largest_totals()["visits"] == Cost(None, 6, 6, 6)

    def test_lines_of_strangers_count_for_nothing_and_are_found(self, file, path):
        forged = replace(anchor(8), key=SIGNER.key, signature=STRANGER.sign("text"))
        changed = replace(anchor(2).sign(SIGNER), sequence=9)
        file.append([anchor(2)])
        with path.open("a") as opened:
            for each in (anchor(7).sign(STRANGER), forged, changed, anchor(6)):
                opened.write(each.to_json() + "\n")
            opened.write("not an anchor\n\n\udcff\n".encode(errors="surrogateescape").decode("latin-1"))
        file.append([anchor(3)])
        assert file.latest()["visits"].sequence == 3
        unsigned = [f"line {n} of the anchors is not signed by a known key" for n in (2, 3, 4, 5)]
        unreadable = [f"line {n} of the anchors cannot be read" for n in (6, 7, 8)]
        assert file.findings() == unsigned + unreadable
        assert [each.sequence for each in file.every()] == [2, 3]

    def test_of_many_findings_some_are_shown(self, file, path):
        path.write_text("x\n" * 250)
        assert len(file.findings()) == anchors.MOST_FINDINGS + 1
        assert file.findings()[-1] == "and 150 more"

    def test_a_last_line_that_a_crash_cut_off_is_no_finding_then_or_later(self, file, path):
        file.append([anchor(1), anchor(2)])
        os.truncate(path, path.stat().st_size - 10)
        again = AnchorFile(path, SIGNER)
        assert again.latest()["visits"].sequence == 1
        again.append([anchor(3)])
        assert again.latest()["visits"].sequence == 3
        assert [each.sequence for each in again.every()] == [1, 3]
        assert again.findings() == []

    @pytest.mark.parametrize("change", ["cut", "deleted", "replaced", "overwritten"])
    def test_a_file_that_was_changed_under_us_is_found_and_what_it_said_is_kept(self, file, path, change):
        file.append([anchor(1)])
        size = path.stat().st_size
        older = path.read_bytes()
        file.append([anchor(2)])
        assert file.findings() == []
        if change == "cut":
            os.truncate(path, size)
        elif change == "deleted":
            path.unlink()
        elif change == "replaced":
            path.unlink()
            path.write_bytes(older)
        else:
            path.write_bytes(b"x" * path.stat().st_size + b"\n")
        assert file.latest()["visits"].sequence == 2
        assert file.findings()[0] == anchors.CHANGED
        file.append([anchor(3)])
        assert file.latest()["visits"].sequence == 3
        assert file.findings()[0] == anchors.CHANGED

    def test_anchors_of_rotated_keys_stay_good_for_those_who_opened_before_and_after(self, path, tmp_path):
        key = tmp_path / "key"
        before = AnchorFile(path, Signer.at(key))
        before.append([anchor(1)])
        after = AnchorFile(path, Signer.rotate(key))
        after.append([anchor(2)])
        before.append([anchor(3, dataset="people")])
        for each in (before, after, AnchorFile(path, Signer.at(key))):
            assert {name: found.sequence for name, found in each.latest().items()} == {"visits": 2, "people": 3}
            assert each.findings() == []

    def test_reading_again_reads_only_what_is_new(self, file, monkeypatch):
        file.append(anchor(n) for n in range(1, 200))
        file.latest()
        parsed = []
        monkeypatch.setattr(anchors, "_parse_anchor", parsed.append)
        file.append([anchor(200)])
        file.latest()
        file.latest()
        assert len(parsed) == 1

    def test_of_many_anchors_one_is_verified_for_each_dataset(self, file, monkeypatch):
        file.append(anchor(n, dataset=f"d{n % 3}") for n in range(1, 301))
        verified = []
        verify = Anchor.verify
        monkeypatch.setattr(Anchor, "verify", lambda *args: verified.append(args) or verify(*args))
        assert {name: found.sequence for name, found in file.latest().items()} == {"d0": 300, "d1": 298, "d2": 299}
        assert len(verified) == 3

    def test_places_that_cannot_be_written_or_read_are_one_sentence(self, tmp_path):
        with pytest.raises(LedgerError) as refused:
            AnchorFile(tmp_path / "absent" / "anchors", SIGNER).append([anchor()])
        assert str(refused.value) == anchors.UNWRITABLE
        with pytest.raises(LedgerError) as refused:
            AnchorFile("/dev/full", SIGNER).append([anchor()])
        assert str(refused.value) == anchors.UNWRITABLE
        with pytest.raises(LedgerError) as refused:
            AnchorFile(tmp_path, SIGNER).latest()
        assert str(refused.value) == anchors.UNREADABLE


LINES = st.lists(
    st.tuples(
        st.sampled_from(["append", "forge", "garble", "tear", "read"]),
        st.integers(1, 9),
        st.sampled_from(["visits", "people"]),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(LINES)
def test_whatever_is_written_and_read_the_latest_are_those_of_the_model(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("model") / "anchors"
    file = AnchorFile(path, SIGNER)
    highest_signed: dict[str, int] = {}
    wrong = 0
    for action, sequence, dataset in steps:
        line = anchor(sequence, dataset=dataset)
        if action == "append":
            file.append([line])
            highest_signed[dataset] = max(sequence, highest_signed.get(dataset, 0))
        elif action == "read":
            assert {name: found.sequence for name, found in file.latest().items()} == highest_signed
        elif not path.exists() or path.read_bytes()[-1:] == b"\n":
            text = {"forge": line.sign(STRANGER).to_json() + "\n", "garble": "?\n", "tear": line.to_json()[:-9]}[action]
            with path.open("a") as opened:
                opened.write(text)
            wrong += action != "tear"
    assert {name: found.sequence for name, found in AnchorFile(path, SIGNER).latest().items()} == highest_signed
    assert len(file.findings()) == len(AnchorFile(path, SIGNER).findings()) == wrong


def test_eight_processes_append_at_once_while_one_rotates_the_key(path, tmp_path):
    key = tmp_path / "key"
    Signer.at(key)
    crowd = [
        subprocess.Popen([sys.executable, "-c", WRITER, key, path, f"p{i}"], stdin=subprocess.PIPE, text=True)
        for i in range(8)
    ]
    for process in crowd:
        process.communicate("x", timeout=120)
    assert [process.returncode for process in crowd] == [0] * 8
    file = AnchorFile(path, Signer.at(key))
    assert file.findings() == []
    assert {name: found.sequence for name, found in file.latest().items()} == dict.fromkeys(
        ["shared", *(f"p{i}" for i in range(8))], 40
    )
    assert sum(1 for _ in file.every()) == 8 * 40 * 2
    assert len({each.key for each in file.every()}) == 2


def test_threads_that_append_and_read_one_file_lose_nothing(file):
    def work(name):
        for sequence in range(1, 26):
            file.append([anchor(sequence, dataset=name)])
            assert file.latest()[name].sequence == sequence

    failures = []
    threading_hook, threading.excepthook = threading.excepthook, failures.append
    threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    threading.excepthook = threading_hook
    assert failures == []
    assert file.findings() == []
    assert {found.sequence for found in file.latest().values()} == {25}


def test_a_child_of_a_fork_does_not_wait_for_a_thread_of_its_parent(script, tmp_path):
    code = """
import os, signal, sys
from discreet.accounting.costs import NOTHING
from discreet.ledger.integrity.anchors import Anchor, AnchorFile
from discreet.ledger.records.signatures import Signer

file = AnchorFile(sys.argv[1], Signer.in_memory())
file.append([Anchor(ledger="", dataset="d", sequence=1, head="", spent=NOTHING, budget={}, time="")])
with file._process_lock():
    child = os.fork()
    if not child:
        signal.alarm(20)
        os._exit(0 if file.latest()["d"].sequence == 1 else 1)
    print(os.waitpid(child, 0)[1])
"""
    assert script(code, tmp_path / "anchors").stdout.strip() == "0"


SHORTENER = """
import sys, time
from discreet.accounting.costs import Cost
from discreet.ledger.integrity import anchors
from discreet.ledger.integrity.anchors import Anchor, AnchorFile
from discreet.ledger.records.signatures import Signer

key, path, name = sys.argv[1:]
signer = Signer.at(key)
sys.stdin.read(1)
for turn in range(1, 60):
    file = AnchorFile(path, signer)
    head = f"{name}-{turn}"
    file.append([Anchor(ledger="", dataset=name, sequence=turn, head=head, spent=Cost(1, 1, 0, 1), budget={}, time="")])
    print(turn, flush=True)
    if turn % 3 == 0:
        file.shorten("", lambda _: True)
"""


def test_a_shortened_file_keeps_the_highest_and_what_was_lost_and_what_is_not_ours(path, file):
    file.append(anchor(number) for number in range(1, 6))
    file.append([anchor(9, head="lost"), anchor(2, dataset="stays"), anchor(3, ledger="another")])
    AnchorFile(path, STRANGER).append([anchor(50)])
    with path.open("ab") as raw:
        raw.write(b"nonsense \xff\n")
    file.latest()
    file.shorten("one", lambda each: each.head != "lost")
    lines = path.read_bytes().splitlines()
    assert len(lines) == 6
    again = AnchorFile(path, SIGNER)
    assert [(each.dataset, each.sequence) for each in again.every()] == [
        ("visits", 9),
        ("visits", 3),
        ("visits", 5),
        ("stays", 2),
    ]
    assert again.largest_totals("one")["visits"] == Cost(9, 9, 0, 9)
    assert len(again.findings()) == len(file.findings()) == 2


def test_a_file_is_long_only_where_shortening_it_would_help(path, file, monkeypatch):
    monkeypatch.setattr(anchors, "MOST_LINES", 4)
    file.append(anchor(number) for number in range(1, 7))
    file.latest()
    assert file.is_long
    file.shorten("one", lambda _: False)
    file.latest()
    assert not file.is_long


def test_a_file_that_was_taken_by_a_process_that_was_killed_is_read_and_merged(path, file):
    file.append([anchor(7)])
    append_log.take(path)
    again = AnchorFile(path, SIGNER)
    assert again.latest()["visits"].sequence == 7
    again.append([anchor(8)])
    again.shorten("one", lambda _: True)
    assert append_log.taken_files(path) == []
    assert sorted(each.sequence for each in AnchorFile(path, SIGNER).every()) == [7, 8]


@pytest.mark.pitfall("D")
def test_processes_that_shorten_a_file_while_others_append_and_are_killed_lose_no_anchor(path, tmp_path):
    key = tmp_path / "key"
    Signer.at(key)
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", SHORTENER, key, path, f"p{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(5)
    ]
    for process in crowd:
        process.stdin.write("x")
        process.stdin.flush()
    told = [int(process.stdout.readline()) for process in crowd[:2]]
    for process in crowd[:2]:
        process.kill()
    told = [max([told[number] if number < 2 else 0, *map(int, each.communicate(timeout=60)[0].split())])
            for number, each in enumerate(crowd)]  # fmt: skip
    held = AnchorFile(path, Signer.at(key)).latest()
    assert all(held[f"p{number}"].sequence >= last for number, last in enumerate(told))
    assert told[2:] == [59] * 3
