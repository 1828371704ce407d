"""Who was taught with whom: which photos each network that ships has seen, and whom none has.

A figure on people whom a network learnt from flatters it. Benchmarks draw from `unseen`, or print `told` beside their
figures. Photos are those of `real_faces.list_faces`; what the weights that come from the package index were taught
with is known from their makers alone, if at all (docs/weights.md).
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from training.attribute_labels import utkface_held_out
from training.real_faces import RealFace, list_faces

BENCHMARK_LFW = 40  # every so many photos of LFW are for the detector's benchmark
Photos = Mapping[Path, RealFace]


def not_held_out(photos: Photos) -> set[Path]:
    """All of UTKFace and of the portraits, and of FFHQ and LFW whoever is not kept apart."""
    return {path for path, face in photos.items() if not face.held_out}


def of_attrnet(photos: Photos) -> set[Path]:
    """As those, without 1,000 photos of UTKFace."""
    apart = utkface_held_out(face.name for face in photos.values() if face.set == "utkface")
    return {p for p in not_held_out(photos) if photos[p].set != "utkface" or photos[p].name not in apart}


def of_lfw_and_ffhq(photos: Photos) -> set[Path]:
    return {path for path in not_held_out(photos) if photos[path].set in ("lfw", "ffhq")}


def of_lfw(photos: Photos) -> set[Path]:
    return {path for path in not_held_out(photos) if photos[path].set == "lfw"}


def gate_photos(photos: Photos) -> tuple[list[Path], list[Path]]:
    """What the gate is taught with, of LFW and of the others.

    Of LFW one photo in nine that the detector's benchmark does not use: also of people whom the other networks keep
    apart, and of people who are in that benchmark with another photo.
    """
    lfw, utkface, portraits = (
        sorted(path for path, face in photos.items() if face.set == name)
        for name in ("lfw", "utkface", "portraits-cc0")
    )
    apart = [path for number, path in enumerate(lfw) if number % BENCHMARK_LFW]
    return apart[::9], [*utkface[::25], *portraits]


def of_gate(photos: Photos) -> set[Path]:
    lfw, others = gate_photos(photos)
    return {*lfw, *others}


def of_utkface(photos: Photos) -> set[Path]:
    return {path for path, face in photos.items() if face.set == "utkface"}


def nobody(photos: Photos) -> set[Path]:
    """Generated faces alone."""
    return set()


# What ships (a file's name without its suffix) and the photos that it may have seen. Where only some were drawn from
# these, as for axes and steps, all of them count.
TAUGHT: Mapping[str, Callable[[Photos], set[Path]]] = {
    "encoder": not_held_out,
    "residual": not_held_out,
    "attrnet": of_attrnet,
    "projector-axes": of_lfw_and_ffhq,
    "targets": not_held_out,  # the axes of the encoder's codes of the sharpest third
    "people": of_lfw_and_ffhq,
    "control": of_lfw,
    "yunet.2023mar-gate": of_gate,
    "yunet.2023mar-ranges": of_utkface,
    "directions": nobody,
    "hairy": nobody,
    "swapper": nobody,
    "layers": nobody,
    "channels": nobody,
    "mobilestylegan-w": nobody,
    "mobilestylegan-exit-64": nobody,
    "mobilestylegan-exit-128": nobody,
    "mobilestylegan-exit-256": nobody,
}
FINDING = (
    "yunet.2023mar-gate",
    "yunet.2023mar-ranges",
)  # they say where a face is, and nothing of whose it is
FACES = tuple(name for name in TAUGHT if name not in FINDING)


@cache
def photos_of(data: Path) -> Photos:
    return dict(list_faces(data))


@cache
def seen_people(data: Path, networks: tuple[str, ...] = FACES) -> frozenset[tuple[str, str]]:
    """Set and person of everybody with a photo that one of these networks was taught with."""
    photos = photos_of(data)
    paths = set().union(*(TAUGHT[name](photos) for name in networks))
    return frozenset((photos[path].set, photos[path].person) for path in paths)


def is_unseen(path: Path, data: Path, networks: tuple[str, ...] = FACES) -> bool:
    """Whether none of these networks was taught with a photo of the person in this one."""
    face = photos_of(data)[path]
    return (face.set, face.person) not in seen_people(data, networks)


def unseen(paths: Iterable[Path], data: Path, networks: tuple[str, ...] = FACES) -> list[Path]:
    """The photos of people whom none of these networks was taught with."""
    return [path for path in paths if is_unseen(path, data, networks)]


def told(paths: Iterable[Path], data: Path, networks: tuple[str, ...] = FACES) -> str:
    """To be read beside a figure: how many people it is of, and how many of them which network was taught with."""
    photos = photos_of(data)
    people = {(photos[path].set, photos[path].person) for path in paths}
    known = {name: len(people & seen_people(data, (name,))) for name in networks}
    met = ", ".join(f"{name} {count}" for name, count in known.items() if count)
    return f"{len(people)} people; of them taught with: {met or 'nobody'}"
