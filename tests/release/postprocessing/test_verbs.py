"""What is reckoned from a release keeps the raw one, names its steps, and holds for a whole table where it says so."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dp
from discreet.errors import ParameterError, Refusal, UnsupportedError
from discreet.release.release import Release
from released import NOISES, noisy, release

FALSE_ALARM = 1e-6
RELEASE = release([12, -3, 41, 20])


def _three(made: Release) -> Release:
    """Without the median, which has no margin in its own numbers."""
    return Release.from_json(made.to_json() | {"outputs": made.to_json()["outputs"][:3]})


def test_every_step_is_named_and_the_raw_release_is_kept():
    made = RELEASE.rounded(to=5).clamped(at_least=0)
    assert made["n"] == (10, 0, 40, 20)
    assert made.post_processing[-2:] == ("n: rounded to multiples of 5", "n: clamped to at least 0")
    assert made.raw == RELEASE
    assert RELEASE.raw is RELEASE
    assert "changed  n: clamped to at least 0; release.raw has what was released" in str(made)


def test_the_raw_answers_survive_being_saved(tmp_path):
    made = RELEASE.rounded(to=5)
    made.save(tmp_path / "n.json")
    loaded = Release.load(tmp_path / "n.json")
    assert loaded == made
    assert loaded.raw == RELEASE
    dp_schema = json.loads(json.dumps(made.to_json()))
    assert dp_schema["raw"]["outputs"][0]["values"] == [12, -3, 41, 20]


def test_one_output_can_be_changed_alone():
    both = release([12, 3, 41, 20], [100, 200, 300, 401])
    assert both.rounded(to=10, output="total")["n"] == (12, 3, 41, 20)
    assert both.rounded(to=10, output="total")["total"] == (100, 200, 300, 400)


def test_derived_values_come_from_the_raw_integers_whatever_was_changed():
    assert RELEASE.rounded(to=50).clamped().total("n").value == RELEASE.total("n").value == 70


@pytest.mark.parametrize("words", [{"at_least": None}, {"at_least": 5, "at_most": 1}])
def test_clamping_to_nothing_is_refused(words):
    with pytest.raises(ParameterError, match="clamped"):
        RELEASE.clamped(**words)


def test_rounding_needs_a_step_above_zero():
    with pytest.raises(ParameterError, match="to=0"):
        RELEASE.rounded(to=0)


@pytest.mark.guarantee("release.postprocessing.quantities")
@pytest.mark.statistical(false_alarm=2e-6)
@pytest.mark.parametrize("mechanism", NOISES)
def test_simultaneous_margins_hold_for_all_cells_at_once(mechanism, samples):
    """2,000 tables of 20 counts. False alarms: 1e-6 on each side; the upper one sees margins that are too wide."""
    truth, rows, many = [50] * 20, tuple((str(i),) for i in range(20)), samples(2_000)
    made = release(truth, rows=rows, names=("k",), mechanism=mechanism).simultaneous()
    draws = np.array(noisy(truth * many, mechanism)).reshape(many, 20) - 50
    inside = int((np.abs(draws).max(axis=1) <= made.margin("n")[0]).sum())
    assert binom.ppf(FALSE_ALARM, many, 0.95) <= inside <= binom.isf(FALSE_ALARM, many, 0.957)
    assert made.margin("n")[0] == NOISES[mechanism].simultaneous_margin(20, Fraction(19, 20))


def test_simultaneous_margins_of_outputs_that_share_noise_are_widened_by_a_union():
    plain = _three(release([900, 800, 700, 600], [50_000, 40_000, 30_000, 20_000]))
    wide = plain.simultaneous()
    assert all(
        a > b
        for name in ("n", "total", "mean")
        for a, b in zip(wide.margin(name), plain.margin(name), strict=True)
        if name != "mean"
    )
    assert wide.post_processing[-1].endswith("margins widened so that all 12 hold at once")
    assert wide.raw == plain


def test_simultaneous_comes_first_and_needs_outputs_whose_noise_is_known():
    with pytest.raises(ParameterError, match=r"raw\.simultaneous"):
        RELEASE.rounded(to=5).simultaneous()
    with pytest.raises(UnsupportedError, match="median"):
        release([1, 2, 3, 4], [1, 2, 3, 4]).simultaneous()


def test_a_real_session_traces_its_outputs_to_what_was_measured():
    """Every output of a testing session is the very combination that its parts say."""
    rows = dp.datasets.visits(500)
    words = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2, delta=1e-9)}
    query = (
        dp.table("visits")
        .group_by("ward", keys={"ward": ["cardiology", "surgery"]})
        .agg(
            n=dp.count(),
            people=dp.count_units(),
            cost=dp.sum("cost", bounds=(0, 5000)),
            mean=dp.mean("cost", bounds=(0, 5000)),
        )
    )
    with dp.testing.protect(rows, **words) as session:
        made = session.release(query, epsilon=1)
    for name in ("n", "people", "cost"):
        assert made.total(name, by="ward").values == pytest.approx(made[name])
        assert made.total(name, by="ward").margins == pytest.approx(made.margin(name), rel=0.02, abs=1)
    assert made.mean("mean", by="ward").values == pytest.approx(made["mean"])
    assert min(made["mean"]) < made.mean("mean").value < max(made["mean"])
    assert made.difference("mean", {"ward": "surgery"}, {"ward": "cardiology"}).value == pytest.approx(
        made["mean"][1] - made["mean"][0]
    )
    assert "counts in both" in str(made.total("people"))


def test_releases_of_a_batch_do_not_share_noise():
    words = {"name": "visits", "privacy_unit": "patient_id", "max_rows": 10, "budget": dp.Budget(epsilon=2)}
    visits = dp.table("visits")
    with dp.testing.protect(dp.datasets.visits(100), **words) as session:
        first, second = session.release([visits.agg(n=dp.count())] * 2, epsilon=1)
    assert first["n"] == second["n"]
    assert (first.total("n") - second.total("n")).margin > first.total("n").margin


def test_margins_of_some_outputs_hold_together_beside_those_that_cannot():
    made = release([900, 800, 700, 600], [50_000, 40_000, 30_000, 20_000])
    with pytest.raises(UnsupportedError, match=r"of median 'median'[^\x00]*outputs=\['n', 'total', 'mean'\]"):
        made.simultaneous()
    wide = made.simultaneous(outputs=["n", "n"])
    assert wide.margin("n") == release([900, 800, 700, 600]).simultaneous().margin("n")
    assert [wide.margin(name) for name in ("total", "median")] == [made.margin(name) for name in ("total", "median")]
    assert wide.post_processing[-1] == "n: margins widened so that all 4 hold at once"
    with pytest.raises(UnsupportedError, match="nothing is asked for"):
        made.simultaneous(outputs=[])


def test_ranges_and_hierarchies_are_not_said_to_be_no_counts():
    counts = release([900, 800, 700, 600])
    ranges = replace(counts, outputs=(replace(counts.outputs[0], parts=()),))
    for ask in (ranges.simultaneous, lambda: ranges.total("n"), lambda: ranges.simulate(len)):
        with pytest.raises(UnsupportedError) as refused:
            ask()
        assert "add up" not in str(refused.value)


@pytest.mark.parametrize(
    "ask",
    [
        lambda r: r.simulate(len),
        lambda r: r.plot(),
        lambda r: r.mean("mean"),
        lambda r: r.pivot("ward", "ward"),
        lambda r: r.consistent(total=5),
        lambda r: r.clipping(bounds=(0, 1)),
        lambda r: r.value(),
        lambda r: r.total("n", where={"ward": "A"}),
        lambda r: r.total("n", by="ward").plot(),
    ],
)
def test_a_release_that_kept_no_key_refuses_what_needs_one(ask):
    with pytest.raises(Refusal, match=r"no key was kept|nothing to draw"):
        ask(release([], [], rows=(), names=("ward",)))


def test_a_release_that_kept_no_key_answers_what_it_can_and_says_so():
    empty = release([], [], rows=(), names=("ward",))
    assert empty.simultaneous() is empty
    assert (
        len(empty.total("n", by="ward").simultaneous())
        == len(empty.share("n"))
        == len(empty.rounded(to=5, output="n"))
        == 0
    )
    assert "no key was kept" in str(empty)
    assert "no key was kept" in empty._repr_html_()
    kinds = {
        name: str(empty.to_arrow().schema.field(name).type)
        for name in ("n", "n_margin", "total", "mean", "mean_margin")
    }
    assert kinds == {"n": "int64", "n_margin": "int64", "total": "int64", "mean": "double", "mean_margin": "double"}


def test_medians_are_drawn_without_whiskers_and_say_where_their_margins_are():
    made = release([900, 800, 700, 600], [50_000, 40_000, 30_000, 20_000])
    picture = made.plot("median")
    assert not picture.axes[0].containers
    assert "margins are in ranks: see the table" in picture.axes[0].get_xlabel()
    assert "no margin" not in picture.get_label() + picture.axes[0].get_xlabel()
    both = made.plot()
    assert [len(axes.containers) for axes in both.axes] == [1, 1, 1, 0]
    assert "hollow dots: margins are in ranks: see the table" in both.axes[-1].get_xlabel()
    assert "margins are in ranks" in replace(made, private=False).plot("median").axes[0].get_xlabel()


def test_medians_are_neither_rounded_nor_clamped():
    made = release([900, 800, 700, 600], [50_000, 40_000, 30_000, 20_000])
    for ask in (lambda: made.rounded(to=5), lambda: made.clamped(output="median")):
        with pytest.raises(UnsupportedError, match="margin is in ranks"):
            ask()
    assert made.rounded(to=500, output="n")["n"] == (1000, 1000, 500, 500)
