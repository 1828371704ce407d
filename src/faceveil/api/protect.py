"""Protect: one image in memory, or files and folders."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from faceveil.api.ahead import load_detectors, load_method
from faceveil.api.faces import faces_table
from faceveil.api.images import ImageLike, as_photo
from faceveil.api.options import ImageOptions, RunOptions, method_of, refuse_unknown, settings_of
from faceveil.errors import UsageError
from faceveil.faces import Face
from faceveil.methods import Method
from faceveil.photos import Photo, format_for, write_bytes
from faceveil.photos.metadata import ALPHA
from faceveil.pipeline import Settings, Summary, make_plan, run
from faceveil.pipeline.engines import Engine
from faceveil.pipeline.engines import engine as engine_named
from faceveil.pipeline.one import protect_one
from faceveil.pipeline.work import checked_bytes
from faceveil.show import Displayed, Table


@dataclass(frozen=True, eq=False, repr=False)
class AnonymizedImage(Displayed):
    """An image that may be released."""

    photo: Photo
    faces: tuple[Face, ...]  # where they were in the original
    guarantee: str  # what the result may claim, in words
    method: str

    @property
    def image(self) -> NDArray[np.uint8]:
        """The pixels: RGB, uint8, H×W×3."""
        return self.photo.pixels

    def save(self, path: Path | str, *, overwrite: bool = False) -> None:
        """Write it in the format of the file name, without metadata, whole or not at all."""
        path = Path(path)
        kept = (*self.photo.encoding.kept, *([ALPHA] if self.photo.alpha is not None else []))
        data = checked_bytes(self.photo, format_for(path, self.photo), kept)
        write_bytes(data, path, overwrite=overwrite)

    def table(self) -> Table:
        """Each face that was replaced, and what the result may claim."""
        count = "1 face" if len(self.faces) == 1 else f"{len(self.faces)} faces"
        about = faces_table(self.faces, f"{count} protected with {self.method}")
        notes = (self.guarantee, *self.photo.notes)
        return Table(about.title, about.head, about.rows, notes, (self.image,))


def anonymize_image(
    image: ImageLike, method: str | Method | None = None, **options: Unpack[ImageOptions]
) -> AnonymizedImage:
    """Replace every face in one image, or raise ProtectionError: an original face is never given back.

    It is the code of a run: a second detector looks at the result, and what cannot be protected stops it. The faces
    of this image are the whole set, so `k` needs at least so many people in it.
    """
    refuse_unknown("anonymize_image", options, ImageOptions.__annotations__)
    chosen = method_of(method, options)
    settings = settings_of(chosen, options)
    photo = as_photo(image, max_pixels=settings.max_pixels, keep_metadata=settings.keep_metadata)
    load_detectors(chosen, settings.detector, "threads", 1)
    load_method(settings, "threads", 1)
    done = protect_one(photo, settings)
    return AnonymizedImage(done.photo, done.faces, done.guarantee, chosen.id)


def anonymize(
    inputs: Sequence[Path | str] | Path | str,
    output: Path | str,
    *,
    method: str | Method | None = None,
    settings: Settings | None = None,
    engine: Engine | str = "threads",
    workers: int | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda stage: None,
    **options: Unpack[RunOptions],
) -> Summary:
    """Protect files and folders: `faceveil anonymize` as a function, with the same options by the same names.

    `progress` is called with the name of the stage whenever a photo is done. `engine="processes"` needs a script
    that can be imported. `settings` may stand for the method and all options.
    """
    named = ("method", "settings", "engine", "workers", "resume", "overwrite", "progress")
    refuse_unknown("anonymize", options, {*RunOptions.__annotations__, *named})
    if settings is not None and (method is not None or options):
        raise UsageError("give either settings, or the method and its options by name.")
    if isinstance(engine, str):
        chosen, name = engine_named(engine, workers), engine
    else:
        chosen, name = engine, "serial"
    if settings is None:
        settings = settings_of(method_of(method, options), options)
    paths = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    plan = make_plan([Path(path) for path in paths], Path(output))
    load_detectors(settings.method, settings.detector, name, workers)
    load_method(settings, name, workers)
    return run(plan, settings, engine=chosen, resume=resume, overwrite=overwrite, progress=progress)
