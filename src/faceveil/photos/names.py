"""Names of files as text that can be shown: a name is bytes, and may be no UTF-8 or hold escape codes."""

import os


def printable(name: str | os.PathLike[str]) -> str:
    """The name with what cannot be printed (bytes that are no UTF-8, control characters) as \\x.. escapes."""
    text = os.fspath(name)
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    code = ord(one)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return one.encode("unicode_escape").decode("ascii")
