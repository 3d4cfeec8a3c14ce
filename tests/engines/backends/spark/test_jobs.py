"""Signals and logs around what runs in Spark; that jobs end is seen in test_spark.py, with a real signal."""

import logging
import signal

import pytest

from discreet.engines.backends.spark import jobs


def pyspark_handler(*_: object) -> None:
    raise AssertionError


pyspark_handler.__module__ = "pyspark.core.context"


@pytest.fixture
def handler():
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_handler_of_pyspark_waits_and_comes_back(handler):
    signal.signal(signal.SIGINT, pyspark_handler)
    with pytest.raises(KeyboardInterrupt), jobs.interrupts_reach_us():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is pyspark_handler


def test_a_handler_of_the_owners_own_stays(handler):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with jobs.interrupts_reach_us():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.pitfall("A6")
def test_no_cell_is_logged_while_a_question_runs():
    logger = logging.getLogger("SQLQueryContextLogger")
    with jobs.without_cells_in_logs():
        assert logger.disabled
    assert not logger.disabled


@pytest.mark.pitfall("A6")
def test_no_cell_is_logged_while_any_question_runs():
    """The first of two that ends must not let the loggers speak, nor the last one silence them for good."""
    logger = logging.getLogger("SQLQueryContextLogger")
    first, second = jobs.without_cells_in_logs(), jobs.without_cells_in_logs()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert logger.disabled
    second.__exit__(None, None, None)
    assert not logger.disabled
