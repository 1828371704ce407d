"""What AttrNet is taught and tested with: which face shows what, and who said so.

A target is a row of numbers from 0 to 1, one per output, NaN where nobody knows. They come from

- UTKFace's file names: age, gender, ethnicity;
- labels by eye from contact sheets (one annotator, a vision model): two tables of yes, no, or nothing where it
  was not clear. A face is named there by the SHA-256 of `set/file name`: LFW names its files after people;
- other networks, for what they tell better than can be labelled by eye in bulk: the expression network for smiling,
  the mesh for an open mouth. Both were checked against the hand labels (docs/attributes.md).
"""

import csv
import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faceveil.models.attrnet import Output
from training.real_faces import held_out

ROOT = Path(__file__).parent.parent
TRAINING_LABELS = ROOT / "training" / "attribute_labels.csv"
TEST_LABELS = ROOT / "benchmarks" / "attributes_labels.csv"
UTKFACE_HELD_OUT = 1000

AGES = ((0, "under 18"), (18, "18 to 29"), (30, "30 to 44"), (45, "45 to 59"), (60, "60 and over"))
ETHNICITIES = ("White", "Black", "Asian", "Indian", "other")  # the words of UTKFace, in its order
YES_OR_NO = (
    "glasses", "smiling", "mouth open", "facial hair", "long hair", "bangs", "hat", "makeup", "bald", "eyes closed",
)  # fmt: skip
HAIR = ("black", "brown", "blond", "grey")
OUTPUTS = (
    *(Output(f"age {name}", "age", True) for _, name in AGES),
    Output("female", "", True),
    *(Output(f"ethnicity {name}", "ethnicity", True) for name in ETHNICITIES),
    *(Output(name, "", True) for name in YES_OR_NO),
    *(Output(f"{name} hair", "hair", True) for name in HAIR),
)
COLUMN = {output.label: column for column, output in enumerate(OUTPUTS)}
GROUPS = {
    group: [column for column, output in enumerate(OUTPUTS) if output.group == group]
    for group in ("age", "ethnicity", "hair")
}

Targets = NDArray[np.float32]


def unknown(count: int) -> Targets:
    return np.full((count, len(OUTPUTS)), np.nan, np.float32)


def choose(targets: Targets, label: str) -> None:
    """Set one member of a group, and so the others not."""
    targets[GROUPS[OUTPUTS[COLUMN[label]].group]] = 0
    targets[COLUMN[label]] = 1


def of_utkface(name: str) -> Targets | None:
    """The target in a UTKFace name, age_gender_race_time; None where the name is not whole."""
    words = name.split("_")
    if len(words) != 4 or not all(word.isdigit() for word in words[:3]) or int(words[2]) >= len(ETHNICITIES):
        return None
    age, gender, ethnicity = (int(word) for word in words[:3])
    target = unknown(1)[0]
    choose(target, f"age {[label for start, label in AGES if start <= age][-1]}")
    target[COLUMN["female"]] = gender
    choose(target, f"ethnicity {ETHNICITIES[ethnicity]}")
    return target


def utkface_held_out(names: Iterable[str]) -> set[str]:
    """The photos of UTKFace that are never trained on."""
    return held_out(set(names), UTKFACE_HELD_OUT)


def face_id(set_: str, name: str) -> str:
    return hashlib.sha256(f"{set_}/{name}".encode()).hexdigest()[:12]


def read_labels(path: Path) -> dict[str, Targets]:
    """The targets of a table of hand labels, by face id."""
    found = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            target = unknown(1)[0]
            for label in YES_OR_NO:
                if row[label]:
                    target[COLUMN[label]] = int(row[label])
            if row["hair"]:
                choose(target, f"{row['hair']} hair")
            found[row["face"]] = target
    return found


def from_networks(happy: float, mouth_ratio: float) -> Targets:
    """Targets that other networks are sure of: P(happy), and the lips' distance to the mouth's width."""
    target = unknown(1)[0]
    if not 0.3 < happy < 0.85:
        target[COLUMN["smiling"]] = happy > 0.5
    if not 0.04 < mouth_ratio < 0.11:
        target[COLUMN["mouth open"]] = mouth_ratio > 0.07
    return target
