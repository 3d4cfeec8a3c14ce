"""Budget: which noise a query gets, and how its privacy budget is divided over the integers that get noise."""
