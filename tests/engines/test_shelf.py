"""Tables stored once: one thread makes each, and one that could not be made is tried again."""

import threading
import time

import pytest

from discreet.engines.shelf import MOST_WANTED, Shelf


def test_of_those_who_want_a_table_at_once_one_makes_it():
    shelf, made, gate = Shelf(), [], threading.Barrier(8)

    def create() -> dict[object, str]:
        time.sleep(0.05)
        made.append(1)
        return {}

    def want() -> None:
        gate.wait()
        with shelf.table("t", create, made.append):
            pass

    threads = [threading.Thread(target=want) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert shelf.holds("t")


def test_a_table_is_wanted_again_by_the_second_query_or_the_second_run_of_the_first():
    shelf = Shelf()
    shelf.want("t")
    assert [shelf.is_wanted_again("t") for _ in range(2)] == [False, True]
    for _ in range(2):
        shelf.want("batch")
    assert shelf.is_wanted_again("batch")
    with shelf.table("made", dict, print):
        assert shelf.is_wanted_again("made")


def test_no_more_than_a_thousand_tables_are_remembered_and_the_oldest_are_forgotten():
    shelf = Shelf()
    for number in range(MOST_WANTED + 1):
        shelf.want(str(number))
    shelf.want("0")
    shelf.want("2")
    assert [shelf.is_wanted_again(name) for name in ("0", "2")] == [False, True]


def test_a_table_that_could_not_be_made_is_tried_again():
    shelf, tries = Shelf(), []

    def create() -> dict[object, str]:
        tries.append(1)
        if len(tries) == 1:
            raise OSError
        return {}

    with pytest.raises(OSError), shelf.table("t", create, tries.append):
        pass
    with shelf.table("t", create, tries.append):
        assert shelf.holds("t")
    assert tries == [1, 1]
