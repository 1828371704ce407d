"""Every error a user can meet, in one tree.

A message says what happened, the rule, the value that broke it, and the remedy.

FaceveilError
├── UsageError                 the call itself is wrong (exit code 2)
│   └── MissingExtra           an optional part is not installed; the message is the install command
├── WeightsError               a weight file cannot be had or trusted
│   ├── UnknownCard
│   ├── WeightsUnavailable     no network, no such distribution, offline
│   ├── HashMismatch
│   ├── StoreUnusable          the cache folder is read-only, full or not a folder
│   └── UnsafePickle           a file wants to run code when it is read
├── PhotoError                 one photo cannot be read or written; the others go on
│   ├── UnreadablePhoto        corrupt, truncated, empty, not an image
│   └── PhotoTooLarge          over the pixel limit (a decompression bomb)
├── ProtectionError            a face cannot be protected; its photo is quarantined
├── OutputError                the place to write to is not usable (exists, read-only, full, inside the input)
└── GroupingError              no partition can keep the promise that was asked for
"""

from collections.abc import Iterable


class FaceveilError(Exception):
    """Base of every error that faceveil raises on purpose."""

    exit_code = 1


class UsageError(FaceveilError):
    """The call itself is wrong."""

    exit_code = 2


class MissingExtra(UsageError):
    """An optional part is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part. Install it with: pip install 'faceveil[{extra}]'")


class WeightsError(FaceveilError):
    """A weight file cannot be had or trusted."""


class UnknownCard(WeightsError):
    """No card of that name."""


class WeightsUnavailable(WeightsError):
    """The distribution cannot be downloaded."""


class HashMismatch(WeightsError):
    """What arrived is not what the card pins."""


class StoreUnusable(WeightsError):
    """The cache folder cannot be written."""


class UnsafePickle(WeightsError):
    """A pickle names a global that is not on the reader's list."""


class PhotoError(FaceveilError):
    """One photo cannot be read or written."""


class UnreadablePhoto(PhotoError):
    """Corrupt, truncated, empty or not an image."""


class PhotoTooLarge(PhotoError):
    """Over the pixel limit."""


class ProtectionError(FaceveilError):
    """A face cannot be protected."""


class OutputError(FaceveilError):
    """The place to write to is not usable."""


class GroupingError(FaceveilError):
    """No partition can keep the promise that was asked for."""


def meant(name: str, names: Iterable[str]) -> str:
    """A word on the nearest of the names that there are, to end a message with; nothing where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), 1)
    return f" Did you mean {near[0]!r}?" if near else ""
