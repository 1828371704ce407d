"""The papers' methods by name."""

from dataclasses import replace
from typing import Any

from faceveil.errors import UsageError
from faceveil.methods.anonfaces import ANONFACES
from faceveil.methods.filters import FILTERS
from faceveil.methods.ksame import K_SAME
from faceveil.methods.method import CompanyMethod, FaceMethod, Method, Release, SetMethod
from faceveil.methods.miku import MIKU
from faceveil.methods.styleid import STYLEID

METHODS: dict[str, Method] = {**FILTERS, **K_SAME, MIKU.id: MIKU, ANONFACES.id: ANONFACES, **STYLEID}
DEFAULT = "blackout"  # the one filter that is safe

__all__ = ["DEFAULT", "METHODS", "CompanyMethod", "FaceMethod", "Method", "Release", "SetMethod", "method"]


def method(name: str = DEFAULT, **options: Any) -> Method:
    """A method by its id. Options that are None are left at the method's default."""
    if name not in METHODS:
        raise UsageError(f"no method {name!r}; there are {', '.join(METHODS)}.")
    given = {key: value for key, value in options.items() if value is not None}
    chosen = METHODS[name]
    for key in given:
        if key not in chosen.options:
            takes = ", ".join(f"--{option.replace('_', '-')}" for option in chosen.options) or "no options"
            raise UsageError(f"{name} has no --{key.replace('_', '-')}; it takes {takes}.")
    return replace(chosen, **given)  # type: ignore[type-var]
