"""Find the faces in a photo, however a viewer shows it: transparency can show a face over one ground alone."""

from collections.abc import Iterable, Sequence

from faceveil.faces.detect import find_faces
from faceveil.faces.face import Face, Floats
from faceveil.photos import Photo
from faceveil.photos.transparency import looks


def find_in_photo(
    photo: Photo,
    detector: str = "yunet",
    *,
    thorough: bool = False,
    mesh: bool = True,
    besides: Sequence[Floats] = (),
    quarters: Iterable[int] = (),
) -> list[Face]:
    """The faces in a photo, each once; options are those of `find_faces`."""
    found: list[Face] = []
    turns = tuple(quarters)
    for image in looks(photo):
        known = [*besides, *(face.box_xyxy for face in found)]
        found += find_faces(image, detector, thorough=thorough, mesh=mesh, besides=known, quarters=turns)
    return found
