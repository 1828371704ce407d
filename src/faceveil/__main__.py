"""`python -m faceveil` is the `faceveil` program."""

from faceveil.cli import main

if __name__ == "__main__":
    main()
