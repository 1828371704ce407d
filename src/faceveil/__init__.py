"""faceveil: replace faces, state what the result guarantees, prove it by attack."""

__version__ = "0.1.0"
