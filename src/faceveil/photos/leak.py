"""Leak: one thing that a file carries besides its pixels."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Leak:
    """One thing that a file carries besides its pixels.

    Kinds: exif, gps, thumbnail, preview, picture, animation, maker-note, serial-number, person, time, text,
    xmp, iptc, icc, resolution, provenance, application, trailing, alpha, hidden-pixels, and unchecked for what
    could not be followed, so that a damaged file never counts as clean.
    """

    kind: str
    name: str
    size: int
    description: str
