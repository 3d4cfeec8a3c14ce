"""Integrity: the chain is verified, an older copy is detected, and damage is recovered from."""
