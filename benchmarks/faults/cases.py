"""What is run: every method of the registry, and the other journeys through a set."""

from faceveil.methods import METHODS, method
from faceveil.models.cards import all_cards
from faceveil.pipeline import Settings

# What the command line is given for each.
CASES = {name: ("--method", name) for name in METHODS} | {
    "k-same-pixel crops": ("--method", "k-same-pixel", "--release", "crops"),
    "styleid consistent": ("--method", "styleid", "--consistent"),
}
GROUPED = ("k-same", "miku", "anonfaces")
FILTERS = ("blackout", "eye-mask", "threshold", "blur", "noise", "pixelate")
TWO = ("-k", "2", "--subjects", "each")


def options_of(case: str) -> tuple[str, ...]:
    """What the command line is given for a case."""
    return (*CASES[case], *(TWO if case.startswith(GROUPED) else ()))


def cards_of(case: str) -> list[str]:
    """The weights that its runs need and that do not ship with the program."""
    name, *rest = options_of(case)[1:]
    chosen = method(name, consistent=True) if "--consistent" in rest else method(name)
    release = "crops" if "--release" in rest else "photos"
    settings = Settings(method=chosen, release=release, subjects="each" if "--subjects" in rest else "auto")
    return [card for card in settings.cards if not all_cards()[card].shipped]


def is_of_a_set(case: str) -> bool:
    """Whether its runs look at all photos before they change the first."""
    return case.startswith(GROUPED) or case == "styleid consistent"
