"""Random bytes come from the operating system, or nothing is drawn."""

import pytest

from discreet.samplers.entropy import random_bytes
from entropy_taken_away import refused


def test_bytes_are_as_many_as_asked_for_and_do_not_repeat():
    assert [len(random_bytes(size)) for size in (0, 1, 64)] == [0, 1, 64]
    assert len({random_bytes(16) for _ in range(100)}) == 100


@pytest.mark.pitfall("D")
def test_a_machine_without_entropy_gives_none():
    assert refused("from discreet.samplers.entropy import random_bytes\ndraws = [lambda: random_bytes(8)]\n") == 1
