"""scikit-learn's own checks of an estimator, on its variant without noise."""

import warnings

from sklearn.utils.estimator_checks import check_estimator

from discreet.learning.testing import noiseless

SKIPPED = {"check_array_api_input"}  # it needs a switch of scipy that is set before anything is imported


def unexpected(estimator, **expected):
    """What checks say that neither passed, nor fail for a stated reason; and stated failures that pass."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(noiseless(estimator), on_fail=None, on_skip=None, expected_failed_checks=expected)
    wrong = [(each["check_name"], repr(each["exception"])) for each in found if each["status"] == "failed"]
    wrong += [(each["check_name"], "skipped") for each in found if each["status"] == "skipped"]
    failed = {each["check_name"] for each in found if each["status"] == "xfail"}
    assert len(found) > 40
    return [each for each in wrong if each[0] not in SKIPPED] + [(name, "passes") for name in set(expected) - failed]
