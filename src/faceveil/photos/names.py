"""File names are bytes that anyone may choose: how they are shown, and how they are hashed."""

import os
import re

# Control characters drive a terminal; lone surrogates stand for bytes that are no text; the others turn text around.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_FIRST_BYTE = 0xDC00  # where Python puts a byte that is no text (PEP 383)


def shown(name: object) -> str:
    """A name, or a line with names in it, as one may print it: on one line, and nothing in it acts on a terminal."""
    return _UNSAFE.sub(_written_out, str(name))


def shown_in_json(text: str) -> str:
    """The same for JSON that was written out already: what a reader gets of it is unchanged."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def name_bytes(name: str) -> bytes:
    """The bytes of a name, whether or not they are text."""
    return os.fsencode(name)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if _FIRST_BYTE <= code < _FIRST_BYTE + 0x100:
        code -= _FIRST_BYTE
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
