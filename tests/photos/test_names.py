"""Names of files are bytes; what is shown of them can be printed."""

import os
from pathlib import Path

from faceveil.photos.names import shown


def test_a_name_is_shown_with_escapes_only_where_it_cannot_be_printed():
    assert shown("Zoë 1.jpg") == "Zoë 1.jpg"
    assert shown(Path(os.fsdecode(b"caf\xe9\x1b[31m\n"))) == "caf\\xe9\\x1b[31m\\x0a"
    assert shown("\u202egpj.exe") == "\\u202egpj.exe", "text that turns the direction of writing"
