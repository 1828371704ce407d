"""AnonFACES: group by a recogniser's embedding, mix in the generator's latent space, check, mix again.

M.-H. Le, M. S. N. Khan, G. Tsaloli, N. Carlsson and S. Buchegger, "AnonFACES: anonymizing faces adjusted to
constraints on efficacy and security", WPES 2020.

Each group's face is mixed with random weights (against an attacker who repeats the method) and drawn; the risk
loop (privacy/risk.py) changes the mix until no recogniser at hand takes it for a member. Where faces are put into
photos they also look at it among each member's own hair, ears and chin, where it is more like that member than alone.
A group that stays at risk is broken up: its people are grouped anew with those of other such groups, and what fails
again is refused.

Cost: a render (0.2 s on one core) and one look by each recogniser for every mix, 4 to 6 mixes for most groups; for
photos some 0.1 s more for each face of a group whose mix is safe alone.
Deviations: several photos of a person count once, and all of them are checked; all recognisers are asked, not
only the one that grouped; groups are formed by gender, age and origin as well (`looks`, methods/likeness.py);
default grouper `best` (`hierarchical` is the paper's); mixes look straight ahead, so that they suit all the heads
they are put on, and are no sharper than the members' photos.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from faceveil.errors import UsageError
from faceveil.faces import Alignment, FaceSet
from faceveil.faces.crops import as_face, face_set
from faceveil.faces.face_set import CROP_SIZE
from faceveil.faces.put_in import Member, Seen, put_in
from faceveil.faces.replace import replace_face
from faceveil.grouping import GROUPERS, group
from faceveil.grouping.arrays import as_subjects
from faceveil.methods.joined import codes_of_pictures, seen_of
from faceveil.methods.likeness import LOOKS, beside
from faceveil.methods.method import Release
from faceveil.methods.sets import (
    DEFAULT_K,
    check_k,
    draw,
    find_once,
    k_anonymity,
    no_crops,
    one_each,
    people_in,
    seed_from,
    too_few,
    usual_detail,
)
from faceveil.methods.strangers import margins_of_pool, strangers_like
from faceveil.models.directions import carry_over, look_ahead
from faceveil.models.generator import cores
from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.recognizers import RECOGNIZERS, WATCHING
from faceveil.privacy import Guarantee
from faceveil.privacy.risk import Assessed, Mix, lower_weights, push_away, start_weights
from faceveil.privacy.watch import Watch
from faceveil.spaces.embedding import DEFAULT as DEFAULT_RECOGNIZER
from faceveil.spaces.embedding import EmbeddingSpace
from faceveil.spaces.inversion import check_refinement
from faceveil.spaces.latent import LatentSpace

Keep = Literal["none", "expression", "pose", "background"]
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
STRANGERS = 6  # people who do not exist, towards whom a mix at risk may move
AS_IT_IS = Alignment(np.eye(2, 3), CROP_SIZE)
MARGIN = 0.05  # of the threshold: pasting and compression move a face a little
KEPT = {"pose": "where the own head looks", "expression": "the own smile and the opening of the own mouth"}


@dataclass(frozen=True)
class AnonFaces:
    """`recognizer` groups; `recognizers` watch the result: leave out one to judge with."""

    options: ClassVar[tuple[str, ...]] = (
        "k", "recognizer", "looks", "grouper", "delta", "beta", "budget", "keep", "recognizers", "everyone", "refine",
    )  # fmt: skip
    id: ClassVar[str] = "anonfaces"
    summary: ClassVar[str] = "groups by likeness, a generated mix that no recogniser takes for a member"
    k: int = DEFAULT_K
    recognizer: str = DEFAULT_RECOGNIZER
    looks: float = (
        1.0  # how much gender, age and origin count beside the recogniser; 0: not at all, as in the paper
    )
    grouper: str = "best"
    delta: float = 0.5  # start weights are drawn from (1 − δ, 1 + δ) of their mean
    beta: float = 0.25  # of the mean weight, taken from a member at risk in each round
    budget: int = 8  # rounds
    keep: Keep = "none"
    recognizers: tuple[str, ...] = WATCHING
    everyone: bool = False  # compare with all people of the set, not only with the group's
    refine: int = 0  # steps of gradient descent after the encoder
    paste: str | None = None  # faces are put into photos in this way, and must be safe there

    def __post_init__(self) -> None:
        check_k(self.id, self.k)
        if self.keep not in get_args(Keep):
            raise UsageError(f"anonfaces keeps {', '.join(get_args(Keep))}; {self.keep!r} is not among them.")
        if self.grouper not in GROUPERS:
            raise UsageError(f"no grouper is called {self.grouper!r}; there are {', '.join(GROUPERS)}.")
        unknown = [name for name in (self.recognizer, *self.recognizers) if name not in RECOGNIZERS]
        if unknown:
            raise UsageError(f"no recogniser is named {unknown[0]!r}. There are: {', '.join(RECOGNIZERS)}.")
        if not 0 <= self.looks < np.inf:
            raise UsageError(
                f"anonfaces: looks count 0 times or more beside the recogniser, not {self.looks}."
            )
        if not 0 <= self.delta < 1 or not 0 < self.beta < 1 or self.budget < 0:
            raise UsageError(
                "anonfaces: delta is from 0 to below 1, beta between 0 and 1, budget 0 or more; "
                f"{self.delta}, {self.beta} and {self.budget} came."
            )
        check_refinement(self.refine)

    @property
    def guarantee(self) -> Guarantee:
        """k, unless members keep something of their own."""
        if self.keep not in KEPT:
            return k_anonymity(self.k)
        return Guarantee(
            "none",
            f"No guarantee: at least {self.k} people share an identity, but each keeps {KEPT[self.keep]}, so no two "
            "faces are the same and k-anonymity is not claimed.",
        )

    @property
    def parameters(self) -> dict[str, object]:
        """Everything but the random draws."""
        return {name: getattr(self, name) for name in self.options}

    @property
    def cards(self) -> tuple[str, ...]:
        """Generator, mesh, recognisers, and the classifiers that say who is alike."""
        drawing = (*LatentSpace(self.refine).cards, "facemesh.468", *LOOKS.cards)
        return tuple(dict.fromkeys((*drawing, self.recognizer, *self.recognizers)))

    @property
    def watch(self) -> Watch:
        """Who looks at the result."""
        return Watch(self.recognizers, self.everyone)

    def for_photos(self, paste: str) -> "AnonFaces":
        """The same, for faces that are put into photos, joined with each or identical in all."""
        return replace(self, paste=paste)

    def release(self, faces: FaceSet, rng: np.random.Generator) -> Release:
        """Replace every face by its group's mix; what stays at risk after two groupings is refused."""
        refused = too_few(faces, self.k)
        if refused is not None:
            return refused
        run = _Run(self, faces)
        every = np.arange(len(faces))
        done = run.mix_groups(every, rng)
        failed = _rows_of(done, safe=False)
        if len(failed) and people_in(faces.subjects[failed]) >= self.k:
            # The same groups again would fail again, so those who failed are dealt anew.
            done = [one for one in done if one.mix.safe] + run.mix_groups(failed, rng, "random")
        return run.release(done)


@dataclass(frozen=True, eq=False)
class _Group:
    """The rows of a group, its mix, and how much detail its face may have."""

    rows: Ints
    mix: Mix
    most_detail: float


def _rows_of(groups: Iterable[_Group], safe: bool) -> Ints:
    chosen = [one.rows for one in groups if one.mix.safe == safe]
    return np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)


class _Run:
    """One release: the set, and what its photos look like to each recogniser."""

    def __init__(self, method: AnonFaces, faces: FaceSet) -> None:
        self.method, self.faces = method, faces
        self.latent = LatentSpace(method.refine)
        find_once(self.latent, faces)
        self.looks = LOOKS.encode(faces)
        self._known: dict[str, Floats] = {}
        self._still_seen: dict[int, Seen] = {}
        self._worse_put_in: set[int] = (
            set()
        )  # the first row of groups whose mix was safe alone and not in a photo

    def known(self, name: str) -> Floats:
        """The embeddings of all originals; computed once for each recogniser."""
        if name not in self._known:
            self._known[name] = EmbeddingSpace(name).encode(self.faces)
        return self._known[name]

    def mix_groups(self, rows: Ints, rng: np.random.Generator, grouper: str | None = None) -> list[_Group]:
        """Group these rows and find a safe face for each group, several groups at a time."""
        who = self.faces.subjects[rows].tolist()
        by = beside(self.known(self.method.recognizer)[rows], self.looks[rows], self.method.looks)
        partition = group(by, self.method.k, grouper or self.method.grouper, who, seed_from(rng))
        jobs = [
            (rows[members], draw)
            for members, draw in zip(partition.groups, rng.spawn(len(partition)), strict=True)
        ]
        for name in self.method.recognizers:
            self.known(name)  # before threads ask for it
        with ThreadPoolExecutor(cores()) as pool:
            return list(pool.map(lambda job: self._mix(*job), jobs))

    def _mix(self, rows: Ints, rng: np.random.Generator) -> _Group:
        members = self.faces.take(rows)
        latents = _all_ahead(one_each(self.latent.encode(members), members.subjects))
        weights = start_weights(len(latents), self.method.delta, rng)
        most_detail = usual_detail(members)

        def assess(latent: Floats) -> Assessed:
            return self._assess(latent, rows, most_detail, rows)

        mix = lower_weights(latents, weights, assess, self.method.beta, self.method.budget)
        if not mix.safe:
            margins = margins_of_pool({name: self.known(name)[rows] for name in self.method.recognizers})
            looks = one_each(self.looks[rows], members.subjects)
            mix = push_away(
                mix, _all_ahead(strangers_like(looks, margins, mix.latent, STRANGERS, rng)), assess
            )
        return _Group(rows, mix, most_detail)

    def _assess(self, latent: Floats, rows: Ints, most_detail: float, wearers: Ints) -> Assessed:
        """Draw, find the features, and measure how far beyond each threshold each person is; of a face that is safe
        alone also on those who are to wear it."""
        crop = draw(self.latent, latent, most_detail)
        margins = self._margins(face_set(crop[None]), rows)
        if self.method.paste and not (margins < 0).any():
            worn = self._worn(crop, wearers)
            margins = np.minimum(margins, self._margins(face_set(worn), rows))
            if (margins < 0).any():
                self._worse_put_in.add(int(rows[0]))
        return Assessed(margins, crop)

    def _worn(self, picture: NDArray[np.uint8], rows: Ints) -> NDArray[np.uint8]:
        """Members' own crops with the picture put in, as it will stand in their photos."""
        if self.method.paste == "identical":
            return np.array([self._pasted(picture, row) for row in rows.tolist()])
        code = codes_of_pictures(picture[None])[0].astype(np.float32)
        members = [Member(AS_IT_IS, code, self._seen(row)) for row in rows.tolist()]
        return np.array(
            [put_in(self.faces.crops[row], [one])[0] for row, one in zip(rows.tolist(), members, strict=True)]
        )

    def _pasted(self, picture: NDArray[np.uint8], row: int) -> NDArray[np.uint8]:
        face = as_face(self.faces.points[row], self.faces.meshes[row])
        return replace_face(np.array(self.faces.crops[row]), face, picture, AS_IT_IS)[0]

    def _seen(self, row: int) -> Seen:
        """What will still be seen of a member; found once."""
        if row not in self._still_seen:
            face = as_face(self.faces.points[row], self.faces.meshes[row])
            self._still_seen[row] = seen_of(np.array(self.faces.crops[row]), face, AS_IT_IS)
        return self._still_seen[row]

    def _margins(self, drawn: FaceSet, rows: Ints) -> Floats:
        """How far from each member, and from everyone else if asked, these faces are: the worst of their photos."""
        names, members = self.method.recognizers, np.isin(np.arange(len(self.faces)), rows)
        asked = np.arange(len(self.faces)) if self.method.everyone else rows
        seen = {name: EmbeddingSpace(name).encode(drawn) for name in names}
        known = {name: self.known(name)[asked] for name in names}
        margins = self.method.watch.margins(seen, known, members[asked], MARGIN)
        subjects, inside = self.faces.subjects[asked], members[asked]
        return np.concatenate([_worst(margins[part], subjects[part]) for part in (inside, ~inside)])

    def release(self, groups: list[_Group]) -> Release:
        """Safe groups with their pictures; the others with a reason."""
        labels = np.full(len(self.faces), -1, np.int64)
        pictures = labels.copy()
        crops: list[NDArray[np.uint8]] = []
        reasons: dict[int, str] = {}
        safe = [one for one in groups if one.mix.safe]
        for number, one in enumerate(safe):
            labels[one.rows] = number
            own = self._pictures(one)
            pictures[one.rows] = len(crops) + np.arange(len(one.rows)) % len(own)
            crops += own
        for one in groups:
            if not one.mix.safe:
                reasons.update(dict.fromkeys(one.rows.tolist(), self._reason(one)))
        return Release(
            labels, pictures, np.array(crops, np.uint8) if crops else no_crops(), reasons,
            figures=self._figures(groups),
        )  # fmt: skip

    def _pictures(self, one: _Group) -> list[NDArray[np.uint8]]:
        """The group's picture; with pose or expression kept, one for each face."""
        keep = self.method.keep
        if keep != "pose" and keep != "expression":
            return [one.mix.assessed.picture]
        own = self.latent.encode(self.faces.take(one.rows)).reshape(len(one.rows), SLOTS, -1)
        code = one.mix.latent.reshape(SLOTS, -1)
        drawn = [
            self._assess(carry_over(keep, code, mine).ravel(), one.rows, one.most_detail, one.rows[[row]])
            for row, mine in enumerate(own)
        ]
        # What brings the risk back is not kept: that member gets the group's own picture.
        return [one.mix.assessed.picture if seen.at_risk.any() else seen.picture for seen in drawn]

    def _reason(self, one: _Group) -> str:
        left = int(one.mix.assessed.at_risk.sum())
        names = ", ".join(self.method.recognizers)
        return (
            f"the face of its group is still recognised as {left} of the people it is compared with "
            f"(by {names}); more rounds (budget) or a larger k may help."
        )

    def _figures(self, groups: list[_Group]) -> dict[str, float]:
        mixes = [one.mix for one in groups]
        figures = {
            "groups": float(len(groups)),
            "groups_safe": float(np.mean([mix.safe for mix in mixes])),
            "groups_safe_at_once": float(
                np.mean([mix.safe and mix.rounds == 0 and mix.stranger == 0 for mix in mixes])
            ),
            "groups_pushed_away": float(np.mean([mix.stranger > 0 for mix in mixes])),
            **(
                {"groups_worse_in_photos": len(self._worse_put_in) / len(groups)} if self.method.paste else {}
            ),
            "people_at_risk_at_first": float(np.concatenate([mix.first for mix in mixes]).mean()),
        }
        released = [one for one in groups if one.mix.safe]
        if released:
            name = self.method.recognizer
            crops = np.array([one.mix.assessed.picture for one in released])
            drawn = EmbeddingSpace(name).encode(face_set(crops))
            gaps = [self.known(name)[one.rows] - seen for one, seen in zip(released, drawn, strict=True)]
            figures["information_loss"] = float(np.linalg.norm(np.concatenate(gaps), axis=1).mean())
        return figures


def _all_ahead(latents: Floats) -> Floats:
    """Faces that look straight ahead: beside a turned one its background would show on the heads it is put on."""
    return np.array([look_ahead(one.reshape(SLOTS, -1)).ravel() for one in latents])


def _worst(margins: Floats, subjects: Ints) -> Floats:
    """The smallest margin over each person's photos, in order of first appearance."""
    who = as_subjects(subjects.tolist(), len(subjects))
    worst = np.full(int(who.max(initial=-1)) + 1, np.inf, np.float32)
    np.minimum.at(worst, who, margins)
    return worst


ANONFACES = AnonFaces()
