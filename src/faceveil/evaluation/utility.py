"""What is left of a photo's use: likeness, landmarks, pose, attributes, whether a face is still found."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from faceveil.evaluation.acquire import Figures, Looks
from faceveil.evaluation.clusters import Groups, homogeneity
from faceveil.evaluation.fidelity import frechet, ssim
from faceveil.evaluation.intervals import mean_by_person, share_by_person
from faceveil.evaluation.places import scaled
from faceveil.faces import Face, align_ffhq, blendshapes, pose, with_mesh
from faceveil.faces.attributes import attribute_vector, attributes, skin_angle
from faceveil.faces.blendshapes import NAMES, part_errors
from faceveil.models.attributes import EXPRESSIONS
from faceveil.models.attrnet import AttrNet
from faceveil.models.inception import SIZE, inception_features
from faceveil.models.lpips import lpips
from faceveil.models.mobilenetv2 import features

Image = NDArray[np.uint8]
Floats = NDArray[np.float64]

BANDS = (
    (0, 18, "under 18"),
    (18, 30, "18–29"),
    (30, 45, "30–44"),
    (45, 60, "45–59"),
    (60, 200, "60 and over"),
)
TONES = ((41, np.inf, "light"), (10, 41, "medium"), (-np.inf, 10, "dark"))  # typology angle in degrees
CROP = 224  # px of the crop that is compared
LPIPS_CROP = 128
NAN = np.nan


@dataclass(frozen=True)
class Utility:
    """Everything about a pair that is not identity; with FID's own network where its weights are given."""

    inception: Path | None = None

    def of_photo(self, before: Image, after: Image) -> Figures:
        """What is said of the whole picture."""
        figures: Figures = {}
        if min(before.shape[:2]) > 10:
            figures["ssim_photo"] = _row(ssim(before, _like(before, after)))
        if self.inception:
            figures["inception_photo"] = np.stack(
                [inception_features(self.inception, picture) for picture in (before, after)]
            )
        return figures

    def of_face(self, before: Image, after: Image, face: Face, other: Face | None) -> Figures:
        """What is said of one face. NaN: the released face was not found."""
        if after.shape != before.shape:
            other = other and scaled(other, after.shape[1::-1], before.shape[1::-1])
            after = _like(before, after)
        figures = _face_figures(before, after, face, other)
        if self.inception:
            place = align_ffhq(face, SIZE)
            crops = place.crop(before), place.crop(after)
            figures["inception_face"] = np.stack([inception_features(self.inception, crop) for crop in crops])
        return figures


def _like(before: Image, after: Image) -> Image:
    """The released photo in the size of its original."""
    if after.shape == before.shape:
        return after
    return np.asarray(cv2.resize(after, before.shape[1::-1], interpolation=cv2.INTER_AREA), np.uint8)


def _face_figures(before: Image, after: Image, face: Face, other: Face | None) -> Figures:
    place = align_ffhq(face, CROP)
    one, two = place.crop(before), place.crop(after)
    small = [cv2.resize(crop, (LPIPS_CROP, LPIPS_CROP), interpolation=cv2.INTER_AREA) for crop in (one, two)]
    read = [_read(before, face), _read(after, other) if other is not None else np.full(13, NAN, np.float32)]
    drift = NAN
    if other is not None:
        eyes = np.hypot(*(face.points[1] - face.points[0]))
        drift = float(np.hypot(*(face.points - other.points).T).mean() / max(eyes, 1e-9))
    return {
        "ssim_face": _row(ssim(one, two)),
        "lpips": _row(lpips(np.asarray(small[0], np.uint8), np.asarray(small[1], np.uint8))),
        "features": np.stack([features(one), features(two)]),  # of MobileNetV2
        "shown": np.stack([_shown(before, face), _shown(after, other)]),
        "blendshapes": np.stack([_movements(before, face), _movements(after, other)]),
        "read": np.stack(read),  # age, female, seven expressions, yaw, pitch, roll, skin
        "landmarks": _row(drift),
    }


def _row(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def _shown(image: Image, face: Face | None) -> NDArray[np.float32]:
    """AttrNet's labels."""
    labels = AttrNet().labels
    return np.full(len(labels), NAN, np.float32) if face is None else attribute_vector(image, face, labels)


def _movements(image: Image, face: Face | None) -> NDArray[np.float32]:
    return np.full(len(NAMES), NAN, np.float32) if face is None else blendshapes(image, face).values


def _read(image: Image, face: Face) -> NDArray[np.float32]:
    seen, head = attributes(image, face), pose(with_mesh(image, [face])[0])
    turned = head.yaw, head.pitch, head.roll
    return _row(seen.age, seen.female, *seen.expression, *turned, skin_angle(image, face))


@dataclass(frozen=True, eq=False)
class Kept:
    """Per face: whether age (to ten years) and gender were kept, and whether that is known."""

    kept: NDArray[np.bool_]
    known: NDArray[np.bool_]


def kept_attributes(looks: Looks) -> Kept:
    """A face that is no longer found has lost its attributes."""
    read = _table(looks, "read", (2, 13))
    known = np.isfinite(read[:, 0, 0])
    same = (read[:, 0, 1] > 0.5) == (read[:, 1, 1] > 0.5)
    same &= np.abs(read[:, 0, 0] - read[:, 1, 0]) < 10
    return Kept(same & np.isfinite(read[:, 1, 0]), known)


def labels_of(looks: Looks) -> dict[str, list[str | None]]:
    """Groups that the originals themselves tell: age band, gender (as seen), skin tone."""
    read = _table(looks, "read", (2, 13))[:, 0]
    if not np.isfinite(read[:, 0]).any():
        return {}
    return {
        "age": [band(age, BANDS) for age in read[:, 0]],
        "gender": [None if np.isnan(p) else "female" if p > 0.5 else "male" for p in read[:, 1]],
        "skin tone": [band(angle, TONES) for angle in read[:, 12]],
    }


def band(value: float, bands: tuple[tuple[float, float, str], ...]) -> str | None:
    return next((name for low, high, name in bands if low <= value < high), None)


def summarise(looks: Looks, groups: Groups) -> dict[str, Any]:
    """The utility part of the results."""
    person = looks.pairs.person_index
    read = _table(looks, "read", (2, 13))
    known = np.isfinite(read[:, 0, 0])

    def mean(values: Floats) -> Any:
        return mean_by_person(values, person)

    def share(event: NDArray[np.bool_], kept: NDArray[np.bool_]) -> Any:
        return share_by_person(event, person, kept)

    both = np.isfinite(read[:, 1, 0])
    expressions = read[:, :, 2:9].argmax(axis=2)
    moved = _table(looks, "blendshapes", (2, len(NAMES))).swapaxes(0, 1)
    found: dict[str, Any] = {
        "face_still_found": share(both, known),
        "ssim_face": mean(_table(looks, "ssim_face", (1,))[:, 0]),
        "ssim_photo": mean(_table(looks, "ssim_photo", (1,))[:, 0]),
        "lpips_alexnet": mean(_table(looks, "lpips", (1,))[:, 0]),
        "landmark_error_in_eye_distances": mean(_table(looks, "landmarks", (1,))[:, 0]),
        "pose_error_in_degrees": mean(np.abs(_turn(read[:, 0, 9:12] - read[:, 1, 9:12])).mean(axis=1)),
        "age_error_in_years": mean(np.abs(read[:, 0, 0] - read[:, 1, 0])),
        "gender_kept": share(both & ((read[:, 0, 1] > 0.5) == (read[:, 1, 1] > 0.5)), known),
        "labels_kept": _labels_kept(looks, share),
        "expression_kept": share(both & (expressions[:, 0] == expressions[:, 1]), known),
        **{f"expression_error_{part}": mean(gaps) for part, gaps in part_errors(*moved).items()},
        "attribute_distance": mean(np.linalg.norm(_scaled(read[:, 0]) - _scaled(read[:, 1]), axis=1)),
        "frechet_mobilenetv2": _frechet(looks, "features"),
        "fid_inception": _frechet(looks, "inception_photo"),
        "fid_inception_faces": _frechet(looks, "inception_face"),
        "distribution": _distribution(read, known, both),
    }  # fmt: skip
    labels = labels_of(looks)
    found["homogeneity"] = (
        {name: homogeneity(groups, values) for name, values in labels.items()} if labels else {}
    )
    found["label_distance"] = _label_distance(read, groups)
    return found


def _labels_kept(looks: Looks, share: Callable[..., Any]) -> dict[str, Any]:
    """Per label of AttrNet, how often the released face gets the same yes or no; a lost face lost its labels."""
    labels = AttrNet().labels
    shown = _table(looks, "shown", (2, len(labels)))
    known, both = np.isfinite(shown[:, 0, 0]), np.isfinite(shown[:, 1, 0])
    same = (shown[:, 0] > 0.5) == (shown[:, 1] > 0.5)
    return {label: share(both & same[:, column], known) for column, label in enumerate(labels)}


def _turn(degrees: Floats) -> Floats:
    return (degrees + 180) % 360 - 180


def _scaled(read: Floats) -> Floats:
    """Attributes as numbers from 0 to 1, for the attribute distance of StyleID."""
    return np.column_stack([read[:, 0] / 80, read[:, 1:9]])


def _label_distance(read: Floats, groups: Groups) -> float:
    """AV to gAV: the mean distance of a member's attributes to the mean attributes of its group."""
    scaled = _scaled(read[:, 0])
    parts = [
        np.linalg.norm(scaled[rows] - np.nanmean(scaled[rows], axis=0), axis=1) for rows in groups.members
    ]
    return float(np.nanmean(np.concatenate(parts))) if parts else float("nan")


def _distribution(read: Floats, known: NDArray[np.bool_], both: NDArray[np.bool_]) -> dict[str, Any]:
    """Shares of attributes before and after (StyleID, figure 13)."""
    tests: dict[str, Callable[[Floats], NDArray[np.bool_]]] = {
        "young (under 30)": lambda rows: rows[:, 0] < 30,
        "male (as seen)": lambda rows: rows[:, 1] <= 0.5,
        "happy": lambda rows: rows[:, 2:9].argmax(axis=1) == EXPRESSIONS.index("happy"),
    }
    return {
        name: {
            "before": float(test(read[known, 0]).mean()) if known.any() else NAN,
            "after": float(test(read[both, 1]).mean()) if both.any() else NAN,
        }
        for name, test in tests.items()
    }


def _frechet(looks: Looks, name: str) -> float:
    rows = [look.measures[name] for look in looks.looks if name in look.measures]
    if len(rows) < 2:
        return NAN
    stacked = np.stack(rows).astype(np.float64)
    return frechet(stacked[:, 0], stacked[:, 1])


def _table(looks: Looks, name: str, shape: tuple[int, ...]) -> Floats:
    empty = np.full(shape, NAN)
    return np.array([look.measures.get(name, empty) for look in looks.looks], np.float64).reshape(-1, *shape)
