"""How well the encoder finds people it never saw: python -m training.evaluate PAIRS WEIGHTS.npz [--faces 60]

Original → full render, both at 256 px: the distance of dlib's recogniser (which took no part in training),
the share under its threshold 0.6, LPIPS (AlexNet). Held-out FFHQ faces and LFW people, one photo of each.
"""

import argparse
from pathlib import Path

import cv2
import numpy as np
import torch

from faceveil.models.generator import Generator
from faceveil.models.recognizers import dlib_chip, recognizer
from faceveil.models.torch.encoder import INPUT_SIZE, Encoder
from faceveil.models.torch.lpips import Lpips
from training.data import RealFaces, to_tensor
from training.encoder import read_weights

SIZE = 256
# Eyes, nose and mouth corners: the mean of YuNet's points on FFHQ.
FFHQ_POINTS = np.array([[0.380, 0.469], [0.619, 0.471], [0.495, 0.616], [0.391, 0.725], [0.605, 0.727]])


def embed(face: np.ndarray) -> np.ndarray:
    """dlib's 128 numbers; its own predictor finds the points near where they lie in an FFHQ crop."""
    return recognizer("dlib-resnet.v1").embed(dlib_chip(face, SIZE * FFHQ_POINTS)[None])[0]


def load_encoder(path: Path) -> Encoder:
    """An encoder with the weights that `encoder.py` wrote."""
    encoder = Encoder().eval().requires_grad_(False)
    encoder.load_state_dict(read_weights(path))
    return encoder


def evaluate(encoder: Encoder, faces: list[np.ndarray]) -> tuple[dict[str, float], list[np.ndarray]]:
    """The figures, and the renders at 256 px."""
    inputs = [cv2.resize(face, (INPUT_SIZE, INPUT_SIZE), interpolation=cv2.INTER_AREA) for face in faces]
    wplus = np.concatenate([encoder(to_tensor([image])).numpy() for image in inputs])
    # 512 px is the full render averaged down, exactly, and cheaper.
    full = Generator().render_each(wplus, 512)
    renders = [cv2.resize(image, (SIZE, SIZE), interpolation=cv2.INTER_AREA) for image in full]
    lpips = Lpips("alexnet")
    pairs = zip(faces, renders, strict=True)
    identity = np.array([np.linalg.norm(embed(face) - embed(render)) for face, render in pairs])
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
