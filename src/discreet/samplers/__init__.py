"""Samplers: exact random draws from the operating system's random bytes.

Discrete noise, choices by weight, numbers of runs, and continuous noise rounded to a public grid. Only mechanisms call
them.
"""
