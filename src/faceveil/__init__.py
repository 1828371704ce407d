"""faceveil: replace faces, state what the result guarantees, prove it by attack.

    import faceveil
    faceveil.anonymize("photos", "out")

Names are imported when they are first used, so that `import faceveil` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "FaceveilError": "faceveil.errors",
    "Photo": "faceveil.photos",
    "read_photo": "faceveil.photos",
    "write_photo": "faceveil.photos",
    "Face": "faceveil.faces",
    "find_faces": "faceveil.faces",
    "Settings": "faceveil.pipeline",
    "Summary": "faceveil.pipeline",
    "anonymize": "faceveil.pipeline",
    "method": "faceveil.methods",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'faceveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
