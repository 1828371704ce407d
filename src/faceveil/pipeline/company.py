"""Run a method that protects face by face but knows the set: survey, meet everybody, protect, think again, release.

Each face is protected in the company of all others: a new face is no nearer to anybody else than chance. With
`consistent` all photos of a person try the same target, and if one of them fails all go on to the next. A method that
is `diverse` (StyleID's level "high") also keeps new faces apart from each other, in rounds, and lets people exchange
their profiles. Nothing reaches the output before all rounds are over.
"""

import json
import secrets
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.methods import CompanyMethod
from faceveil.methods.company import Profile, too_near
from faceveil.models.npz import mapped, opened
from faceveil.models.recognizers import widest
from faceveil.photos import write_bytes
from faceveil.pipeline.engines import Engine
from faceveil.pipeline.journal import Journal, Outcome
from faceveil.pipeline.plan import Plan
from faceveil.pipeline.private import PrivateFolder
from faceveil.pipeline.rows import write_array
from faceveil.pipeline.set_run import Progress, survey
from faceveil.pipeline.settings import Settings, rng_for
from faceveil.pipeline.subjects import subjects_of
from faceveil.pipeline.survey import Surveyed
from faceveil.pipeline.visits import (
    MET,
    Floats,
    Guests,
    Ints,
    Seat,
    Visit,
    made_file,
    meet_photo,
    met_file,
    new_file,
    read_made,
    visit,
)
from faceveil.pipeline.work import put, quarantined

SECRET = "secret.json"
MOVES = 3  # how often a person may move away from another's new face before it is covered
NEVER = 1 << 30  # more failures than any person has faces


def in_company(
    plan: Plan,
    settings: Settings,
    journal: Journal,
    private: PrivateFolder,
    engine: Engine,
    progress: Progress,
) -> tuple[list[Outcome], None]:
    """All stages; each can be cut off and gone on with."""
    surveyed = survey(plan, settings, private, engine, progress)
    guests, seats = _meet(plan, settings, surveyed, engine, progress)
    made = _rounds(plan, settings, surveyed, guests, seats, engine, progress)
    outcomes = {number: quarantined(plan.jobs[number], reason) for number, reason in surveyed.failed.items()}
    for number, round_ in made.items():
        outcome, data, _ = read_made(guests.folder, round_, number)
        if outcome.status == "quarantined":
            outcome = quarantined(plan.jobs[number], outcome.reason)
        else:
            outcome = replace(outcome, sha256=put(data, plan.jobs[number], plan.state))
        journal.add(outcome)
        outcomes[number] = outcome
    return [outcomes[number] for number in range(len(plan.jobs))], None


def _meet(
    plan: Plan, settings: Settings, surveyed: Surveyed, engine: Engine, progress: Progress
) -> tuple[Guests, list[Seat]]:
    """Who is who, and where everybody begins."""
    folder, method = surveyed.folder, settings.method
    assert isinstance(method, CompanyMethod)
    missing = [item for item in surveyed.photos.items() if not met_file(folder, item[0]).exists()]
    for _ in engine(partial(meet_photo, settings=settings, folder=folder), missing):
        progress("meeting")
    profiles, suitable = _joined(surveyed, method.recognizers)
    secret = _secret(folder, settings.seed)
    nothing = np.zeros((0, 0), np.float32)
    auto = settings.subjects == "auto" and len(surveyed)
    embeddings = surveyed.array("embeddings") if auto else nothing
    names = [job.name for job in plan.jobs]
    subjects = subjects_of(settings.subjects, surveyed.photo_of, names, embeddings)
    guests = Guests(subjects, _models(surveyed, subjects), secret, folder)
    given: tuple[Profile | None, ...] = (None,) * guests.people
    if method.diverse and guests.people:
        from faceveil.pipeline.exchange import exchanged  # brings the groupers along

        given = exchanged(profiles, subjects, rng_for(secret, "\0profiles"))
    hands = hands_for(method, suitable, guests)
    return guests, [
        Seat(int(person), profile=given[person], dealt=hand)
        for person, hand in zip(subjects, hands, strict=True)
    ]


def hands_for(method: CompanyMethod, suitable: list[Ints], guests: Guests) -> list[tuple[int, ...]]:
    """The targets that each face tries first; one person's faces the same where they share one new identity."""
    rng = rng_for(guests.secret, "\0targets")
    if method.diverse:  # profiles are exchanged, so other targets suit, and new faces keep apart in rounds
        return [()] * len(suitable)
    if method.consistent:
        hands = method.deal([suitable[row] for row in guests.models], range(guests.people), rng)
        return [hands[person] for person in guests.subjects]
    return method.deal(suitable, guests.subjects.tolist(), rng)


def _joined(surveyed: Surveyed, names: tuple[str, ...]) -> tuple[NDArray[np.float64], list[Ints]]:
    """Keep all originals' embeddings in one file; the profiles of all faces, and the targets that suit each."""
    embeddings, profiles = [np.zeros((0, len(names), widest(names)), np.float32)], [np.zeros((0, 3))]
    suitable: list[Ints] = []
    for number, about in surveyed.photos.items():
        if about.count:
            with opened(met_file(surveyed.folder, number)) as found:
                embeddings.append(found["embeddings"])
                profiles.append(found["profiles"])
                suitable += np.split(found["suitable"], np.cumsum(found["lengths"])[:-1])
    write_array(surveyed.folder / MET, np.concatenate(embeddings))
    return np.concatenate(profiles), suitable


def _models(surveyed: Surveyed, subjects: Ints) -> Ints:
    """Of each person the row of the largest face."""
    if not len(subjects):
        return np.zeros(0, np.int64)
    boxes = np.array(surveyed.array("boxes"))
    sizes = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    rows = [np.flatnonzero(subjects == person) for person in range(int(subjects.max()) + 1)]
    return np.array([those[sizes[those].argmax()] for those in rows])


def _secret(folder: Path, seed: int | None) -> int:
    """What all draws of this run come from: the seed, or a number that is gone with the private folder."""
    path = folder / SECRET
    if not path.exists():
        secret = secrets.randbits(128) if seed is None else seed
        write_bytes(json.dumps(secret).encode(), path)
    return int(json.loads(path.read_text(encoding="utf-8")))


@dataclass
class Standing:
    """How one person's new face has fared."""

    turn: int = 0
    since: int = -1
    moves: int = 0
    cover: bool = False
    settled: bool = False
    failures: dict[int, int] = field(default_factory=dict)  # turn → faces that found no new one

    def reconsider(self, failed: int, tries: int) -> None:
        """Photos of one person share a target: the first that fails in none, or else the one that fails least."""
        self.failures.setdefault(self.turn, failed)
        if self.cover or self.settled or self.failures[self.turn] == 0:
            self.settled = True
        elif len(self.failures) < tries:
            self.turn = max(self.failures) + 1
        else:
            self.turn = min(self.failures, key=lambda turn: (self.failures[turn], turn))
            self.settled, self.cover = True, self.failures[self.turn] >= NEVER

    def move(self, round_: int, tries: int, consistent: bool) -> None:
        """Away from another's new face: to the next target, or to another draw that knows the new faces."""
        self.moves += 1
        self.since = round_
        if self.moves > MOVES:
            self.cover = True
        elif consistent:
            self.failures[self.turn], self.settled = NEVER, False
            self.reconsider(NEVER, tries)


def _rounds(
    plan: Plan,
    settings: Settings,
    surveyed: Surveyed,
    guests: Guests,
    seats: list[Seat],
    engine: Engine,
    progress: Progress,
) -> dict[int, int]:
    """Of each photo the round whose result is released. A round protects the photos whose seats changed."""
    standings = [Standing() for _ in range(guests.people)]
    made: dict[int, int] = {}
    todo = list(surveyed.photos)
    for round_ in count():
        visits = [
            Visit(
                number, plan.jobs[number], surveyed.photos[number], tuple(seats[surveyed.photos[number].rows])
            )
            for number in todo
            if not made_file(guests.folder, round_, number).exists()
        ]
        for _ in engine(partial(visit, settings=settings, guests=guests, round_=round_), visits):
            progress("protecting" if round_ == 0 else "protecting again")
        made |= dict.fromkeys(todo, round_)
        new = _new_faces(surveyed, guests, made)
        write_array(new_file(guests.folder, round_), new)
        _reconsider(standings, new, guests, settings, round_)
        before, seats = seats, [_seated(seat, standings[seat.person]) for seat in seats]
        moved = {int(n) for n, a, b in zip(surveyed.photo_of, before, seats, strict=True) if a != b}
        todo = [number for number in surveyed.photos if number in moved]
        if not todo:
            break
    return made


def _seated(seat: Seat, standing: Standing) -> Seat:
    return replace(seat, turn=standing.turn, since=standing.since, cover=standing.cover)


def _new_faces(surveyed: Surveyed, guests: Guests, made: dict[int, int]) -> Floats:
    """Of all faces, as far as new ones are there."""
    shape = mapped(guests.folder / MET).shape
    new = np.full(shape, np.nan, np.float32)
    for number, round_ in made.items():
        rows = surveyed.photos[number].rows
        new[rows] = read_made(guests.folder, round_, number)[2]
    return new


def _reconsider(
    standings: list[Standing], new: Floats, guests: Guests, settings: Settings, round_: int
) -> None:
    """What each person does in the next round."""
    method = settings.method
    assert isinstance(method, CompanyMethod)
    if method.consistent:
        failed = np.bincount(guests.subjects, np.isnan(new[:, 0, 0]), guests.people).astype(int)
        for standing, number in zip(standings, failed.tolist(), strict=True):
            standing.reconsider(number, method.tries)
    if method.diverse:
        for person in crowding(new, guests.subjects, method.recognizers, guests.people):
            standings[person].move(round_, method.tries, method.consistent)


def crowding(new: Floats, subjects: Ints, recognizers: tuple[str, ...], people: int) -> list[int]:
    """The people whose new face is nearer than chance to that of somebody who stays."""
    moving: set[int] = set()
    for row in np.argsort(subjects, kind="stable"):
        person = int(subjects[row])
        staying = (subjects < person) & ~np.isin(subjects, list(moving)) & ~np.isnan(new[:, 0, 0])
        if person in moving or np.isnan(new[row, 0, 0]) or not staying.any():
            continue
        if any(
            too_near(name, new[row, column], new[staying, column], people).any()
            for column, name in enumerate(recognizers)
        ):
            moving.add(person)
    return sorted(moving)
