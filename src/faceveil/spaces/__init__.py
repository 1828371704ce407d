"""Faces ↔ vectors. A space encodes a FaceSet to an array; a synthesis space decodes it to crops again."""

from typing import Any

from faceveil.errors import UsageError
from faceveil.spaces.attribute import AttributeSpace
from faceveil.spaces.eigen import EigenSpace
from faceveil.spaces.embedding import EmbeddingSpace
from faceveil.spaces.latent import LatentSpace
from faceveil.spaces.mesh import MeshSpace
from faceveil.spaces.pixel import PixelSpace
from faceveil.spaces.space import Space, SynthesisSpace

SPACES: dict[str, type[Space]] = {
    kind.id: kind for kind in (PixelSpace, EigenSpace, MeshSpace, LatentSpace, EmbeddingSpace, AttributeSpace)
}


def space(name: str, **parameters: Any) -> Space:
    """A space by its id, not yet fitted."""
    kind = SPACES.get(name)
    if kind is None:
        raise UsageError(f"no space is called {name!r}; there are {', '.join(SPACES)}.")
    return kind(**parameters)


__all__ = ["SPACES", "Space", "SynthesisSpace", "space"]
