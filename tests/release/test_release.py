"""A release keeps its answers through every form it takes: text, HTML, JSON, Arrow, pandas, Polars, a plot."""

# ruff: noqa: PD011 - the values of a release are tuples

import copy
import dataclasses
import datetime as dt
import json
import sys
from fractions import Fraction
from html.parser import HTMLParser

import jsonschema
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.catalog.catalog import ColumnType
from discreet.errors import ParameterError, UnsupportedError
from discreet.release.release import Key, MeasuredColumn, OutputColumn, Release, schema
from grids import over
from loops import A_SECOND, loops

HOSTILE = "<script>alert('x')</script>&amp;\"\n\x1b[31m\u202e"
NOON = dt.datetime(2026, 1, 31, 12)  # noqa: DTZ001 - naive


def _release(keys=(("ward", "text", ("A", "B")),), outputs=None, **changes) -> Release:
    rows = len(keys[0][2]) if keys else 1
    given = outputs or {"n": (tuple(range(10, 10 + rows)), (3,) * rows)}
    facts = {
        "dataset": "visits",
        "version": 1,
        "keys": tuple(Key(name, ColumnType(kind), values) for name, kind, values in keys),
        "outputs": tuple(OutputColumn(name, "count", values, margins) for name, (values, margins) in given.items()),
        "measured": (MeasuredColumn("{}", "discrete Laplace", 20.0, 10, 100, Fraction(1, 100), tuple(range(rows))),),
        "confidence": Fraction(19, 20),
        "guarantee": "epsilon 0.5, for one patient_id, added or removed, over this release",
        "unit": "one patient_id, added or removed",
        "columns_read": ("patient_id", "ward"),
        "post_processing": ("m: clamped to its bounds",),
        "receipt": RECEIPT,
        "library": "0.1.0",
    }
    return Release(**facts | changes)


RECEIPT = {
    "format": "discreet.receipt/1",
    "dataset": "visits",
    "version": 1,
    "sequence": 2,
    "time": "2026-01-31T12:00:00+00:00",
    "event": "{}",
    "cost": {"epsilon": "500000000000", "rho": "125000000000000", "delta": "0"},
    "question": "0" * 64,
    "previous": "1" * 64,
    "hash": "abc" + "2" * 61,
}


WHOLES = st.integers(-(2**70), 2**70)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
KEY_VALUES = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "text": st.text(st.characters(codec="utf-8"), max_size=5),
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": st.datetimes(),
}


@pytest.fixture(scope="module")
def real() -> Release:
    """A release of a real session, with every kind of output and a date, a boolean and a missing key."""
    table = pa.table(
        {
            "id": ["a", "b", "c", "c"],
            "day": pa.array([dt.date(2026, 1, 31)] * 4),
            "urgent": [True, False, None, True],
            "cost": [1.5, 2.5, 1000.0, None],
        }
    )
    session = dp.testing.protect(
        table,
        name="visits",
        privacy_unit="id",
        max_rows=2,
        budget=dp.Budget(epsilon=2, delta=1e-9),
        fixed_schema=True,
    )
    visits = dp.table("visits")
    keys = {"day": ["2026-01-31", None], "urgent": [True, None]}
    aggregates = {"n": dp.count(), "cost": dp.sum("cost", bounds=(0, 100)), "mean": dp.mean("cost", bounds=(0, 100))}
    with session:
        return session.release(visits.group_by("day", "urgent", keys=keys).agg(**aggregates), epsilon=1)


class TestValues:
    def test_values_and_margins_are_reached_by_name(self):
        release = _release(outputs={"n": ((1, 2), (3, 3)), "m": ((0.5, 1.5), (0.1, 0.2))})
        assert (release["n"], release.margin("n")) == ((1, 2), (3, 3))
        assert (release["m"], release.margin("m")) == ((0.5, 1.5), (0.1, 0.2))
        assert len(release) == 2

    def test_a_release_without_groups_has_one_value(self):
        release = _release(keys=(), outputs={"n": ((7,), (3,)), "m": ((0.5,), (0.1,))})
        assert (release.value(), release.value("m")) == (7, 0.5)

    def test_a_release_with_groups_has_no_one_value(self):
        with pytest.raises(ParameterError) as caught:
            _release().value()
        assert caught.value.instead == "release['n']"

    @pytest.mark.parametrize("name", ["m", "", None, 0])
    def test_an_output_that_is_not_there_is_refused_with_those_that_are(self, name):
        for ask in (lambda r: r[name], lambda r: r.margin(name)):
            with pytest.raises(ParameterError, match="one of 'n'"):
                ask(_release())


class TestTables:
    def test_whole_answers_are_whole_and_others_are_doubles(self):
        release = _release(outputs={"n": ((1, 2), (3, 3)), "m": ((0.5, 2.0), (0.1, 0.2))})
        table = release.to_arrow()
        assert table.column_names == ["ward", "n", "n_margin", "m", "m_margin"]
        assert [str(t) for t in table.schema.types] == ["string", "int64", "int64", "double", "double"]
        assert table["m"].to_pylist() == [0.5, 2.0]

    @pytest.mark.pitfall("A19")
    def test_whole_answers_beyond_doubles_stay_exact_and_beyond_64_bits_become_doubles(self):
        exact = _release(outputs={"n": ((2**53 + 1, -(2**63) + 1), (1, 1))})
        assert exact.to_arrow()["n"].to_pylist() == [2**53 + 1, -(2**63) + 1]
        assert exact.to_pandas()["n"].tolist() == [2**53 + 1, -(2**63) + 1]
        assert exact.to_polars()["n"].to_list() == [2**53 + 1, -(2**63) + 1]
        beyond = _release(outputs={"n": ((2**63, 1), (1, 1))}).to_arrow()
        assert beyond["n"].type == pa.float64()
        assert beyond["n_margin"].type == pa.int64()

    def test_keys_keep_their_types_in_every_frame(self):
        keys = (
            ("i", "integer", (2**53 + 1, None)),
            ("s", "text", ("A", None)),
            ("b", "boolean", (True, None)),
            ("d", "date", (dt.date(2026, 1, 31), None)),
            ("z", "timestamp", (NOON, None)),
        )
        release = _release(keys=keys)
        arrow = release.to_arrow().select(list("isbdz"))
        assert [str(t) for t in arrow.schema.types] == ["int64", "string", "bool", "date32[day]", "timestamp[us]"]
        expected = [dict(zip("isbdz", row, strict=True)) for row in zip(*(k[2] for k in keys), strict=True)]
        assert arrow.to_pylist() == expected
        assert release.to_polars().select(list("isbdz")).rows(named=True) == expected
        frame = release.to_pandas()
        assert frame["i"].dtype == pd.Int64Dtype()
        assert frame["i"][0] == 2**53 + 1
        assert frame[list("isbdz")].isna().to_numpy()[1].all()
        assert frame["d"][0] == dt.date(2026, 1, 31)
        assert frame["z"][0] == pd.Timestamp(NOON)

    def test_a_frame_without_missing_keys_has_plain_types(self):
        frame = _release(keys=(("i", "integer", (1, 2)),)).to_pandas()
        assert frame.dtypes.astype(str).to_dict() == {"i": "int64", "n": "int64", "n_margin": "int64"}

    def test_frames_of_other_libraries_hold_the_same_numbers(self, real):
        arrow = real.to_arrow()
        assert isinstance(real.to_polars(), pl.DataFrame)
        for name in ("n", "cost", "mean", "cost_margin"):
            assert real.to_polars()[name].to_list() == arrow[name].to_pylist()
            assert np.array_equal(real.to_pandas()[name], arrow[name].to_numpy())

    @pytest.mark.parametrize("name", ["pandas", "polars"])
    def test_a_library_that_is_not_installed_is_named_with_the_way_to_install_it(self, name, monkeypatch):
        monkeypatch.setitem(sys.modules, name, None)
        release = _release()
        if name == "pandas":
            monkeypatch.setattr(Release, "to_arrow", lambda _: _WithoutPandas())
        with pytest.raises(UnsupportedError, match=rf'pip install "discreet\[{name}\]"'):
            getattr(release, f"to_{name}")()


class _WithoutPandas:
    def to_pandas(self, **_: object) -> None:
        raise ModuleNotFoundError("No module named 'pandas'")


class TestJson:
    def test_a_real_release_survives_json_and_files(self, real, tmp_path):
        data = real.to_json()
        again = Release.from_json(json.loads(json.dumps(data)))
        assert again.to_json() == data
        assert again == real
        real.save(tmp_path / "release.json")
        assert Release.load(tmp_path / "release.json") == real
        assert str(Release.load(tmp_path / "release.json")) == str(real)

    def test_a_saved_release_is_the_same_file_every_time(self, tmp_path):
        for name in ("one.json", "two.json"):
            _release(keys=(("ward", "text", ("Größe", HOSTILE)),)).save(tmp_path / name)
        assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
        assert Release.load(tmp_path / "one.json").keys[0].values == ("Größe", HOSTILE)

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data())
    def test_any_release_survives_json_to_the_last_bit(self, data):
        rows = data.draw(st.integers(1, 4))

        def column(values):
            return tuple(data.draw(st.lists(values, min_size=rows, max_size=rows)))

        kinds = data.draw(st.lists(st.sampled_from(sorted(KEY_VALUES)), max_size=3, unique=True))
        keys = tuple((kind, kind, column(st.none() | KEY_VALUES[kind])) for kind in kinds)
        number = data.draw(st.sampled_from([WHOLES, DOUBLES]))
        outputs = {"x": (column(number), column(number.map(abs)))}
        steps = MeasuredColumn("{}", "discrete Gaussian", 0.1, 1, 2, Fraction(1, 3), column(WHOLES))
        release = _release(keys=keys, outputs=outputs, measured=(steps,), private=data.draw(st.booleans()))
        text = json.dumps(release.to_json(), ensure_ascii=data.draw(st.booleans()))
        assert Release.from_json(json.loads(text)) == release
        assert json.dumps(Release.from_json(json.loads(text)).to_json()) == json.dumps(release.to_json())
        _validate(json.loads(text))

    @pytest.mark.parametrize("data", [{}, {"schema": "discreet.release/3"}, {"schema": None}, [], None, 5, "text"])
    def test_another_schema_is_refused(self, data):
        with pytest.raises(ParameterError, match="schema"):
            Release.from_json(data)

    def test_a_file_that_is_no_release_is_refused(self, tmp_path):
        (tmp_path / "no.json").write_text("{")
        (tmp_path / "latin.json").write_bytes(b"\xff")
        (tmp_path / "deep.json").write_text("[" * 100_000)
        for path in ("none.json", "no.json", "latin.json", "deep.json", "."):
            with pytest.raises(ParameterError):
                Release.load(tmp_path / path)


VALIDATOR = jsonschema.Draft202012Validator(schema())


def _validate(data: object) -> None:
    VALIDATOR.validate(data)


def _damages() -> dict[str, tuple[str | int, ...]]:
    """Places of a release, each to be dropped, retyped and replaced by nothing."""
    plain = ["schema", "library", "private", "dataset", "guarantee", "unit", "confidence", "keys", "outputs"]
    plain += ["measured", "columns_read", "post_processing", "receipt"]
    places: list[tuple[str | int, ...]] = [(name,) for name in plain]
    places += [("dataset", "name"), ("dataset", "version")]
    places += [("keys", 0, part) for part in ("name", "type", "values")]
    places += [("outputs", 0, part) for part in ("name", "kind", "values", "margins")]
    parts = ("measure", "mechanism", "scale", "l1", "l2_squared", "grid", "steps")
    places += [("measured", 0, part) for part in parts]
    places += [("receipt", part) for part in ("format", "hash", "cost", "sequence")]
    return {".".join(map(str, place)): place for place in places}


class TestSchema:
    def test_the_schema_is_a_schema_that_describes_itself(self):
        jsonschema.Draft202012Validator.check_schema(schema())
        assert schema()["title"] == "discreet.release/2"
        for name, part in (schema()["properties"] | schema()["$defs"]).items():
            assert "description" in part or "$ref" in part, name

    def test_releases_fit_the_schema(self, real):
        _validate(json.loads(json.dumps(real.to_json())))
        _validate(_release().to_json())
        _validate(_release(keys=()).to_json())

    def test_the_schema_knows_every_field_and_no_other(self, real):
        written = set(dataclasses.replace(real.clamped(), place=1).to_json())
        assert set(schema()["properties"]) == written | {"signature", "original"}
        assert set(schema()["required"]) == set(real.to_json()) - {"document"}, "version 1 has no document"
        for name, kind, part in (
            ("output", OutputColumn, real.to_json()["outputs"][0]),
            ("measured", MeasuredColumn, real.to_json()["measured"][0]),
        ):
            assert set(schema()["$defs"][name]["required"]) == set(part) - {"parts"}
            assert set(schema()["$defs"][name]["properties"]) == {field.name for field in dataclasses.fields(kind)}

    @over("place", _damages().values())
    @over("damage", ["dropped", "retyped", "emptied", "renamed"])
    def test_a_damaged_release_does_not_fit(self, place, damage):
        may_be_empty = ("library", "keys", "columns_read", "post_processing", "values", "margins", "steps")
        if damage == "emptied" and place[-1] in may_be_empty:
            damage = "dropped"
        data = copy.deepcopy(_release().to_json())
        *path, last = place
        part = data
        for step in path:
            part = part[step]
        kept = part.pop(last)
        if damage == "retyped":
            part[last] = {"an": "object"} if not isinstance(kept, dict) else ["a list"]
        elif damage == "emptied":
            part[last] = None if isinstance(kept, int | float) else type(kept)()
        elif damage == "renamed":
            part[f"{last}x"] = kept
        with pytest.raises(jsonschema.ValidationError):
            _validate(data)

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (("outputs", 0, "values", 0), "1"),
            (("outputs", 0, "values", 0), None),
            (("outputs", 0, "margins", 0), -1),
            (("measured", 0, "steps", 0), 0.5),
            (("measured", 0, "scale"), 0),
            (("measured", 0, "l1"), 0),
            (("measured", 0, "grid"), "1/0"),
            (("measured", 0, "grid"), "0.01"),
            (("confidence",), 0.95),
            (("dataset", "version"), 0),
            (("keys", 0, "type"), "real"),
            (("keys", 0, "type"), "integer"),
            (("keys", 0, "type"), "date"),
            (("keys", 0, "values", 0), 5),
            (("receipt", "hash"), "abc"),
            (("receipt", "cost", "rho"), 5),
            (("columns_read",), ["a", "a"]),
        ],
    )
    def test_a_value_that_means_nothing_does_not_fit(self, place, value):
        data = copy.deepcopy(_release().to_json())
        part = data
        for step in place[:-1]:
            part = part[step]
        part[place[-1]] = value
        with pytest.raises(jsonschema.ValidationError):
            _validate(data)

    @over("place", [place for place in _damages().values() if place[0] not in ("schema", "receipt")])
    def test_a_damaged_release_is_refused_and_raises_nothing_else(self, place):
        data = copy.deepcopy(_release().to_json())
        *path, last = place
        part = data
        for step in path:
            part = part[step]
        del part[last]
        with pytest.raises(ParameterError, match="damaged"):
            Release.from_json(data)

    @pytest.mark.parametrize("place", [("keys", 0, "values"), ("outputs", 0, "margins"), ("measured", 0, "steps")])
    def test_columns_of_different_lengths_are_refused(self, place):
        data = _release().to_json()
        data[place[0]][place[1]][place[2]] = data[place[0]][place[1]][place[2]][:1]
        with pytest.raises(ParameterError, match="damaged"):
            Release.from_json(data)


class _Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, _):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def _parsed(text: str) -> _Cells:
    cells = _Cells()
    cells.feed(text)
    cells.close()
    return cells


class TestText:
    def test_a_release_reads_like_this(self):
        release = _release(
            keys=(("ward", "text", ("A", "intensive", None)),),
            outputs={"n": ((12345, -7, 0), (60, 60, 60)), "mean": ((1234.5678, 20.0, 0.25), (3.21, 12.0, 0.0123))},
        )
        assert str(release) == (
            "ward                 n           mean\n"
            "A          12,345 ± 60  1,234.6 ± 3.2\n"
            "intensive      -7 ± 60        20 ± 12\n"
            "(missing)       0 ± 60  0.250 ± 0.012\n"
            "± holds 95% of the time, for the noise\n"
            "spent    epsilon 0.5, for one patient_id, added or removed, over this release\n"
            "receipt  abc222222222"
        )
        assert repr(release) == str(release)

    @pytest.mark.parametrize(
        ("value", "margin", "text"),
        [
            (5, 3, "5 ± 3"),
            (-1234567, 1000, "-1,234,567 ± 1,000"),
            (1234.5678, 0.5, "1,234.57 ± 0.50"),
            (1234.5678, 25.0, "1,235 ± 25"),
            (0.00012346, 0.0000012, "0.0001235 ± 0.0000012"),
            (1e-12, 3e-13, "1e-12 ± 3e-13"),
            (0.0, 0.0, "0 ± 0"),
            (2.5, 0.0, "2.5 ± 0"),
            (2**60, 2**55, "1,152,921,504,606,846,976 ± 36,028,797,018,963,968"),
            (1e15 + 0.5, 1e12, "1,000,000,000,000,000 ± 1,000,000,000,000"),
        ],
    )
    def test_numbers_have_as_many_digits_as_their_margin_makes_meaningful(self, value, margin, text):
        release = _release(keys=(), outputs={"x": ((value,), (margin,))})
        assert str(release).splitlines()[1].strip() == text

    def test_a_release_without_groups_is_one_line(self):
        assert str(_release(keys=())).splitlines()[:2] == ["     n", "10 ± 3"]

    @pytest.mark.timing
    def test_many_rows_are_cut_and_counted_without_being_printed(self):
        """A second is about 17 loops."""
        rows = 1_000_000
        release = _release(keys=(("i", "integer", tuple(range(rows))),), measured=())
        text, html = str(release), release._repr_html_()
        assert loops(lambda: (str(release), release._repr_html_())) < A_SECOND
        assert "... 999,980 more rows" in text
        assert "... 999,980 more rows" in html
        assert len(text.splitlines()) == 1 + 20 + 1 + 3

    def test_exact_answers_of_tests_are_stamped_first_in_every_form(self, real):
        stamp = "NOT PRIVATE: exact answers from dp.testing, for tests only"
        assert str(real).startswith(stamp)
        assert _parsed(real._repr_html_()).texts[0] == stamp
        assert "NOT PRIVATE" not in str(_release())
        assert real.to_json()["private"] is False

    def test_the_price_is_never_shown_without_its_unit_and_span(self, real):
        for shown in (str(real), _parsed(real._repr_html_()).texts[-2]):
            assert "epsilon 1, delta 9e-10, for one id, added or removed, over this release from 'visits'" in shown

    def test_a_repeated_answer_says_that_it_was_free_and_is_the_same_release(self):
        again = _release(repeated=True)
        assert "stored answer is free" in str(again)
        assert "stored answer" not in str(_release())
        assert again == _release()
        assert again.to_json() == _release().to_json()

    def test_a_release_without_a_receipt_shows_none(self):
        assert "receipt" not in str(_release(receipt={}))


class TestHostileKeys:
    @pytest.mark.pitfall("D")
    def test_keys_that_look_like_markup_are_shown_and_not_run(self):
        html = _release(keys=((HOSTILE.strip(), "text", (HOSTILE, "B")),), guarantee=HOSTILE)._repr_html_()
        cells = _parsed(html)
        assert "script" not in cells.tags
        assert any("<script>alert('x')</script>&amp;" in text for text in cells.texts)

    @pytest.mark.pitfall("D")
    def test_keys_that_command_a_terminal_are_shown_as_their_codes(self):
        text = str(_release(keys=(("ward", "text", (HOSTILE, "\r\nfake ± 1\t\0")),)))
        body = text.splitlines()
        assert len(body) == 3 + 3
        assert all(line.isprintable() for line in body)
        assert r"\n\x1b[31m\u202e" in body[1]
        assert r"\r\nfake ± 1\t\x00" in body[2]

    def test_letters_of_every_language_are_shown_as_they_are(self):
        text = str(_release(keys=(("ward", "text", ("Größe", "年齢")),)))
        assert "Größe" in text
        assert "年齢" in text


class TestPlots:
    @pytest.fixture(autouse=True)
    def _closed(self):
        yield
        plt.close("all")

    def test_a_release_is_drawn_with_its_keys_margins_and_confidence(self, real):
        figure = real.plot("cost")
        description = figure.get_label()
        assert "2026-01-31 / True" in description
        assert "(missing) / (missing)" in description
        assert "NOT PRIVATE" in description

    def test_a_release_without_groups_is_drawn(self):
        assert _release(keys=()).plot().get_label()

    def test_an_output_that_is_not_there_is_not_drawn(self):
        with pytest.raises(ParameterError, match="one of 'n'"):
            _release().plot("m")
