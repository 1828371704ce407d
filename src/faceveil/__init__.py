"""faceveil: replace faces, state what the result guarantees, prove it by attack.

    import faceveil
    out = faceveil.anonymize_image("photo.jpg", method="blur", strength=25)   # out.image, out.faces, out.guarantee
    faceveil.anonymize("photos", "out", method="anonfaces", k=5)

docs/api.md has an example for every name. Names are imported when they are first used, so that `import faceveil`
costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faceveil.api.faces import Attributes as Attributes
    from faceveil.api.faces import Faces as Faces
    from faceveil.api.faces import attributes as attributes
    from faceveil.api.faces import find_faces as find_faces
    from faceveil.api.groups import group as group
    from faceveil.api.judge import certify as certify
    from faceveil.api.judge import evaluate as evaluate
    from faceveil.api.judge import verify as verify
    from faceveil.api.latents import Encoded as Encoded
    from faceveil.api.latents import GeneratedFaces as GeneratedFaces
    from faceveil.api.latents import encode as encode
    from faceveil.api.latents import generate as generate
    from faceveil.api.protect import AnonymizedImage as AnonymizedImage
    from faceveil.api.protect import anonymize as anonymize
    from faceveil.api.protect import anonymize_image as anonymize_image
    from faceveil.errors import FaceveilError as FaceveilError
    from faceveil.errors import ProtectionError as ProtectionError
    from faceveil.faces import Face as Face
    from faceveil.methods import method as method
    from faceveil.photos import Photo as Photo
    from faceveil.photos import read_photo as read_photo
    from faceveil.photos import write_photo as write_photo
    from faceveil.pipeline import Settings as Settings
    from faceveil.pipeline import Summary as Summary

__version__ = "0.1.0"

_HOMES = {
    "find_faces": "faceveil.api.faces",
    "attributes": "faceveil.api.faces",
    "anonymize_image": "faceveil.api.protect",
    "anonymize": "faceveil.api.protect",
    "evaluate": "faceveil.api.judge",
    "certify": "faceveil.api.judge",
    "verify": "faceveil.api.judge",
    "group": "faceveil.api.groups",
    "generate": "faceveil.api.latents",
    "encode": "faceveil.api.latents",
    "method": "faceveil.methods",
    "read_photo": "faceveil.photos",
    "write_photo": "faceveil.photos",
    "AnonymizedImage": "faceveil.api.protect",
    "Attributes": "faceveil.api.faces",
    "Encoded": "faceveil.api.latents",
    "Face": "faceveil.faces",
    "Faces": "faceveil.api.faces",
    "FaceveilError": "faceveil.errors",
    "GeneratedFaces": "faceveil.api.latents",
    "Photo": "faceveil.photos",
    "ProtectionError": "faceveil.errors",
    "Settings": "faceveil.pipeline",
    "Summary": "faceveil.pipeline",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'faceveil' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
