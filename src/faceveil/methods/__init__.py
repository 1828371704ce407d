"""The papers' methods by name."""

from collections import UserDict
from dataclasses import replace
from importlib import import_module
from typing import Any

from faceveil.errors import UsageError, meant
from faceveil.methods.method import CompanyMethod, FaceMethod, Method, Release, SetMethod

DEFAULT = "styleid"
HOMES = {  # module and name under which a method, or a table of methods, is found
    "filters:FILTERS": ("blackout", "eye-mask", "threshold", "blur", "noise", "pixelate"),
    "ksame:K_SAME": ("k-same-pixel", "k-same-eigen", "k-same-partial-m", "k-same-m"),
    "miku:MIKU": ("miku",),
    "anonfaces:ANONFACES": ("anonfaces",),
    "styleid:STYLEID": ("styleid", "styleid-layers", "styleid-channels", "styleid-swapper", "styleid-mask"),
}

__all__ = ["DEFAULT", "METHODS", "CompanyMethod", "FaceMethod", "Method", "Release", "SetMethod", "method"]


class Registry(UserDict[str, Any]):
    """Methods by id, each imported when it is first asked for: some bring compilers and large tables along."""

    def __getitem__(self, name: str) -> Method:
        found = self.data[name]
        if isinstance(found, str):
            module, _, table = found.partition(":")
            found = getattr(import_module(f"{__name__}.{module}"), table)
            found = self.data[name] = found[name] if isinstance(found, dict) else found
        return found  # type: ignore[no-any-return]


METHODS = Registry({name: home for home, names in HOMES.items() for name in names})


def method(name: str = DEFAULT, **options: Any) -> Method:
    """A method by its id. Options that are None are left at the method's default."""
    if name not in METHODS:
        raise UsageError(f"no method {name!r}; there are {', '.join(METHODS)}.{meant(name, METHODS)}")
    given = {key: value for key, value in options.items() if value is not None}
    chosen = METHODS[name]
    for key in given:
        if key not in chosen.options:
            takes = ", ".join(map(_flag, chosen.options)) or "no options"
            raise UsageError(
                f"{name} has no {_flag(key)}; it takes {takes}.{_who_takes(key, chosen.options)}"
            )
    return replace(chosen, **given)  # type: ignore[type-var]


def _who_takes(key: str, known: tuple[str, ...]) -> str:
    """The remedy: the methods that have such an option, or the option that was meant."""
    takers = [name for name in METHODS if key in METHODS[name].options]
    if key == "strength":  # which means something in some of the filters alone
        takers = [name for name in takers if getattr(METHODS[name], "meaning", None)]
    if takers:
        return (
            f" {_flag(key)} is for {', '.join(takers)}: choose one with --method, or leave {_flag(key)} out."
        )
    return meant(key, known)


def _flag(option: str) -> str:
    """As the command line writes it."""
    return "-k" if option == "k" else f"--{option.replace('_', '-')}"
