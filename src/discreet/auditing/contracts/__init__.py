"""Contract suites for mechanisms and sessions, in the manner of scikit-learn's check_estimator."""
