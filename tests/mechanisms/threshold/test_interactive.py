"""An open watch is one randomised response, drawn when it opens: docs/proofs/accounting/interactive.md, in rationals.

A question is the pair of its exact answers on two neighbours. Decays are rational, so e^epsilon is, and with it every
probability below: nothing is rounded.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from transcripts import Gap, probability

HALF, QUARTER, THIRD = Fraction(1, 2), Fraction(1, 4), Fraction(1, 3)
QUESTIONS = [(0, 0), (0, 1), (1, 0), (-1, -2)]
CLOSED = None


class Watch:
    """A small watch on both neighbours: its causal probabilities, and the two machines that it is a mixture of."""

    def __init__(self, threshold, comparison, *, answers=1, above=(True,)):
        self.decays = threshold, comparison
        self.answers = answers
        self.above = above
        self.bound = threshold**-1 * comparison ** (-2 * answers)  # e^epsilon

    def may_follow(self, told):
        """What may be told next, but for gaps beyond the last one that is looked at."""
        return (CLOSED,) if self.is_closed(told) else (False, *self.above)

    def is_closed(self, told):
        return sum(what not in (False, CLOSED) for what in told) == self.answers

    def told_on(self, side, told, questions):
        """The probability of the answers, given the questions, on one of the two neighbours."""
        answered = [(q[side], what) for q, what in zip(questions, told, strict=True) if what is not CLOSED]
        return _probability(self.decays, tuple(q for q, _ in answered), tuple(what for _, what in answered))

    def machine(self, response, told, questions):
        """The machine that answers after a response: R_0 or R_1 of the proof."""
        mine, other = (self.told_on(side, told, questions) for side in (response, 1 - response))
        return (self.bound * mine - other) / (self.bound - 1)

    def response(self, side, response):
        """The randomised response: the truth, with odds of e^epsilon."""
        return (self.bound if side == response else 1) / (1 + self.bound)


@cache
def _probability(decays, questions, told):
    return probability(*decays, questions, told)


WATCHES = {
    "one above": Watch(HALF, QUARTER),
    "two above": Watch(THIRD, Fraction(2, 3), answers=2),
    "gap": Watch(HALF, HALF, above=tuple(Gap(g) for g in range(4))),
}


def histories(watch, length):
    """All that may be told of so many questions."""
    if not length:
        return [()]
    return [(*told, what) for told in histories(watch, length - 1) for what in watch.may_follow(told)]


@pytest.mark.guarantee("accounting.interactive")
@pytest.mark.parametrize("name", WATCHES)
def test_both_machines_have_probabilities_that_are_not_negative_and_mix_to_the_watch(name):
    watch = WATCHES[name]
    for questions in product(QUESTIONS, repeat=3):
        for told in histories(watch, 3):
            machines = [watch.machine(response, told, questions) for response in (0, 1)]
            assert min(machines) >= 0
            for side in (0, 1):
                mixed = sum(watch.response(side, response) * machines[response] for response in (0, 1))
                assert mixed == watch.told_on(side, told, questions)


@pytest.mark.guarantee("accounting.interactive")
@pytest.mark.parametrize("name", ["one above", "two above"])
def test_what_a_machine_told_does_not_depend_on_questions_asked_later(name):
    watch = WATCHES[name]
    for response, length in product((0, 1), range(3)):
        for questions, told in product(product(QUESTIONS, repeat=length), histories(watch, length)):
            so_far = watch.machine(response, told, questions)
            for next_question in QUESTIONS:
                asked = (*questions, next_question)
                assert so_far == sum(watch.machine(response, (*told, w), asked) for w in watch.may_follow(told))
    assert watch.machine(0, (), ()) == watch.machine(1, (), ()) == 1


def test_a_gap_keeps_causality_too_but_for_gaps_that_are_not_looked_at():
    watch = Watch(HALF, HALF, above=tuple(Gap(g) for g in range(60)))
    for response, question in product((0, 1), QUESTIONS):
        looked_at = sum(watch.machine(response, (what,), (question,)) for what in watch.may_follow(()))
        assert 1 - Fraction(1, 2**55) < looked_at < 1


def test_with_a_smaller_epsilon_than_the_exact_one_a_machine_would_have_negative_probabilities():
    """A positive control: the decomposition is as sharp as the guarantee."""
    watch = Watch(HALF, Fraction(1, 8))
    told, questions = (False,) * 8 + (True,), ((0, 1),) * 8 + ((1, 0),)
    assert watch.machine(0, told, questions) >= 0
    watch.bound *= Fraction(999, 1000)
    assert min(watch.machine(response, told, questions) for response in (0, 1)) < 0


# Two watches and a one-shot release with a delta, asked in turns by an analyst who looks at everything before.
DELTA, ODDS = Fraction(1, 50), Fraction(3)
FIRST, SECOND = WATCHES["one above"], Watch(Fraction(2, 3), HALF)
WATCHING = {"first": FIRST, "second": SECOND}
LEAK = {0: "it is 0", 1: "it is 1"}


def one_shot(side, said):
    """A response with odds of 3 that gives the side away with probability delta: (ln 3, delta)-DP."""
    if said in LEAK.values():
        return DELTA * (said == LEAK[side])
    return (1 - DELTA) * (ODDS if said == side else 1) / (1 + ODDS)


def next_act(history):
    """The analyst: who is asked what, after seeing all that was told."""
    told = [what for _, _, what in history]
    turn = len(history)
    if turn == 2:
        return "release", None
    if turn in (0, 4):
        return "first", QUESTIONS[(1 + sum(what is True for what in told) + (told[-1:] == [True])) % 4]
    leaked = turn > 2 and told[2] in (1, LEAK[1])
    return "second", QUESTIONS[1 + leaked] if told[-1] is True else QUESTIONS[(2 + turn + leaked) % 4]


def played(turns):
    """All histories of the analyst's play."""
    grown = [()]
    for _ in range(turns):
        grown = [(*history, (*next_act(history), what)) for history in grown for what in _replies(history)]
    return grown


def _replies(history):
    who, _ = next_act(history)
    return (0, 1, *LEAK.values()) if who == "release" else WATCHING[who].may_follow(_part(history, who)[0])


def _part(history, who):
    """What one watch told, and of which questions."""
    mine = [(what, question) for asked, question, what in history if asked == who]
    return tuple(what for what, _ in mine), tuple(question for _, question in mine)


def released(history, side):
    return math.prod(one_shot(side, what) for who, _, what in history if who == "release")


def real(history, side):
    """The law of a history where the watches look at the data."""
    return released(history, side) * math.prod(
        watch.told_on(side, *_part(history, name)) for name, watch in WATCHING.items()
    )


def simulated(history, side):
    """The law of a history where the data is looked at when a watch opens, and never again."""
    return sum(
        released(history, side)
        * math.prod(
            watch.response(side, response) * watch.machine(response, *_part(history, name))
            for response, (name, watch) in zip(responses, WATCHING.items(), strict=True)
        )
        for responses in product((0, 1), repeat=len(WATCHING))
    )


def beyond(bound, side):
    """The most that any event of the whole play has above e^epsilon times its probability on the other side."""
    return sum(max(Fraction(0), real(h, side) - bound * real(h, 1 - side)) for h in played(6))


@pytest.mark.guarantee("accounting.interactive")
def test_turns_with_two_watches_and_a_release_with_a_delta_are_responses_drawn_when_they_opened():
    plays = played(6)
    assert sum(real(history, 0) for history in plays) == sum(real(history, 1) for history in plays) == 1
    assert all(real(history, side) == simulated(history, side) for history in plays for side in (0, 1))


@pytest.mark.guarantee("accounting.interactive")
@pytest.mark.parametrize("side", [0, 1])
def test_whatever_the_turns_the_epsilons_of_the_openings_and_the_one_delta_hold_together(side):
    assert 0 < beyond(FIRST.bound * SECOND.bound * ODDS, side) <= DELTA
    assert beyond(ODDS, side) > DELTA


# A watch in two stages, which shows a number for each answer above, and a release between: one charge for all of it.
STAGE, NUMBER_ODDS = WATCHES["one above"], Fraction(2)


def number(side, question, said):
    """A number that is shown for an answer above: a response with odds of 2, if the neighbours differ in it."""
    return HALF if question[0] == question[1] else (NUMBER_ODDS if said == side else 1) / (1 + NUMBER_ODDS)


def next_act_in_stages(history):
    """The analyst asks the stage that is open, by all that was told; a number follows each answer above."""
    above = sum(who == "stage" and what is True for who, _, what in history)
    if history and history[-1][0] == "stage" and history[-1][2] is True:
        return "number", history[-1][1]
    if len(history) == 2:
        return "release", None
    if above == 2:
        return None
    heard = sum(what in (1, True) for _, _, what in history)
    return "stage", QUESTIONS[(1 + heard + above) % 4]


def played_in_stages(turns):
    grown = [()]
    for _ in range(turns):
        grown = [longer for history in grown for longer in _longer(history)]
    return grown


def _longer(history):
    act = next_act_in_stages(history)
    if act is None:
        return [history]
    return [(*history, (*act, what)) for what in ((False, True) if act[0] == "stage" else (0, 1))]


def stages_of(history):
    """What each stage told that was begun, and of which questions."""
    parts = [[]]
    for who, question, what in history:
        if who == "stage":
            parts[-1].append((what, question))
            parts += [[]] if what is True else []
    return [tuple(zip(*part, strict=True)) for part in parts if part]


def drawn_once(history, side):
    """The chance of the release and of the numbers that were shown."""
    return math.prod(
        (ODDS if what == side else 1) / (1 + ODDS) if who == "release" else number(side, question, what)
        for who, question, what in history
        if who != "stage"
    )


def real_in_stages(history, side):
    return drawn_once(history, side) * math.prod(STAGE.told_on(side, *part) for part in stages_of(history))


def simulated_in_stages(history, side):
    """Where the data is looked at when a stage begins, and when a number is shown."""
    return drawn_once(history, side) * math.prod(
        sum(STAGE.response(side, bit) * STAGE.machine(bit, *part) for bit in (0, 1)) for part in stages_of(history)
    )


def coin_moment(odds, order):
    """e^((order - 1) divergence) of a response with these odds."""
    return (odds**order + odds ** (1 - order)) / (1 + odds)


@pytest.mark.guarantee("accounting.interactive")
@pytest.mark.parametrize("order", [2, 7])
def test_stages_and_numbers_between_them_are_draws_that_were_charged_when_it_opened(order):
    """Histories have the law of bits drawn as stages begin; by the costs of what was drawn, E[M] is at most 1."""
    costs = {"release": coin_moment(ODDS, order), "number": coin_moment(NUMBER_ODDS, order)}
    mean, most = Fraction(0), Fraction(0)
    for history in played_in_stages(8):
        here, there = (real_in_stages(history, side) for side in (0, 1))
        assert [simulated_in_stages(history, side) for side in (0, 1)] == [here, there]
        drawn = coin_moment(STAGE.bound, order) ** len(stages_of(history))
        drawn *= math.prod(costs[who] for who, _, _ in history if who != "stage")
        most = max(most, drawn)
        mean += here**order * there ** (1 - order) / drawn
    assert mean <= 1
    assert most == coin_moment(STAGE.bound, order) ** 2 * costs["release"] * costs["number"] ** 2
    assert sum(real_in_stages(history, 0) for history in played_in_stages(8)) == 1
