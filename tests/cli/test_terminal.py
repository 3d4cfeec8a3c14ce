"""Long lines in a terminal, and whole ones in a pipe."""

import io

from discreet.cli.terminal import fit, print_fitting


def test_long_lines_go_on_under_their_text():
    assert fit("  because  one two three four", 24) == "  because  one two three\n           four"
    assert fit("declared size  one two three four", 32) == "declared size  one two three\n               four"
    assert fit(" " * 9 + "one two three four", 24) == " " * 9 + "one two three\n" + " " * 9 + "four"
    assert fit("short\n\nlines", 18) == "short\n\nlines"


def test_a_pipe_gets_lines_as_they_are():
    stream, line = io.StringIO(), "word " * 100
    print_fitting(line, stream)
    assert stream.getvalue() == f"{line}\n"
    print_fitting(line, stream, is_terminal=True)
    assert len(stream.getvalue().splitlines()) > 2
