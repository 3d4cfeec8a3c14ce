"""Anonymity: how many people a file without names singles out, and what generalising it would cost.

Everything here reads rows exactly, nothing is charged and nothing is differentially private: every result is stamped
for the owners of the data. Persons are counted, not rows; a missing cell is a value unless the caller states another
policy. k-anonymity, l-diversity and t-closeness are measured because people ask for them. None of them limits what a
release reveals together with other releases or background knowledge; a differentially private release does.
"""

import importlib

_HOMES: dict[str, str] = {
    "AnonymityMeasures": "classes.risk",
    "AttackRate": "linkage.attack_rates",
    "AttackRisk": "linkage.attack_rates",
    "ColumnRisk": "classes.column_risk",
    "ColumnUniques": "uniques.minimal_uniques",
    "CompositionCounts": "linkage.composition",
    "CompositionRisk": "linkage.composition",
    "ControlMatches": "linkage.linkage_risk",
    "Cube": "classes.cube",
    "Diversity": "classes.diversity",
    "GeneralisationLevels": "generalisation.levels",
    "GeneralisedTable": "generalisation.recode",
    "IndividualRisk": "uniques.individual",
    "JournalistRisk": "classes.journalist",
    "LatticeSearch": "generalisation.lattice",
    "LearnedValues": "linkage.linkage_risk",
    "LinkageRisk": "linkage.linkage_risk",
    "MinimalUniques": "uniques.minimal_uniques",
    "MondrianPartition": "generalisation.mondrian",
    "NextColumn": "linkage.linkage_risk",
    "NodeLoss": "generalisation.lattice",
    "OwnerResult": "owners",
    "PopulationEstimate": "uniques.estimators",
    "PopulationUniques": "uniques.population",
    "ProsecutorRisk": "classes.risk",
    "ReleaseCandidates": "linkage.composition",
    "RiskReport": "report.report",
    "WeightedClasses": "classes.weights",
    "WorkedReleases": "linkage.composition",
    "WorkedTable": "limits",
    "cube": "classes.cube",
    "estimate_individual_risk": "uniques.individual",
    "generalise": "generalisation.recode",
    "individual_risk": "uniques.individual",
    "intersect": "linkage.composition",
    "link": "linkage.links",
    "measure": "classes.risk",
    "minimal_uniques": "uniques.minimal_uniques",
    "mondrian": "generalisation.mondrian",
    "population_uniques": "uniques.population",
    "risk_report": "report.report",
    "search": "generalisation.lattice",
}
_MODULES: dict[str, str] = {
    "composition": "linkage.composition",
    "hierarchies": "generalisation.hierarchies",
    "inference": "linkage.inference",
    "limits": "limits",
    "linkability": "linkage.linkability",
    "singling_out": "linkage.singling_out",
}

__all__ = [
    "AnonymityMeasures",
    "AttackRate",
    "AttackRisk",
    "ColumnRisk",
    "ColumnUniques",
    "CompositionCounts",
    "CompositionRisk",
    "ControlMatches",
    "Cube",
    "Diversity",
    "GeneralisationLevels",
    "GeneralisedTable",
    "IndividualRisk",
    "JournalistRisk",
    "LatticeSearch",
    "LearnedValues",
    "LinkageRisk",
    "MinimalUniques",
    "MondrianPartition",
    "NextColumn",
    "NodeLoss",
    "OwnerResult",
    "PopulationEstimate",
    "PopulationUniques",
    "ProsecutorRisk",
    "ReleaseCandidates",
    "RiskReport",
    "WeightedClasses",
    "WorkedReleases",
    "WorkedTable",
    "composition",
    "cube",
    "estimate_individual_risk",
    "generalise",
    "hierarchies",
    "individual_risk",
    "inference",
    "intersect",
    "limits",
    "link",
    "linkability",
    "measure",
    "minimal_uniques",
    "mondrian",
    "population_uniques",
    "risk_report",
    "search",
    "singling_out",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name in _MODULES:
        return importlib.import_module(f"discreet.anonymity.{_MODULES[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.anonymity' has no attribute {name!r}")
    return getattr(importlib.import_module(f"discreet.anonymity.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
