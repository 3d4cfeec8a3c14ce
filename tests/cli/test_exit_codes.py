"""Exit codes: the same in every command, with a meaning for each."""

from discreet.cli import exit_codes


def test_the_codes_are_0_to_3_and_each_has_a_meaning():
    assert sorted(exit_codes.MEANINGS) == [0, 1, 2, 3]


def test_a_command_has_0_1_and_2_and_those_with_no_answer_3():
    assert sorted(exit_codes.codes_of("plan")) == [0, 1, 2]
    assert sorted(exit_codes.codes_of("release verify")) == sorted(exit_codes.codes_of("audit")) == [0, 1, 2, 3]
    assert exit_codes.codes_of("plan")[0] == exit_codes.MEANINGS[0]
