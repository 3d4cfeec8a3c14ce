"""The lock file of development is what `scripts/setup` installs, and agrees with pyproject.toml."""

import importlib.machinery
import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "scripts" / "requirements-dev.txt"
TORCH_LOCK = ROOT / "scripts" / "requirements-torch.txt"
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def _scripted(name: str) -> str:
    return (ROOT / "scripts" / name).read_text(encoding="utf-8")


def required(project: dict) -> list[Requirement]:
    """What pyproject.toml asks for: the core, the extras that `scripts/lock` names, its groups, and the build."""
    extras, groups = (re.findall(rf"--{kind} (\w+) ", _scripted("lock")) for kind in ("extra", "group"))
    lists = [project["build-system"]["requires"], project["project"]["dependencies"]]
    lists += [project["project"]["optional-dependencies"][name] for name in extras]
    lists += [project["dependency-groups"][name] for name in groups]
    return [Requirement(text) for texts in lists for text in texts]


def required_for_networks(project: dict) -> list[Requirement]:
    """What tests of networks ask for beside it."""
    return [Requirement(text) for text in project["dependency-groups"]["torch-cpu"]]


def pins(lock: str) -> dict[str, str]:
    """The versions of a lock file by the name of the package; where they differ by Python, the last."""
    found = re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def faults(lock: str, requirements: list[Requirement]) -> list[str]:
    """Where a lock file names a place, lacks a hash or a package, or has a version that is not admitted."""
    lines = [line for line in lock.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    found = [f"an option or a place: {line[:60]}" for line in lines if line.startswith("-") or "//" in line]
    versions: dict[str, str] = {}
    for line in lines:
        pin = re.match(r"([\w.-]+)==([\w.+]+)( ; [^#]+?)?((?:\s+--hash=\S+)*)\s*$", line)
        hashes = pin[4].split() if pin else []
        if pin is None or not hashes or not all(HASH.fullmatch(each) for each in hashes):
            found.append(f"not a version with hashes: {line[:60]}")
        else:
            versions[canonicalize_name(pin[1])] = pin[2]
    for requirement in requirements:
        name = canonicalize_name(requirement.name)
        wanted = [name, *(f"{name}-{extra}" for extra in requirement.extras)]
        found += [f"missing: {each}" for each in wanted if each not in versions]
        if name in versions and not requirement.specifier.contains(versions[name], prereleases=True):
            found.append(f"not admitted: {name}=={versions[name]}, because {requirement}")
    return found


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_lock_file_agrees_with_the_project(project):
    assert faults(LOCK.read_text(encoding="utf-8"), required(project)) == [], "run scripts/lock"
    assert faults(TORCH_LOCK.read_text(encoding="utf-8"), required_for_networks(project)) == [], "run scripts/lock"


def test_both_lock_files_have_the_same_version_of_a_package():
    general, networks = (pins(lock.read_text(encoding="utf-8")) for lock in (LOCK, TORCH_LOCK))
    assert {name: networks[name] for name in networks if name in general and networks[name] != general[name]} == {}


def test_networks_are_tested_with_versions_that_the_extra_admits(project):
    extra = [Requirement(text) for text in project["project"]["optional-dependencies"]["torch"]]
    versions = pins(LOCK.read_text(encoding="utf-8")) | pins(TORCH_LOCK.read_text(encoding="utf-8"))
    assert [each for each in extra if not each.specifier.contains(versions[canonicalize_name(each.name)])] == []


def test_every_fault_of_a_lock_file_is_found(project):
    lock = LOCK.read_text(encoding="utf-8")
    duckdb = re.search(r"^duckdb==(\S+)", lock, re.MULTILINE)
    assert duckdb is not None
    broken = {
        "an option or a place: --index-url": "--index-url https://registry.example/simple\n" + lock,
        "not a version with hashes: absl-py": re.sub(r"^(absl-py==\S+)( \\\n.*)+", r"\1", lock, flags=re.MULTILINE),
        "not a version with hashes: duckdb>=": lock.replace("duckdb==", "duckdb>="),
        "missing: psycopg-binary": lock.replace("psycopg-binary==", "another=="),
        "missing: hatchling": lock.replace("hatchling==", "another=="),
        "missing: dp-accounting": lock.replace("dp-accounting==", "another=="),
        "not admitted: duckdb==1.4.0": lock.replace(duckdb[0], "duckdb==1.4.0"),
    }
    for fault, text in broken.items():
        assert text != lock, fault
        assert any(each.startswith(fault) for each in faults(text, required(project))), fault


def test_setup_installs_from_the_lock_file_and_nothing_else(project):
    """Without --no-deps an older pip chose a version of its own for `coverage[toml]` once there was a newer one."""
    installs = [line for line in _scripted("setup").splitlines() if line.startswith("pip --")]
    assert installs == [
        "pip --no-deps --require-hashes --requirement scripts/requirements-dev.txt",
        "pip --no-deps --no-build-isolation --editable .",
        "pip --no-deps --require-hashes --requirement scripts/requirements-torch.txt ||",
    ]
    assert "pip check" in _scripted("setup"), "a package that the lock file lacks is found"
    assert f"--python-version {project['project']['requires-python'].removeprefix('>=')} " in _scripted("lock")


def test_nothing_of_a_graphics_processor_comes_in():
    """torch with CUDA would be gigabytes: tests of networks have its CPU build, and no other package needs it."""
    large = re.compile(r"^(?:torch|nvidia|cuda|triton|tensorflow|jax)\S*", re.MULTILINE)
    assert large.findall(LOCK.read_text(encoding="utf-8")) == []
    assert large.findall(TORCH_LOCK.read_text(encoding="utf-8")) == ["torch==2.13.0+cpu"]


def _advisories() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("advisories", str(ROOT / "scripts" / "advisories"))
    spec = importlib.util.spec_from_loader("advisories", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


ADVISORY = """
id: PYSEC-2000-{number}
published: 2000-01-01T00:00:00Z
aliases: [CVE-2000-1]
affected:
- package: {{ecosystem: PyPI, name: {name}}}
  ranges: [{{type: ECOSYSTEM, events: {events}}}]
  versions: {versions}
"""


@pytest.mark.parametrize(
    ("name", "events", "versions", "is_named"),
    [
        ("DuckDB", [{"introduced": "0"}], [], True),
        ("duckdb", [{"introduced": "0"}, {"fixed": "1.0"}], [], False),
        ("duckdb", [{"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "1.5"}], [], True),
        ("duckdb", [{"introduced": "0"}, {"last_affected": "1.9"}], [], False),
        ("duckdb", [{"introduced": "0"}, {"fixed": "1.0"}], ["{locked}"], True),
        ("no-such-package", [{"introduced": "0"}], [], False),
    ],
)
def test_an_advisory_about_a_locked_version_is_found(tmp_path, capsys, name, events, versions, is_named):
    locked = re.search(r"^duckdb==(\S+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert locked is not None
    listed = [text.format(locked=locked[1]) for text in versions]
    place = tmp_path / "vulns" / name.lower()
    place.mkdir(parents=True)
    text = ADVISORY.format(number=1, name=name, events=events, versions=listed)
    (place / "PYSEC-2000-1.yaml").write_text(text, encoding="utf-8")
    assert _advisories().main(str(tmp_path)) == int(is_named)
    assert ("PYSEC-2000-1 CVE-2000-1" in capsys.readouterr().out) is is_named


def test_a_directory_without_advisories_fails(tmp_path):
    """pip-audit without --strict ends with success where it could look nothing up."""
    assert _advisories().main(str(tmp_path)) == 2
