"""Contact sheets of every method on generated people: python docs/gallery/make.py [method … | wall]

Above the originals, who do not exist; below what the method makes of them. Set methods work in groups of four: the
second row is each group's face, the third what a release of photos shows with `--paste joined`, the group's face
joined with each member's photo, and the last one what it shows by default. `wall` is the README's picture: a whole
photo before and after a run.
"""

import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np

from faceveil import Settings, anonymize
from faceveil.faces import align_ffhq, find_faces
from faceveil.faces.crops import face_set
from faceveil.faces.put_in import Member, put_in
from faceveil.faces.replace import replace_face
from faceveil.methods import METHODS, FaceMethod, Method, SetMethod, method
from faceveil.methods.joined import codes_of_pictures, seen_of
from faceveil.models.generator import Generator
from faceveil.photos import Photo, read_photo, write_photo

HERE = Path(__file__).parent
WALL = HERE.parents[1] / "examples" / "photos" / "wall.jpg"
PEOPLE, K, SIDE = 12, 4, 144
Images = np.ndarray


def people() -> Images:
    """The same twelve at every run."""
    generator = Generator()
    w = generator.mapping(generator.sample_z(PEOPLE, np.random.default_rng(20)))
    return generator.render(generator.truncate(w, 0.75), 256)


def made_by(chosen: Method, originals: Images) -> list[Images]:
    """Originals and results, in the order of their groups."""
    rng = np.random.default_rng(7)
    if isinstance(chosen, SetMethod):
        released = chosen.release(face_set(originals), rng)
        order = np.argsort(released.groups, kind="stable")
        order = order[released.pictures[order] >= 0]
        before, after = originals[order], released.crops[released.pictures[order]]
        return [before, after, *(np.array(list(map(put, before, after))) for put in (joined, identical))]
    assert isinstance(chosen, FaceMethod)
    after = []
    for image in originals:
        faces = find_faces(image)
        after.append(chosen.protect(image, faces[0], rng)[0] if faces else image)
    return [originals, np.array(after)]


def joined(photo: Images, picture: Images) -> Images:
    """The picture's face as part of the photo, as the pipeline draws it."""
    faces = find_faces(photo)
    if not faces:
        return photo
    place, (code,) = align_ffhq(faces[0], 256), codes_of_pictures(picture[None]).astype(np.float32)
    return put_in(photo, [Member(place, code, seen_of(photo, faces[0], place))])[0]


def identical(photo: Images, picture: Images) -> Images:
    """The picture in the place of the photo's face, the same pixels in every photo."""
    faces = find_faces(photo)
    return replace_face(photo, faces[0], picture, align_ffhq(faces[0], 256))[0] if faces else photo


def sheet(rows: list[Images]) -> Images:
    def row(images: Images) -> Images:
        small = [cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_AREA) for image in images]
        return np.concatenate(small, axis=1)

    return np.concatenate(list(map(row, rows)))


def wall() -> Images:
    """The photo of seventeen faces and what the default makes of it, side by side."""
    with tempfile.TemporaryDirectory() as folder:
        after = Path(folder) / WALL.name
        anonymize(WALL, after, settings=Settings(seed=2))
        both = [read_photo(path).pixels for path in (WALL, after)]
    halves = [cv2.resize(image, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) for image in both]
    return np.ascontiguousarray(np.concatenate(halves, axis=1)[:500])


def main(names: list[str]) -> None:
    names = names or [*METHODS, "wall"]
    if "wall" in names:
        write_photo(Photo(wall(), format="JPEG"), HERE.parent / "images" / "wall.jpg", overwrite=True)
    originals = people()
    for name in (name for name in names if name != "wall"):
        chosen = method(name, **({"k": K} if "k" in METHODS[name].options else {}))
        picture = Photo(sheet(made_by(chosen, originals)), format="JPEG")
        write_photo(picture, HERE / f"{name}.jpg", overwrite=True)
        print(name, flush=True)
    lines = [
        "# Gallery",
        "\n".join(__doc__.strip().splitlines()[2:]),
        "Made by `python docs/gallery/make.py`.",
    ]
    lines += [f"## {name}\n\n![{name}]({name}.jpg)" for name in METHODS if (HERE / f"{name}.jpg").exists()]
    (HERE / "README.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
