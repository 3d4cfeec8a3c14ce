"""Statistical audits: any callable is run on two datasets and its outcomes are tested against a claim."""
