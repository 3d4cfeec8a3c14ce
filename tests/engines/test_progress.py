"""The display of long runs, looked at on a real terminal: who sees what, when, and that it leaves nothing behind."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from discreet.engines.progress import Stage, shown_while

SHOW_CURSOR, HIDE_CURSOR, ERASE_LINE = "\x1b[?25h", "\x1b[?25l", "\x1b[2K"

OPENING = """
import os, signal, sys, threading, time
from discreet.engines.progress import Stage, shown_while

polled = []

def stages():
    polled.append(threading.current_thread().name)
    return Stage(42, 100, "percent")

def wait_until_drawn():
    while len(polled) < 2:
        time.sleep(0.01)

def press_ctrl_c():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
"""


def _child(body: str, **environment: str) -> tuple[list[str], dict[str, str]]:
    known = {name: value for name, value in os.environ.items() if name not in ("DISCREET_PROGRESS", "FORCE_COLOR")}
    settings = {"TERM": "xterm", "COLUMNS": "100", **environment}
    return [sys.executable, "-c", OPENING + textwrap.dedent(body)], known | settings


def _on_a_terminal(body: str, **environment: str) -> str:
    """Everything that a program writes on a terminal of its own."""
    command, settings = _child(body, **environment)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, env=settings, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    written = b""
    deadline = time.monotonic() + 30
    try:
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    written += os.read(ours, 65536)
                except OSError:  # the program has ended
                    break
            elif process.poll() is not None:
                break
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return written.decode()


def _left_on_screen(written: str) -> str:
    """What stands on the terminal at the end, for the few control codes that rich uses on one line."""
    lines, row = [""], 0
    for piece in re.findall(r"\x1b\[\?25[hl]|\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", written):
        if piece == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif re.fullmatch(r"\x1b\[\d*A", piece):
            row = max(0, row - int(piece[2:-1] or 1))
        elif piece == "\r" or piece.startswith("\x1b"):
            continue
        else:
            lines[row] += piece
    return "\n".join(lines).strip()


def _clocks(written: str) -> set[str]:
    return set(re.findall(r"\d+:\d\d:\d\d", written))


def test_an_owner_sees_how_far_the_engine_is_and_the_time():
    written = _on_a_terminal("""
        shown_while(lambda: time.sleep(2.3), stages=stages, may_show_stages=True)
        print("asked from", set(polled))
    """)
    assert "42%" in written
    assert "━" in written
    assert "0:00:02" in _clocks(written)
    assert "0:00:00" not in _clocks(written)
    assert _left_on_screen(written) == "asked from {'discreet-progress'}"


def test_an_analyst_sees_the_time_alone_and_the_engine_is_never_asked():
    written = _on_a_terminal("""
        shown_while(lambda: time.sleep(2.3), stages=stages, may_show_stages=False)
        print("asked from", polled)
    """)
    shown = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", written.replace("asked from []", ""))
    assert set(re.split(r"[\r\n]+", re.sub(r"\d+:\d\d:\d\d", "", shown).replace(" ", ""))) <= {"answering", ""}
    assert "0:00:02" in _clocks(written)
    assert "0:00:00" not in _clocks(written)
    assert _left_on_screen(written) == "asked from []"


def test_what_an_analyst_sees_does_not_depend_on_what_the_engine_says():
    written = {
        _on_a_terminal(f"""
            shown_while(lambda: time.sleep(0.5), stages=lambda: Stage({done}, {total}, "rows"), may_show_stages=False,
                        delay=0.1)
        """)
        for done, total in ((0, 10), (9, 10), (10**6, None))
    }
    frames = {tuple(sorted(set(re.sub(r"\d+:\d\d:\d\d", "", each).split("\r")))) for each in written}
    assert len(frames) == 1


def test_a_run_under_one_second_shows_nothing():
    written = _on_a_terminal("""
        shown_while(lambda: time.sleep(0.3), stages=stages, may_show_stages=True)
        print("rich" in sys.modules, polled, threading.active_count())
    """)
    assert written == "False [] 1\r\n"


def test_nothing_goes_into_a_pipe_even_where_colour_is_forced():
    command, settings = _child(
        """
        shown_while(lambda: time.sleep(0.5), stages=stages, may_show_stages=True, delay=0.1)
        print("rich" in sys.modules, polled, threading.active_count())
        """,
        FORCE_COLOR="1",
    )
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "False [] 1\n"
    assert done.stderr == ""


def test_a_variable_turns_it_off():
    written = _on_a_terminal(
        "shown_while(lambda: time.sleep(0.5), stages=stages, may_show_stages=True, delay=0.1)", DISCREET_PROGRESS="0"
    )
    assert written == ""


def test_a_run_that_fails_leaves_a_clean_terminal_and_its_own_error():
    written = _on_a_terminal("""
        def run():
            wait_until_drawn()
            raise ValueError("as it was")
        try:
            shown_while(run, stages=stages, may_show_stages=True, delay=0.1)
        except ValueError as error:
            print(error, threading.active_count())
    """)
    assert "42%" in written
    assert written.rindex(SHOW_CURSOR) > written.rindex(HIDE_CURSOR)
    assert written.rindex(ERASE_LINE) < written.index("as it was")
    assert _left_on_screen(written) == "as it was 1"


@pytest.mark.timing
def test_ctrl_c_reaches_the_run_and_leaves_a_clean_terminal():
    written = _on_a_terminal("""
        def press():
            wait_until_drawn()
            press_ctrl_c()
        presser = threading.Thread(target=press)
        presser.start()
        def run():
            assert threading.current_thread() is threading.main_thread()
            time.sleep(20)
        started = time.monotonic()
        try:
            shown_while(run, stages=stages, may_show_stages=True, delay=0.1)
        except KeyboardInterrupt:
            taken = time.monotonic() - started
            presser.join()  # on a busy machine it may still be there, and is no thread of the display
            print("interrupted", taken < 15, threading.active_count())
    """)
    assert "42%" in written
    assert written.rindex(SHOW_CURSOR) > written.rindex(HIDE_CURSOR)
    assert _left_on_screen(written) == "interrupted True 1"


def test_ctrl_c_again_while_the_display_ends_still_ends_it():
    written = _on_a_terminal("""
        asked = threading.Event()
        def slow_stages():
            asked.set()
            time.sleep(0.9)
            return Stage(1, 12, "stages")
        def press():
            asked.wait()
            press_ctrl_c()
            time.sleep(0.3)
            press_ctrl_c()
        threading.Thread(target=press).start()
        try:
            shown_while(lambda: time.sleep(20), stages=slow_stages, may_show_stages=True, delay=0.1)
        except KeyboardInterrupt as error:
            print("interrupted", type(error.__context__).__name__)
    """)
    assert HIDE_CURSOR in written
    assert written.rindex(SHOW_CURSOR) < written.index("interrupted")
    assert _left_on_screen(written) == "interrupted KeyboardInterrupt"


def test_an_engine_that_hangs_when_asked_holds_an_answer_for_two_seconds_at_most():
    written = _on_a_terminal("""
        def hang():
            polled.extend("ab")
            time.sleep(60)
        answer = shown_while(lambda: wait_until_drawn() or "answer", stages=hang, may_show_stages=True, delay=0.1)
        sys.stdout.write(answer)
        sys.stdout.flush()
        os._exit(0)
    """)
    assert written.endswith("answer")


def test_stages_that_raise_show_the_time_and_nothing_of_the_error():
    written = _on_a_terminal("""
        def stages():
            raise RuntimeError("private 17")
        print(shown_while(lambda: time.sleep(1) or "answer", stages=stages, may_show_stages=True, delay=0.1))
    """)
    assert _clocks(written)
    assert "private" not in written
    assert _left_on_screen(written) == "answer"


def test_two_runs_at_once_share_a_terminal_by_turns():
    written = _on_a_terminal("""
        def run(name):
            stages = lambda: Stage(name, None, "rows")
            shown_while(lambda: time.sleep(name / 100), stages=stages, may_show_stages=True, delay=0.1)
        both = [threading.Thread(target=run, args=(name,)) for name in (111, 222)]
        for thread in both:
            thread.start()
            time.sleep(0.3)
        for thread in both:
            thread.join()
        print("done")
    """)
    assert "111 rows" in written
    assert "222 rows" in written
    assert written.rindex("111 rows") < written.index("222 rows")
    assert _left_on_screen(written) == "done"


class _BrokenTerminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def write(self, _: str) -> int:
        raise OSError("the terminal is gone")


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_terminal_that_goes_away_does_not_touch_the_run():
    def run() -> str:
        time.sleep(0.4)
        return "answer"

    given = {"stages": None, "may_show_stages": True, "delay": 0.05}
    assert shown_while(run, stream=_BrokenTerminal(), **given) == "answer"
    closed = io.StringIO()
    closed.close()
    assert shown_while(run, stream=closed, **given) == "answer"


def test_no_error_stream_at_all_shows_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert shown_while(lambda: 7, stages=None, may_show_stages=True) == 7


def test_a_process_that_may_start_no_thread_still_gets_its_answer(monkeypatch):
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert shown_while(lambda: 7, stages=None, may_show_stages=True, stream=_BrokenTerminal()) == 7


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        (Stage(42, 100, "percent"), "42%"),
        (Stage(3, 12, "stages"), "3 of 12 stages"),
        (Stage(1_200_000, 2_000_000, "rows"), "1,200,000 of 2,000,000 rows"),
        (Stage(1_200_000, None, "rows"), "1,200,000 rows"),
    ],
)
def test_a_stage_reads_as_a_person_would_say_it(stage, said):
    assert str(stage) == said


LONG_RELEASE = """
import duckdb, discreet as dp
rows = duckdb.sql("SELECT mod(i, 300000) AS id, mod(hash(i), 1000)::DOUBLE AS x FROM range(4000000) r(i)")
rows.write_parquet("rows.parquet")
words = {"privacy_unit": "id", "max_rows": 3, "budget": dp.Budget(epsilon=1), "ledger": ":memory:", "threads": 1}
with dp.protect("rows.parquet", name="long", analyst=%r, **words) as session:
    session.release(dp.table("long").agg(s=dp.sum("x", bounds=(0, 1))), epsilon=0.5)
"""


@pytest.mark.parametrize("analyst", ["owner", "ann"])
def test_a_session_shows_an_analyst_the_time_alone(analyst, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = _on_a_terminal(LONG_RELEASE % analyst)
    assert "Traceback" not in written
    assert "%" not in written or analyst == "owner"
