"""`python -m faceveil` is the `faceveil` program."""

from faceveil.cli import program

if __name__ == "__main__":
    program()
