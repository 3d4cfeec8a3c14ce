"""An application is said without data: rows, a function, its blocks, and how their answers become one number."""

import discreet as dp
from discreet.query.applications import Blocks
from discreet.query.frame import relation_of
from discreet.sandbox import Limits

T = dp.table("t")
TEXT = "def answer(table): return table.num_rows"
WORDS = {"columns": ["age"], "blocks": 50, "bounds": (0, 1_000)}


def test_an_application_is_of_the_rows_of_its_frame_and_keeps_the_function_as_it_was_given():
    rows = T.where(T.age > 30)
    question = rows.apply(TEXT, **WORDS)
    assert question.source == relation_of(rows)
    assert question.function is TEXT


def test_without_options_the_mean_of_blocks_is_taken_and_the_rest_is_left_to_the_planner():
    assert T.apply(TEXT, **WORDS).options == Blocks(["age"], 50, (0, 1_000), "mean", None, None)
    options = T.apply(TEXT, **WORDS, aggregate="median", default=3, grid=1).options
    assert (options.aggregate, options.default, options.grid) == ("median", 3, 1)


def test_applications_are_alike_where_all_but_their_limits_are():
    one = T.apply(TEXT, **WORDS)
    assert one == T.apply(TEXT, **WORDS, limits=Limits(seconds=2))
    assert one != T.apply(TEXT, **(WORDS | {"blocks": 51}))
    assert one != T.where(T.age > 30).apply(TEXT, **WORDS)
