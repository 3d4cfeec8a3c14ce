"""Collections of DAP in sessions: those of tasks, and vectors that a published implementation of Prio3 made."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import discreet as dp
from discreet.errors import ParameterError

SCRIPT = Path(__file__).with_name("prio3.mjs")
VOTES = dp.table("votes")
HOUR = (1_790_000_000, 3_600)


def _task(domain, trust="dap"):
    oracle = dp.local.oracles.KaryResponse.calibrate(domain.size, epsilon=1)
    return dp.local.Task(domain, "1", oracle, trust=trust)


def test_the_collection_of_a_task_has_its_domain_and_its_hash(tmp_path):
    task = _task(dp.local.SlotDomain(values=("a", "b", "c")))
    collection = dp.local.collection_of(task, tmp_path / "c.json", interval=HOUR, max_reports=2)
    assert (collection.kind, collection.length, collection.task) == ("histogram", 3, task.hash)
    assert collection.columns == ("bucket", "client")
    assert collection.interval == HOUR
    numbers = _task(dp.local.SlotDomain(low=0, high=1, steps=10))
    numbers = dp.local.collection_of(numbers, tmp_path / "n.json", interval=HOUR)
    assert (numbers.kind, numbers.largest, numbers.columns) == ("sum", 10, ("value",))


def test_a_task_whose_reports_have_noise_is_not_collected_by_dap(tmp_path):
    with pytest.raises(ParameterError, match='trust="dap"'):
        dp.local.collection_of(_task(dp.local.SlotDomain(size=3), trust="local"), tmp_path / "c.json", interval=HOUR)


@pytest.fixture(scope="module")
def aggregates(tmp_path_factory):
    """What two aggregators of @divviup/prio3 add up, or a skip where npm does not bring it."""
    folder = tmp_path_factory.mktemp("prio3")
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), "@divviup/prio3@0.8.0"]
    installed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if installed.returncode:
        pytest.skip("npm does not install @divviup/prio3 here")
    script = shutil.copy(SCRIPT, folder)
    run = subprocess.run(["node", script], capture_output=True, text=True, check=True, timeout=300, cwd=folder)
    return json.loads(run.stdout)


def _session(tmp_path, aggregates, kind, collection, **facts):
    vector, reports = aggregates[kind]
    collection.write(vector, reports)
    named = {"name": "votes", "privacy_unit": dp.ROW, "budget": dp.Budget(epsilon=2), **facts}
    return dp.testing.protect(collection, **named)


@pytest.mark.nightly
def test_vectors_of_a_published_prio3_are_read_as_collections(tmp_path, aggregates):
    counts = [sum(i % 7 % 4 == bucket for i in range(40)) for bucket in range(4)]
    histogram = dp.local.Collection(tmp_path / "h.json", task="h", kind="histogram", interval=HOUR, length=4)
    with _session(tmp_path, aggregates, "histogram", histogram, keys={"bucket": range(4)}) as session:
        release = session.release(VOTES.group_by("bucket").agg(n=dp.count()), epsilon=1)
        assert release.to_arrow()["n"].to_pylist() == counts
    truths = dp.local.Collection(tmp_path / "c.json", task="c", kind="sum", interval=HOUR)
    with _session(tmp_path, aggregates, "count", truths) as session:
        release = session.release(VOTES.agg(n=dp.count(), yes=dp.sum("value", bounds=(0, 1))), epsilon=1)
        assert (release.to_arrow()["n"].to_pylist(), release.to_arrow()["yes"].to_pylist()) == ([30], [10])
    numbers = dp.local.Collection(tmp_path / "s.json", task="s", kind="sum", interval=HOUR, largest=15)
    with _session(tmp_path, aggregates, "sum", numbers) as session:
        release = session.release(VOTES.agg(s=dp.sum("value", bounds=(0, 15))), epsilon=1)
        assert release.to_arrow()["s"].to_pylist() == [126]
    vectors = dp.local.Collection(tmp_path / "v.json", task="v", kind="vector", interval=HOUR, length=3, largest=15)
    with _session(tmp_path, aggregates, "vector", vectors) as session:
        sums = {f"s{i}": dp.sum(f"v{i}", bounds=(0, 15)) for i in range(3)}
        release = session.release(VOTES.agg(**sums), epsilon=1).to_arrow()
        assert [release[name].to_pylist() for name in sums] == [[126], [174], [0]]
