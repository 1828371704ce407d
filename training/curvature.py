"""How steeply the projector's loss curves along W+: python -m training.curvature DATA [--faces 30]

                                                     → src/faceveil/models/data/projector-axes.npz

The loss is a sum of squares: of pixels, of LPIPS' weighted maps, of the recognisers' embeddings. For a random vector
v of unit variance the gradient of v · (what is squared) has the covariance JᵀJ, half of the Gauss-Newton matrix. Some
of these at the encoder's codes of training faces are enough to know each slot's matrix on average. Its
eigenvectors and eigenvalues, in whitened coordinates, are what ships (of a loss that asked MobileFaceNet alone).
"""

import argparse
from collections.abc import Iterator
from functools import cache
from itertools import cycle
from pathlib import Path

import cv2
import numpy as np

from faceveil.models.encoder import Encoder
from faceveil.models.generator import synthesis
from faceveil.models.mobilestylegan import SLOTS
from faceveil.models.projector import FREE, QUARTERS, REFINE, View, look_network, slope_of
from faceveil.models.runtime import Network
from faceveil.models.slope import Slope
from faceveil.models.synthesis import build_graph
from faceveil.models.wspace import DATA, w_space
from faceveil.photos import read_photo
from training.real_faces import SIZE, align, list_faces

SEED = 5
DRAWS = 4  # of v, for each face and view
WHOLE = 0.75  # what the whole at 64 px weighs; a quarter at 256 px weighs the rest


def training_faces(data: Path, set_: str, count: int) -> np.ndarray:
    """One photo each of people who are not held out, drawn by chance."""
    people = {face.person: path for path, face in list_faces(data) if face.set == set_ and not face.held_out}
    crops: list[np.ndarray] = []
    for person in np.random.default_rng(SEED).permutation(sorted(people)):
        photo = read_photo(people[person]).pixels
        if set_ == "ffhq":
            crops.append(cv2.resize(photo, (SIZE, SIZE), interpolation=cv2.INTER_AREA))
        elif found := align(photo):
            crops.append(found[0])
        if len(crops) == count:
            break
    return np.stack(crops)


def sketches(code: np.ndarray, view: View, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Gradients of random sums, 23 × 200 in whitened coordinates.

    The gradient of |f - (f0 - v/2)|² at f0 is that of v · f.
    """
    seen = look_network(view, REFINE)(drawing(view)(code[None])[0])
    for _ in range(DRAWS):
        wanted = [look - rng.standard_normal(look.shape, np.float32) / 2 for look in seen]
        yield slopes(view)(code, wanted)


@cache
def slopes(view: View) -> Slope:
    """In whitened coordinates."""
    basis = w_space().deviations(FREE)
    return slope_of(view, REFINE, False, np.repeat(basis[None], SLOTS, axis=0))


@cache
def drawing(view: View) -> Network:
    return Network(build_graph(synthesis(view.size), view.window))


def curvature(crops: np.ndarray) -> np.ndarray:
    """The mean Gauss-Newton matrix of each slot, 23 × 200 × 200."""
    rng, quarters = np.random.default_rng(SEED), cycle(QUARTERS)
    mean = np.zeros((SLOTS, FREE, FREE), np.float32)
    for number, code in enumerate(Encoder().encode(crops)):
        for view, share in ((View(64), WHOLE), (next(quarters), 1 - WHOLE)):
            for row in sketches(code, view, rng):
                mean += 2 * share / (DRAWS * len(crops)) * row[:, :, None] * row[:, None, :]
        print(f"{number + 1} of {len(crops)}", flush=True)
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--faces", type=int, default=30, help="Of FFHQ, and as many of LFW.")
    options = parser.parse_args()
    crops = np.concatenate([training_faces(options.data, set_, options.faces) for set_ in ("ffhq", "lfw")])
    values, vectors = np.linalg.eigh(curvature(crops))
    np.savez(
        DATA / "projector-axes.npz",
        axes=vectors.transpose(0, 2, 1).astype(np.float16),  # one unit vector per row
        curvature=values.clip(0).astype(np.float32),
    )


if __name__ == "__main__":
    main()
