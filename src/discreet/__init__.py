"""discreet: private answers from the engine you already have."""

__version__ = "0.1.0"
