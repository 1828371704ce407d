"""The generator's latent space: faces of nobody, real faces as codes, and codes as faces again."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from faceveil.api.images import as_photo
from faceveil.errors import PhotoError, UsageError
from faceveil.faces import find_faces
from faceveil.models.generator import FaceGenerator, Images, cores, open_generator
from faceveil.models.latents import Latents
from faceveil.models.mobilestylegan import SLOTS, STYLE_DIM, Floats
from faceveil.models.runtime import allow_threads
from faceveil.photos import FoundPhoto, Photo, SkippedFile, find_photos, read_photo, write_bytes, write_photo
from faceveil.photos.transparency import shown
from faceveil.pipeline.work import without_path
from faceveil.show import Displayed, Table
from faceveil.spaces.inversion import Inversion, invert

REFINE = 2  # steps of gradient descent after the encoder


@dataclass(frozen=True, eq=False, repr=False)
class GeneratedFaces(Displayed):
    """Faces of people who do not exist."""

    images: Images  # N × S × S × 3, RGB, uint8
    codes: Floats  # W, N × 512, or W+, N × 23 × 512

    def __len__(self) -> int:
        return len(self.images)

    def __iter__(self) -> Iterator[Images]:
        return iter(self.images)

    def save(self, folder: Path | str, *, overwrite: bool = False) -> None:
        """Write face-0000.png and so on into a folder."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, image in zip(face_names(len(self)), self.images, strict=True):
            write_photo(Photo(image), Path(folder, f"{name}.png"), overwrite=overwrite)

    def table(self) -> Table:
        """The faces themselves."""
        side = self.images.shape[1]
        count = "1 face" if len(self) == 1 else f"{len(self)} faces"
        return Table(f"{count} of nobody, {side}×{side} px", pictures=list(self.images))


def generate(
    count: int,
    *,
    seed: int | None = None,
    size: int | None = None,
    truncation: float = 0.7,
    generator: str = "mobilestylegan",
    weights: Path | str | None = None,
    device: str = "cpu",
) -> GeneratedFaces:
    """Faces of people who do not exist: the same for the same seed, and without one for nobody else.

    `size` is 64, 128, 256, 512 or 1024 px, `truncation` from 0 (the most usual face) to 1 (all of
    them).
    """
    if count < 1:
        raise UsageError(f"faceveil.generate makes 1 face or more; {count} is not.")
    if not 0 <= truncation <= 1:
        raise UsageError(f"truncation is from 0 to 1; {truncation} is not.")
    drawing = open_generator(generator, Path(weights) if weights else None, device)
    codes, images = drawn(drawing, count, seed, size, truncation)
    return GeneratedFaces(np.stack(list(images)), codes)


def drawn(
    drawing: FaceGenerator, count: int, seed: int | None, size: int | None, truncation: float
) -> tuple[Floats, Iterator[Images]]:
    """Codes of faces of nobody, and their pictures one by one."""
    z = drawing.sample_z(count, np.random.default_rng(seed))  # without a seed numpy asks the operating system
    codes = drawing.truncate(drawing.mapping(z), truncation)
    return codes, drawing.render_each(codes, drawing.size if size is None else size)


def face_names(count: int) -> list[str]:
    """Of generated faces, in order."""
    return [f"face-{number:0{max(4, len(str(count - 1)))}d}" for number in range(count)]


@dataclass(eq=False, repr=False)
class Encoded(Displayed):
    """Real faces in the generator's latent space, and the photos that gave none."""

    codes: list[Floats] = field(default_factory=list)
    faces: list[dict[str, Any]] = field(default_factory=list)  # photo, name, and how near the render comes
    without: list[dict[str, str]] = field(default_factory=list)  # photos that gave no face, and why
    skipped: list[SkippedFile] = field(default_factory=list)  # files that are no photos

    def add(self, photo: FoundPhoto, outcome: Inversion | str) -> None:
        """What came of one photo: codes, or why there are none."""
        if isinstance(outcome, str):
            self.without.append({"file": str(photo.path), "reason": outcome})
            return
        self.codes += list(outcome.wplus)
        errors = zip(outcome.errors, outcome.pixel_errors, strict=True)
        for number, (look, pixels) in enumerate(errors, start=1):
            taken = {face["name"] for face in self.faces}
            name = _name(photo.relative, number, len(outcome.wplus), taken)
            figures = {"lpips": round(float(look), 4), "pixels": round(float(pixels), 2)}
            self.faces.append({"photo": str(photo.path), "name": name, **figures})

    @property
    def latents(self) -> Latents:
        """The codes (W+, N × 23 × 512) with the name and the error of each, as the file holds them."""
        codes = np.stack(self.codes) if self.codes else np.zeros((0, SLOTS, STYLE_DIM), np.float32)
        errors = np.array([face["lpips"] for face in self.faces], np.float32)
        return Latents(codes, tuple(face["name"] for face in self.faces), errors)

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write the .npz that `faceveil render` reads."""
        write_bytes(self.latents.to_bytes(), Path(path), overwrite=overwrite)

    def render(self, size: int = 1024) -> GeneratedFaces:
        """The faces as the generator draws them from their codes."""
        latents = self.latents.latents
        images = list(open_generator().render_each(latents, size))
        return GeneratedFaces(np.array(images, np.uint8).reshape(-1, size, size, 3), latents)

    def table(self) -> Table:
        """One row for each face, and a word on photos without one."""
        rows = [(face["name"], face["lpips"], face["pixels"]) for face in self.faces]
        notes = [f"{photo['file']}: {photo['reason']}" for photo in self.without]
        count = "1 face" if len(rows) == 1 else f"{len(rows)} faces"
        return Table(f"{count} encoded", ("face", "LPIPS", "pixel error"), rows, notes)


def encode(
    photos: "Path | str | Photo | Images | Iterable[Path | str]",
    *,
    refine: int = REFINE,
    detector: str = "yunet",
    progress: "Any" = lambda: None,
) -> Encoded:
    """Find the W+ of every face in photos: files, folders, or one image as an array or Photo.

    `refine` counts steps of gradient descent after the encoder; 20 come much nearer. `progress` is called
    for each photo.
    """
    if isinstance(photos, np.ndarray | Photo):
        photo, encoded = as_photo(photos), Encoded()
        name = Path(photo.path.name if photo.path else "image")
        encoded.add(FoundPhoto(photo.path or name, name), _codes(photo, detector, refine))
        return encoded
    paths = [photos] if isinstance(photos, str | Path) else list(photos)
    found = find_photos(paths)
    encoded = Encoded(skipped=found.skipped)
    allow_threads(cores())
    with ThreadPoolExecutor(cores()) as pool:
        outcomes = pool.map(partial(_look_at, detector=detector, refine=refine), found.photos)
        for one, outcome in zip(found.photos, outcomes, strict=True):
            encoded.add(one, outcome)
            progress()
    return encoded


def _look_at(photo: FoundPhoto, detector: str, refine: int) -> Inversion | str:
    """The codes of a photo's faces, or why there are none."""
    try:
        return _codes(read_photo(photo.path), detector, refine)
    except PhotoError as error:
        return without_path(str(error), photo.path)


def _codes(photo: Photo, detector: str, refine: int) -> Inversion | str:
    image = shown(photo)
    faces = find_faces(image, detector)
    return invert(image, faces, refine) if faces else "no face was found"


def _name(relative: Path, number: int, count: int, taken: set[str]) -> str:
    """The photo's name without suffix, and the face's number where there are several."""
    name = relative.with_suffix("").as_posix() + ("" if count == 1 else f".face-{number}")
    same = 1
    unique = name
    while unique in taken:  # a.jpg beside a.png
        same += 1
        unique = f"{name}.{same}"
    return unique
