"""A grid of points is one test, which goes through all of them and names the one that fails."""

import pytest

from grids import over


@pytest.fixture
def seen():
    return []


@over("one", "ab")
@over(("two", "three"), [(1, 2), (3, 4)])
def test_every_point_is_gone_through(seen, one, two, three):
    seen.append((one, two, three))
    assert [("a", 1, 2), ("a", 3, 4), ("b", 1, 2), ("b", 3, 4)][: len(seen)] == seen


def test_what_fails_says_at_which_point():
    @over("one", [1, 2])
    @over(("two", "three"), [(0, 0), ("x", 2)])
    def fails(one, two, three):
        assert one != three, two

    with pytest.raises(AssertionError) as failure:
        fails()
    assert failure.value.__notes__ == ["at two='x', three=2", "at one=2"]


@pytest.mark.pitfall("D")
@over("one", [1])
@pytest.mark.parametrize("other", [2])
def test_marks_and_fixtures_stay(request, other, one):
    assert (one, other) == (1, 2)
    assert request.node.get_closest_marker("pitfall").args == ("D",)
