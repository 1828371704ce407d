"""Visits: what the workers of a run in company do to one photo: meet its faces, and later protect them.

Everything goes to files in the private folder, each written whole, so that a run that was cut off skips what is
there. A visit's result depends on the photo, its seats and the secret alone: not on order or engine.
"""

import io
import json
from dataclasses import asdict, astuple, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import PhotoError, ProtectionError
from faceveil.faces import Face, Region
from faceveil.faces.face import Image
from faceveil.methods import CompanyMethod
from faceveil.methods.company import Company, Profile
from faceveil.models.npz import mapped, opened
from faceveil.models.recognizers import recognizer, widest
from faceveil.photos import read_photo, write_bytes
from faceveil.photos.transparency import shown
from faceveil.pipeline.journal import Outcome, Status
from faceveil.pipeline.plan import Job
from faceveil.pipeline.protect import Protected, protect_faces
from faceveil.pipeline.settings import Settings, rng_for
from faceveil.pipeline.survey import PhotoFaces, digest, read_faces
from faceveil.pipeline.work import Clock, encoded, without_path

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
MET = "met.npy"  # N × recognisers × widest: the originals; NaN where a face could not be measured


@dataclass(frozen=True)
class Seat:
    """What one face shall become: who it is, and how often this was thought over."""

    person: int
    turn: int = 0  # which of the person's targets, where photos of one person share them
    since: int = -1  # the round whose new faces it keeps apart from; -1: from originals alone
    cover: bool = False
    profile: Profile | None = None
    dealt: tuple[int, ...] = ()  # targets to try first


@dataclass(frozen=True)
class Visit:
    """One photo and the seats of its faces, in the order of the survey."""

    number: int
    job: Job
    about: PhotoFaces
    seats: tuple[Seat, ...]


@dataclass(frozen=True, eq=False)
class Guests:
    """Who is who in the set: the person of each face, and of each person the face that targets are chosen by."""

    subjects: Ints
    models: Ints
    secret: int
    folder: Path

    @property
    def people(self) -> int:
        """How many there are."""
        return len(self.models)


def meet_photo(item: tuple[int, PhotoFaces], settings: Settings, folder: Path) -> int:
    """Remember the faces of one photo."""
    number, about = item
    method = _method(settings)
    crops = list(mapped(folder / "crops.npy")[about.rows]) if about.count else []
    met = [method.meet(np.array(crop)) for crop in crops]
    names = method.recognizers
    empty = np.full((len(names), widest(names)), np.nan, np.float32)
    embeddings = [empty if one is None else _stacked(one.embeddings, names) for one in met]
    profiles = [[np.nan] * 3 if one is None else astuple(one.profile) for one in met]
    suitable = [() if one is None else one.suitable for one in met]
    _write(
        met_file(folder, number),
        embeddings=np.array(embeddings),
        profiles=np.array(profiles),
        suitable=np.array([target for targets in suitable for target in targets], np.int64),
        lengths=np.array([len(targets) for targets in suitable], np.int64),
    )
    return number


def visit(item: Visit, settings: Settings, guests: Guests, round_: int) -> int:
    """Protect one photo as its seats say, and keep the result with the outcome and the new faces' embeddings."""
    job, clock = item.job, Clock()
    method = _method(settings)
    names = method.recognizers
    new = np.full((item.about.count, len(names), widest(names)), np.nan, np.float32)
    data = b""
    try:
        photo = read_photo(job.source, max_pixels=settings.max_pixels, keep_metadata=settings.keep_metadata)
        if digest(photo) != item.about.digest:
            raise ProtectionError("the photo changed while the run was under way.")
        clock.lap("read")
        faces = [face for face, _ in read_faces(guests.folder, item.about)]
        protect = partial(_protect, item=item, faces=faces, method=method, guests=guests)
        result = protect_faces(photo, faces, settings, protect)
        clock.lap("protect")
        data = encoded(result.photo, job, settings)
        image = shown(result.photo)
        for row, face in enumerate(faces if method.consistent or method.diverse else ()):
            seen = method.seen(image, face)
            if seen is not None:
                new[row] = _stacked(seen, names)
        clock.lap("check")
        outcome = _outcome(item, result, clock)
    except (PhotoError, ProtectionError) as error:
        outcome = Outcome(job.name, "quarantined", reason=without_path(str(error), job.source))
    except MemoryError:
        outcome = Outcome(job.name, "quarantined", reason="not enough memory for this photo.")
    _write(
        made_file(guests.folder, round_, item.number),
        outcome=np.array(json.dumps(asdict(outcome))),
        data=np.frombuffer(data, np.uint8),
        new=new,
    )
    return item.number


def read_made(folder: Path, round_: int, number: int) -> tuple[Outcome, bytes, Floats]:
    """What `visit` kept: the outcome, the encoded photo, the new faces (NaN where none is left)."""
    with opened(made_file(folder, round_, number)) as made:
        values = json.loads(str(made["outcome"]))
        outcome = Outcome(**{**values, "notes": tuple(values["notes"])})
        return outcome, made["data"].tobytes(), made["new"]


def met_file(folder: Path, number: int) -> Path:
    """Where `meet_photo` puts what it found."""
    return folder / f"met-{number:07d}.npz"


def made_file(folder: Path, round_: int, number: int) -> Path:
    """Where `visit` puts what it made."""
    return folder / f"made-{round_:03d}-{number:07d}.npz"


def new_file(folder: Path, round_: int) -> Path:
    """All new faces after a round, N × recognisers × widest."""
    return folder / f"new-{round_:03d}.npy"


def _protect(
    image: Image, face: Face, item: Visit, faces: list[Face], method: CompanyMethod, guests: Guests
) -> tuple[Image, Region]:
    """One face in its company; a face that only showed up in the result keeps apart from everybody."""
    row = next((row for row, known in enumerate(faces) if known is face), None)
    seat = Seat(-1) if row is None else item.seats[row]
    rng = rng_for(guests.secret, f"{item.job.name}\0{row}\0{seat.turn}\0{seat.since}")
    return method.among(_company(seat, method, guests)).protect(image, face, rng)


def _company(seat: Seat, method: CompanyMethod, guests: Guests) -> Company:
    others = {}
    for column, name in enumerate(method.recognizers):
        rows = np.concatenate([_others(path, column, seat, guests) for path in _known(seat, guests)])
        others[name] = rows[:, : recognizer(name).dimensions]
    if not method.consistent or seat.person < 0:
        return Company(others, guests.people, seat.profile, seat.dealt, cover=seat.cover)
    chosen = _targets(seat, method, guests)[seat.turn : seat.turn + 1]
    return Company(others, guests.people, seat.profile, (), chosen, seat.turn, seat.cover)


def _known(seat: Seat, guests: Guests) -> list[Path]:
    """The files of faces to keep apart from."""
    new = [new_file(guests.folder, seat.since)] if seat.since >= 0 else []
    return [guests.folder / MET, *new]


def _others(path: Path, column: int, seat: Seat, guests: Guests) -> Floats:
    faces = mapped(path)[guests.subjects != seat.person, column]
    return np.asarray(faces[~np.isnan(faces[:, 0])])


def _targets(seat: Seat, method: CompanyMethod, guests: Guests) -> tuple[int, ...]:
    """The same for every photo of a person, whoever asks."""
    crop = np.array(mapped(guests.folder / "crops.npy")[guests.models[seat.person]])
    rng = rng_for(guests.secret, f"\0person\0{seat.person}")
    return method.targets(crop, seat.profile, rng, seat.dealt)


def _outcome(item: Visit, result: Protected, clock: Clock) -> Outcome:
    status: Status = "protected" if result.faces else "no-face"
    late = item.about.found_late + result.found_late
    return Outcome(item.job.name, status, result.faces, late, notes=item.about.notes, seconds=clock.laps)


def _method(settings: Settings) -> CompanyMethod:
    assert isinstance(settings.method, CompanyMethod)
    return settings.method


def _stacked(embeddings: Any, names: tuple[str, ...]) -> Floats:
    """One row each; shorter ones end in zeros, which change no distance."""
    rows = np.zeros((len(names), widest(names)), np.float32)
    for row, name in zip(rows, names, strict=True):
        row[: len(embeddings[name])] = embeddings[name]
    return rows


def _write(path: Path, **arrays: NDArray[Any]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_bytes(buffer.getvalue(), path, overwrite=True)
