"""Settings: everything that decides what a run does to a photo, and nothing else. They travel to workers."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from faceveil import __version__
from faceveil.errors import UsageError, meant
from faceveil.faces.detect import CARDS, DETECTORS, THOROUGH
from faceveil.methods import CompanyMethod, FaceMethod, Method, method
from faceveil.photos import MAX_PIXELS, name_bytes
from faceveil.photos.metadata import check_keep

RELEASES = ("photos", "crops")
PASTES = ("identical", "joined")
LEFTOVERS = ("quarantine", "cover")
SUBJECTS = ("auto", "folder", "each")  # or a CSV file
SUBJECT_RECOGNIZER = "mobilefacenet.facesdk"  # the most accurate of the three on LFW
SEGMENTER = "selfie.256"  # tells a group's face from what is behind it, where it is put into photos
# What joins a group's face with a photo: generator, what names pixels, and the recogniser that the encoder reads.
JOINING = ["mobilestylegan.ffhq-1024", "bisenet.celebamask", "selfie.multiclass", "mobilefacenet.facesdk"]
SECOND = {
    "yunet": "blazeface",
    "haar": "blazeface",
    "centerface": "blazeface",
    "blazeface": "yunet",
}  # who checks whose work


@dataclass(frozen=True)
class Settings:
    """How each photo is protected. `seed` makes random draws repeatable and is never written anywhere."""

    method: Method = field(default_factory=method)
    detector: str = "yunet"
    thorough: bool = False  # scan longer for small faces
    keep_metadata: tuple[str, ...] = ()  # by name; what is not named is dropped
    max_pixels: int = MAX_PIXELS
    seed: int | None = None
    release: str = "photos"  # or crops: one picture per face
    paste: str = "identical"  # how a group's face is put into photos: identical in all, or drawn with each
    subjects: str = "auto"  # how faces become people; see pipeline/subjects.py
    leftover: str = (
        "quarantine"  # a face that no group takes: its photo is not released, or the face is covered
    )

    def __post_init__(self) -> None:
        if self.detector not in DETECTORS:
            raise UsageError(
                f"no detector {self.detector!r}; there are {', '.join(DETECTORS)}.{meant(self.detector, DETECTORS)}"
            )
        if self.release not in RELEASES:
            raise UsageError(f"no release {self.release!r}; there are {' and '.join(RELEASES)}.")
        if self.paste not in PASTES:
            raise UsageError(f"no paste {self.paste!r}; there are {' and '.join(PASTES)}.")
        if self.leftover not in LEFTOVERS:
            raise UsageError(f"no leftover {self.leftover!r}; there are {' and '.join(LEFTOVERS)}.")
        if self.subjects not in SUBJECTS and not Path(self.subjects).is_file():
            raise UsageError(
                f"no subjects {self.subjects!r}; there are {', '.join(SUBJECTS)}, or the path of a CSV file."
            )
        of_groups = (self.release, self.paste, self.leftover)
        if not self.needs_all_faces and of_groups != ("photos", "identical", "quarantine"):
            raise UsageError(
                f"{self.method.id} works face by face and forms no groups of people; "
                "leave --release, --paste and --leftover out, or give -k."
            )
        if not self.knows_the_set and self.subjects != "auto":
            raise UsageError(
                f"{self.method.id} works face by face and does not ask who is who; "
                "leave --subjects out, or give -k."
            )
        check_keep(self.keep_metadata)

    @property
    def needs_all_faces(self) -> bool:
        """Whether the method takes all faces at once."""
        return not isinstance(self.method, FaceMethod)

    @property
    def joins(self) -> bool:
        """Whether groups' faces are drawn as part of each photo."""
        return self.needs_all_faces and self.release == "photos" and self.paste == "joined"

    @property
    def face_method(self) -> FaceMethod:
        """The method of a run that works face by face; not asked whether it does, which takes long at every face."""
        return cast(FaceMethod, self.method)

    @property
    def needs_company(self) -> bool:
        """Whether the method protects face by face but must know everybody in the set."""
        return isinstance(self.method, CompanyMethod) and self.method.needs_company

    @property
    def knows_the_set(self) -> bool:
        """Whether a run looks at all photos before it changes the first."""
        return self.needs_all_faces or self.needs_company

    @property
    def cards(self) -> list[str]:
        """The weights this run needs."""
        detectors = {self.detector, SECOND[self.detector]}
        if self.thorough:
            detectors |= {THOROUGH[name] for name in detectors & THOROUGH.keys()}
        names = [*(CARDS[name] for name in sorted(detectors)), "facemesh.468"]
        if self.knows_the_set and self.subjects == "auto":
            names.append(SUBJECT_RECOGNIZER)
        if self.needs_all_faces and self.release == "photos":
            names += JOINING if self.joins else [SEGMENTER]
            names += [CARDS["yunet"], CARDS["blazeface"]]  # the two look at every result
        return list(dict.fromkeys([*(name for name in names if name), *self.method.cards]))

    def describe(self) -> dict[str, object]:
        """What may be published about these settings."""
        of_a_set: dict[str, object] = {}
        if self.knows_the_set:
            how = self.subjects if self.subjects in SUBJECTS else "file"
            of_a_set = {"release": self.release, "subjects": how, "leftover": self.leftover}
        if self.needs_all_faces and self.release == "photos":
            of_a_set["paste"] = self.paste
        return {
            "method": self.method.id,
            "parameters": self.method.parameters,
            "detector": self.detector,
            "second_detector": SECOND[self.detector],
            "thorough": self.thorough,
            "kept_metadata": list(self.keep_metadata),
            **of_a_set,
        }

    @property
    def fingerprint(self) -> str:
        """The same for runs that may continue each other."""
        table = "" if self.subjects in SUBJECTS else Path(self.subjects).read_bytes().hex()
        text = json.dumps([__version__, self.describe(), self.max_pixels, table], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def rng_for(seed: int | None, item: str) -> np.random.Generator:
    """Randomness of one item: from the system, or from the seed and the item's name, so that order and engine
    do not matter."""
    if seed is None:
        return np.random.default_rng(secrets.randbits(128))
    digest = hashlib.sha256(name_bytes(f"{seed}\0{item}")).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
