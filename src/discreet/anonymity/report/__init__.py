"""The report on re-identification risk: findings as text, plots and HTML."""
