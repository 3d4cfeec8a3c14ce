"""Linear models: `<method>_learner` has an algorithm and its guarantee; its estimator is named after the method."""
