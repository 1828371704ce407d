"""The step from generated faces to people: python -m training.step_to_people PAIRS

Embeddings of generated faces share a mean that people's do not, so that recognisers see fewer people in them. The
step along the axes of people's codes that leads from the one mean to the other, by `training.control`'s regression,
is the same for every face and tells of nobody. People are those of FFHQ and LFW in PAIRS (`training.real_faces`) that
are not held out; UTKFace's are cut too close. Writes methods/styleid/data/people.npz.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from faceveil.methods.styleid import control
from faceveil.methods.styleid.check import embeddings
from faceveil.methods.styleid.looks import face_in_crop
from faceveil.models.recognizers import WATCHING
from training.measures import LEAST_PRESENCE

SETS = ("ffhq", "lfw")
MOST = 500  # photos of each
SEED = 0
DAMPING = 0.03  # where each recogniser's gap has length 1; a longer step gains nothing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    people = means_of_people(parser.parse_args().pairs)
    step = shortest_step(people)
    np.savez_compressed(control.PEOPLE, step=step.astype(np.float32))
    print(f"{np.linalg.norm(step):.2f} deviations long")


def means_of_people(pairs: Path) -> dict[str, np.ndarray]:
    """The mean embedding by each recogniser, over the means of the sets."""
    records = json.loads((pairs / "real.json").read_text())
    photos, rng = np.load(pairs / "real.npy", mmap_mode="r"), np.random.default_rng(SEED)
    found: dict[str, list[np.ndarray]] = {name: [] for name in WATCHING}
    for set_ in SETS:
        rows = [row for row, one in enumerate(records) if one["set"] == set_ and not one["held_out"]]
        seen = [embedded(np.array(photos[row])) for row in rng.permutation(rows)[:MOST]]
        for name in WATCHING:
            found[name].append(np.mean([one[name] for one in seen if one], axis=0))
    return {name: np.mean(means, axis=0) for name, means in found.items()}


def embedded(crop: np.ndarray) -> dict[str, np.ndarray]:
    """By every recogniser; nothing where no face is seen."""
    face = face_in_crop(crop)
    seen = face.mesh is not None and (face.presence or 0) >= LEAST_PRESENCE
    return embeddings(crop, face, list(WATCHING)) if seen else {}


def shortest_step(people: dict[str, np.ndarray]) -> np.ndarray:
    """Least squares over all recognisers, damped."""
    slopes, gaps = [], []
    for name, (slope, mean) in control.control().identity.items():
        gap = people[name] - mean
        length = np.linalg.norm(gap)
        slopes.append(slope / length)
        gaps.append(gap / length)
    x, y = np.concatenate(slopes, axis=1), np.concatenate(gaps)
    return np.asarray(np.linalg.solve(x @ x.T + DAMPING * np.eye(len(x)), x @ y))


if __name__ == "__main__":
    main()
