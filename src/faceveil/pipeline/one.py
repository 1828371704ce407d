"""One photo, in memory: the code of a run, for who has an array and no folder."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from faceveil.errors import ProtectionError
from faceveil.faces import Face
from faceveil.photos import Photo, read_photo, write_photo
from faceveil.photos.metadata import ALPHA
from faceveil.pipeline.engines import serial
from faceveil.pipeline.journal import forget_run
from faceveil.pipeline.manifest import NO_FACES
from faceveil.pipeline.memory import memory_of
from faceveil.pipeline.plan import make_plan
from faceveil.pipeline.private import no_folder, temporary
from faceveil.pipeline.protect import protect_photo
from faceveil.pipeline.run import run
from faceveil.pipeline.settings import Settings, rng_for
from faceveil.pipeline.survey import faces_of

NAME = "photo.png"  # what a photo without a name is called


@dataclass(frozen=True, eq=False)
class OnePhoto:
    """A photo that may be released: where its faces were, and what may be claimed of it."""

    photo: Photo
    faces: tuple[Face, ...]
    guarantee: str


def protect_one(photo: Photo, settings: Settings) -> OnePhoto:
    """The photo with every face protected, or ProtectionError: there is no other way out with a face left in it."""
    if settings.knows_the_set:
        return _as_a_set(photo, settings)
    rng = rng_for(settings.seed, photo.path.name if photo.path else NAME)
    (done,) = serial(lambda one: protect_photo(one, settings, rng), [photo])
    claim = settings.method.guarantee.sentence if done.found else NO_FACES
    return OnePhoto(done.photo, done.found, claim)


def _as_a_set(photo: Photo, settings: Settings) -> OnePhoto:
    """A run over a folder with this photo alone: its faces are the set.

    It lies there without loss, in a temporary folder that only this user may open, as the faces of every such run do.
    """
    with _own_folder() as folder:
        source, target = Path(folder, "in", NAME), Path(folder, "out", NAME)
        source.parent.mkdir()
        write_photo(photo, source)
        plan = make_plan([source.parent], target.parent)
        try:
            summary = run(plan, settings)
        except BaseException as error:  # nobody can go on with this run: leave no face of it behind
            forget_run(memory_of(plan.state))
            error.__dict__.pop("__notes__", None)  # which say how to go on
            raise
        for outcome in summary.quarantined:
            raise ProtectionError(outcome.reason)
        made = read_photo(target, max_pixels=settings.max_pixels, keep_metadata=(ALPHA,))
    faces, _ = faces_of(photo, settings)
    return OnePhoto(photo.with_pixels(made.pixels, alpha=made.alpha), tuple(faces), summary.guarantee)


def _own_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="faceveil-one-", dir=temporary())
    except OSError as error:
        raise no_folder(temporary(), error) from error
