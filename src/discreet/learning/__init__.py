"""Learning: private models on the integer sums of people, with the interface of scikit-learn.

The contract, which every estimator keeps: the features, classes and sizes are declared; a fit is charged whole before
the first row is read; a learner receives noisy integer sums of people, and nothing else.

Needs the extra: pip install "discreet[learning]".
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.learning import testing
    from discreet.learning.artefacts import load
    from discreet.learning.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
    from discreet.learning.boosting.model import AdditiveModel
    from discreet.learning.boosting.shapes import shape_plot
    from discreet.learning.core.account import BudgetAccount
    from discreet.learning.core.features import DeclaredFeature, categories, edges, linear_bins, log_bins
    from discreet.learning.evaluation.evaluate import CrossValidation, Evaluation, cross_validate, evaluate
    from discreet.learning.evaluation.on_synthetic import SyntheticEvaluation, evaluate_on_synthetic
    from discreet.learning.evaluation.search import ModelSearch, search
    from discreet.learning.linear.logistic_regression import LogisticRegression
    from discreet.learning.linear.naive_bayes_classifier import NaiveBayes
    from discreet.learning.linear.ridge_regression import Ridge
    from discreet.learning.linear.standard_scaler import StandardScaler
    from discreet.learning.sgd.torch_classifier import TorchClassifier

_HOMES = {
    "AdditiveModel": "boosting.model",
    "BudgetAccount": "core.account",
    "CrossValidation": "evaluation.evaluate",
    "DeclaredFeature": "core.features",
    "Evaluation": "evaluation.evaluate",
    "GradientBoostingClassifier": "boosting.estimators",
    "GradientBoostingRegressor": "boosting.estimators",
    "LogisticRegression": "linear.logistic_regression",
    "ModelSearch": "evaluation.search",
    "NaiveBayes": "linear.naive_bayes_classifier",
    "Ridge": "linear.ridge_regression",
    "SyntheticEvaluation": "evaluation.on_synthetic",
    "StandardScaler": "linear.standard_scaler",
    "TorchClassifier": "sgd.torch_classifier",
    "categories": "core.features",
    "cross_validate": "evaluation.evaluate",
    "edges": "core.features",
    "evaluate": "evaluation.evaluate",
    "evaluate_on_synthetic": "evaluation.on_synthetic",
    "linear_bins": "core.features",
    "load": "artefacts",
    "log_bins": "core.features",
    "shape_plot": "boosting.shapes",
    "search": "evaluation.search",
}
_MODULES = ("testing",)

__all__ = [
    "AdditiveModel",
    "BudgetAccount",
    "CrossValidation",
    "DeclaredFeature",
    "Evaluation",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "LogisticRegression",
    "ModelSearch",
    "NaiveBayes",
    "Ridge",
    "StandardScaler",
    "SyntheticEvaluation",
    "TorchClassifier",
    "categories",
    "cross_validate",
    "edges",
    "evaluate",
    "evaluate_on_synthetic",
    "linear_bins",
    "load",
    "log_bins",
    "search",
    "shape_plot",
    "testing",
]


def __getattr__(name: str) -> object:
    """Load a public name from where it lives."""
    if name in _MODULES:
        return importlib.import_module(f"discreet.learning.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.learning' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"discreet.learning.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
