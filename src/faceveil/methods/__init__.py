"""The papers' methods by name."""

from dataclasses import replace

from faceveil.errors import UsageError
from faceveil.methods.filters import FILTERS, Filter

Method = Filter
METHODS: dict[str, Method] = {**FILTERS}
DEFAULT = "blackout"  # the one filter that is safe

__all__ = ["DEFAULT", "METHODS", "Method", "method"]


def method(name: str = DEFAULT, *, strength: int | None = None, shape: str | None = None) -> Method:
    """A method by its id, with its parameters."""
    if name not in METHODS:
        raise UsageError(f"no method {name!r}; there are {', '.join(METHODS)}.")
    return replace(METHODS[name], strength=strength, shape=shape)
