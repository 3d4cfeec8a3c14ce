"""The identity of a process."""

import os

import pytest

from discreet.mechanisms.process import this_process


def test_a_process_keeps_its_identity():
    assert this_process() == this_process()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_with_the_same_number_has_another_identity(monkeypatch):
    before = this_process()
    monkeypatch.setattr(os, "getpid", lambda: before[0])
    child = os.fork()
    if not child:
        os._exit(0 if this_process() != before and this_process()[0] == before[0] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert this_process() == before
