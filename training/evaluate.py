"""How well the encoder finds people it never saw: python training/evaluate.py PAIRS WEIGHTS.npz [--faces 60]

Original → full render, both at 256 px: the distance of dlib's recogniser (which took no part in training),
the share under its threshold 0.6, LPIPS (AlexNet). Held-out FFHQ faces and LFW people, one photo of each.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np
import torch
from data import RealFaces, to_tensor

from faceveil.models import weights
from faceveil.models.generator import Generator
from faceveil.models.torch.encoder import INPUT_SIZE, Encoder
from faceveil.models.torch.lpips import Lpips

SIZE = 256
FACE_BOX = (0.22, 0.30, 0.78, 0.86)  # where a detector's box lies in an FFHQ crop


class DlibDistance:
    """The distance of two aligned faces in dlib's 128 dimensions."""

    def __init__(self) -> None:
        import dlib

        self.dlib = dlib
        self.points = dlib.shape_predictor(str(weights("dlib-shape.5")))
        self.network = dlib.face_recognition_model_v1(str(weights("dlib-resnet.v1")))

    def embed(self, face: np.ndarray) -> np.ndarray:
        box = self.dlib.rectangle(*(int(edge * face.shape[0]) for edge in FACE_BOX))
        return np.array(self.network.compute_face_descriptor(face, self.points(face, box)))

    def __call__(self, one: np.ndarray, other: np.ndarray) -> float:
        return float(np.linalg.norm(self.embed(one) - self.embed(other)))


def load_encoder(path: Path) -> Encoder:
    """An encoder with the weights that `encoder.py` wrote."""
    encoder = Encoder().eval().requires_grad_(False)
    with np.load(path) as stored:
        encoder.load_state_dict({name: torch.from_numpy(stored[name]).float() for name in stored})
    return encoder


def evaluate(encoder: Encoder, faces: list[np.ndarray]) -> tuple[dict[str, float], list[np.ndarray]]:
    """The figures, and the renders at 256 px."""
    inputs = [cv2.resize(face, (INPUT_SIZE, INPUT_SIZE), interpolation=cv2.INTER_AREA) for face in faces]
    wplus = np.concatenate([encoder(to_tensor([image])).numpy() for image in inputs])
    full = Generator().render_each(wplus)
    renders = [cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_AREA) for image in full]
    distance, lpips = DlibDistance(), Lpips("alexnet")
    identity = np.array([distance(face, render) for face, render in zip(faces, renders, strict=True)])
    looks = [
        lpips(2 * to_tensor([face]) - 1, 2 * to_tensor([render]) - 1).item()
        for face, render in zip(faces, renders, strict=True)
    ]
    figures = {"dlib": identity.mean(), "under 0.6": (identity < 0.6).mean(), "lpips": np.mean(looks)}
    return {name: float(value) for name, value in figures.items()}, renders


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pairs", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--faces", type=int, default=60)
    parser.add_argument(
        "--sheet", type=Path, help="Also write the first faces above their renders to this PNG."
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder, real = load_encoder(options.weights), RealFaces(options.pairs)
    rows = []
    for name in ("ffhq", "lfw"):
        faces = [np.array(real.images[i]) for i in real.one_of_each(name)[: options.faces]]
        figures, renders = evaluate(encoder, faces)
        shown = "  ".join(f"{key} {value:.3f}" for key, value in figures.items())
        print(f"{name}, {len(faces)} people: {shown}", flush=True)
        rows += [np.hstack(faces[:8]), np.hstack(renders[:8])]
    if options.sheet:
        cv2.imwrite(str(options.sheet), cv2.cvtColor(np.vstack(rows), cv2.COLOR_RGB2BGR))


if __name__ == "__main__":
    main()
