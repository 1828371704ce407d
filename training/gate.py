"""Where the detector should look at full size: python -m training.gate DATA [--scenes 600]

                                    → src/faceveil/models/data/yunet.2023mar-gate.npz

YuNet's pass over the half-size photo overlooks many faces under 24 px, but its maps know where they may be. Three
small convolutions learn to read that from them: wanted is what the pass at full size, which they save, proposes where
a face was put. Scenes are made of photos of LFW, UTKFace and portraits that the detector's benchmark does not use, on
noise, clutter, writing and the borders of LFW's photos.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from benchmarks.scenes import put
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from faceveil.faces.boxes import iou
from faceveil.faces.yunet import PROPOSE, cells_of, find
from faceveil.models.eight_bits import FOLDER
from faceveil.models.runtime import Network, openvino
from faceveil.models.yunet import GATE, GATE_READS, for_bytes, graph, tensor, yunet
from faceveil.photos import read_photo
from training.taught import gate_photos, photos_of

SEED, WIDTH, HEIGHT = 8, 1216, 832
CELL = 16  # px of the photo between the cells that the gate answers for
SMALLEST, LARGEST, WANTED = 11, 60, 44  # px: faces put into scenes; those from 44 on are found at half size
HIDDEN, BATCH, ROUNDS, RATE, WEIGHT = 16, 8, 24, 4e-3, 20.0  # a face weighs as much as 20 other cells
HELD_OUT = 60  # scenes
LOST = (0.001, 0.0025, 0.005, 0.01)  # of the faces that the full pass proposes


@dataclass(frozen=True, eq=False)
class Head:
    """A photo of one head, and the box of its face."""

    pixels: np.ndarray
    box: np.ndarray


@dataclass(frozen=True, eq=False)
class Example:
    """What the half-size pass sees of a scene, and where the full pass found the faces that were put there."""

    maps: np.ndarray  # channels × rows × columns
    faces: np.ndarray  # N × 3: x, y, width
    seen: np.ndarray  # which of them the half-size pass proposes itself
    unsure: np.ndarray  # rows × columns: neither right nor wrong


def heads(data: Path) -> tuple[list[Head], list[np.ndarray]]:
    """Heads for scenes, and photos whose borders make grounds."""
    lfw, others = gate_photos(photos_of(data))
    found = []
    for path in [*lfw, *others]:
        pixels = read_photo(path).pixels
        if faces := find(pixels):
            found.append(Head(pixels, max(faces, key=lambda face: face.size_wh[0]).box_xyxy))
    return found, [read_photo(path).pixels for path in lfw]


def scene(
    rng: np.random.Generator, heads: list[Head], photos: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """A picture, and N × 4 of x, y, width and height of the faces in it."""
    image = [noise, clutter, borders, borders][rng.integers(4)](rng, photos)
    taken, faces = np.zeros((HEIGHT, WIDTH), bool), []
    for _ in range(rng.integers(8, 20)):
        head = heads[rng.integers(len(heads))]
        size = float(np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST))))
        reach = 1.3 * size
        x, y = rng.uniform(reach, WIDTH - reach), rng.uniform(reach, HEIGHT - reach)
        window = slice(int(y - reach), int(y + reach) + 1), slice(int(x - reach), int(x + reach) + 1)
        if taken[window].any():
            continue
        taken[window] = True
        tilt = float(rng.uniform(-45, 45)) if rng.random() < 0.5 else 0.0
        lit = np.clip(head.pixels * rng.uniform(0.4, 1.3), 0, 255).astype(np.uint8)
        corner = np.array([window[1].start, window[0].start])
        image[window] = put(image[window], lit, head.box, *([x, y] - corner), size, tilt)
        faces.append([x, y, size, size * float(np.divide(*(head.box[2:] - head.box[:2])[::-1]))])
    return spoilt(rng, image), np.array(faces).reshape(-1, 4)


def noise(rng: np.random.Generator, photos: list[np.ndarray]) -> np.ndarray:
    """Smooth textures, coarse and fine, grey and coloured."""
    texture, steep = np.zeros((HEIGHT, WIDTH, 3), np.float32), rng.uniform(0.6, 1.6)
    channels = rng.choice([1, 3])
    for octave in range(2, rng.integers(6, 10)):
        values = rng.normal(size=(2**octave, 2**octave, channels)).astype(np.float32)
        texture += cv2.resize(values, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC).reshape(
            HEIGHT, WIDTH, channels
        ) / 2 ** (steep * octave)
    texture *= rng.uniform(15, 60) / texture.std()
    return np.clip(texture + rng.uniform(60, 190, 3), 0, 255).astype(np.uint8)


def clutter(rng: np.random.Generator, photos: list[np.ndarray]) -> np.ndarray:
    """Boxes, lines, ellipses and letters of any colour."""
    image = np.full((HEIGHT, WIDTH, 3), rng.integers(30, 230, 3), np.uint8)
    for _ in range(rng.integers(40, 300)):
        (x, y), (x2, y2) = rng.integers(0, [WIDTH, HEIGHT], (2, 2)).tolist()
        colour, kind = rng.integers(0, 255, 3).tolist(), rng.integers(4)
        wide, high = rng.integers(4, 120, 2).tolist()
        if kind == 0:
            cv2.rectangle(image, (x, y), (x + wide, y + high), colour, -1)
        elif kind == 1:
            cv2.line(image, (x, y), (x2, y2), colour, int(rng.integers(1, 10)))
        elif kind == 2:
            cv2.ellipse(image, ((x, y), (wide, high), float(rng.uniform(0, 180))), colour, -1)
        else:
            word = "".join(map(chr, rng.integers(48, 123, 6)))
            cv2.putText(image, word, (x, y), int(rng.integers(5)), wide / 50, colour, int(rng.integers(1, 4)))
    return cv2.GaussianBlur(image, (0, 0), float(rng.uniform(0.5, 2)))


def borders(rng: np.random.Generator, photos: list[np.ndarray]) -> np.ndarray:
    """What is beside the faces in photos, side by side at one size."""
    image, side = np.zeros((HEIGHT, WIDTH, 3), np.uint8), int(np.exp(rng.uniform(np.log(40), np.log(420))))
    for y in range(0, HEIGHT, side):
        for x in range(0, WIDTH, side):
            photo = photos[rng.integers(len(photos))]
            strip = [photo[:, :55], photo[:, -55:], photo[:38].transpose(1, 0, 2)][rng.integers(3)]
            part = np.ascontiguousarray(strip[rng.integers(0, 100) :][: rng.integers(55, 150)])
            how = cv2.INTER_CUBIC if side > 100 else cv2.INTER_AREA
            image[y : y + side, x : x + side] = cv2.resize(part, (side, side), interpolation=how)[
                : HEIGHT - y, : WIDTH - x
            ]
    return image


def spoilt(rng: np.random.Generator, image: np.ndarray) -> np.ndarray:
    """Some pictures are blurred, some grainy, half of them were JPEGs."""
    if rng.random() < 0.3:
        image = cv2.GaussianBlur(image, (0, 0), float(rng.uniform(0.4, 1)))
    if rng.random() < 0.3:
        image = np.clip(image + rng.normal(0, rng.uniform(1, 8), image.shape), 0, 255).astype(np.uint8)
    if rng.random() < 0.5:
        image = cv2.imdecode(cv2.imencode(".jpg", image, [1, int(rng.integers(50, 95))])[1], 1)
    return image


class Teacher:
    """Both passes of the detector, in eight bits as they are used."""

    def __init__(self) -> None:
        model = graph().clone()
        self.maps = Network(
            for_bytes(model, [openvino().opset13.result(tensor(model, GATE_READS))], 1, -1, True)
        )
        self.proposer = yunet(("cls", "obj", "bbox"), eight_bits=True)

    def example(self, image: np.ndarray, faces: np.ndarray) -> Example:
        """What there is to learn from a scene."""
        half = cv2.resize(image, (WIDTH // 2, HEIGHT // 2), interpolation=cv2.INTER_AREA)
        at_full, at_half = self._proposed(image), 2 * self._proposed(half)
        boxes = np.hstack([faces[:, :2] - faces[:, 2:] / 2, faces[:, :2] + faces[:, 2:] / 2])
        proposed = _hit(boxes, at_full)
        unsure = np.zeros((HEIGHT // CELL, WIDTH // CELL), bool)
        for box in [*boxes, *at_full]:
            _around(unsure, (box[:2] + box[2:]) / 2, 1.3 * CELL + (box[2] - box[0]) / 2)
        maps = self.maps(half[None])[0][0].astype(np.float16)
        return Example(maps, faces[proposed, :3], _hit(boxes[proposed], at_half), unsure)

    def _proposed(self, image: np.ndarray) -> np.ndarray:
        return cells_of(self.proposer(image[None]), PROPOSE[False]).boxes


def _hit(boxes: np.ndarray, proposed: np.ndarray) -> np.ndarray:
    return iou(boxes, proposed).max(axis=1, initial=0) > 0.35


def _around(cells: np.ndarray, centre: np.ndarray, reach: float) -> None:
    """Mark the cells whose middle lies within reach."""
    x0, y0 = np.maximum(0, np.ceil((centre - reach) / CELL - 0.5)).astype(int)
    x1, y1 = np.floor((centre + reach) / CELL - 0.5).astype(int)
    cells[y0 : y1 + 1, x0 : x1 + 1] = True


def right(example: Example) -> np.ndarray:
    """The cells around whose middle a wanted face has its own."""
    cells = np.zeros_like(example.unsure)
    for x, y, width in example.faces:
        if width < WANTED:
            _around(cells, np.array([x, y]), 0.55 * CELL)
    return cells


def train(examples: list[Example]) -> nn.Sequential:
    """The gate, from these scenes."""
    gate = nn.Sequential(
        nn.Conv2d(len(examples[0].maps), HIDDEN, 1),
        nn.ReLU(),
        nn.Conv2d(HIDDEN, HIDDEN, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(HIDDEN, 1, 1),
    )
    maps = torch.from_numpy(np.stack([example.maps for example in examples]))
    wanted = torch.from_numpy(np.stack([right(example) for example in examples]))
    counted = wanted | ~torch.from_numpy(np.stack([example.unsure for example in examples]))
    steps = ROUNDS * len(examples) // BATCH
    optimiser = torch.optim.AdamW(gate.parameters(), RATE, weight_decay=1e-3)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, steps)
    for step in range(steps):
        chosen = torch.randint(len(examples), (BATCH,))
        loss = _loss(gate(maps[chosen].float())[:, 0], wanted[chosen], counted[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        rate.step()
        if step % 50 == 0:
            print(f"step {step} of {steps}: {loss.item():.2f}", flush=True)
    return gate


def _loss(logits: Tensor, wanted: Tensor, counted: Tensor) -> Tensor:
    each = binary_cross_entropy_with_logits(
        logits, wanted.float(), pos_weight=torch.tensor(WEIGHT), reduction="none"
    )
    return (each * counted).sum() / (wanted.sum() + 1)


@torch.no_grad()
def report(gate: nn.Sequential, examples: list[Example]) -> None:
    """Thresholds, what they lose of the full pass's faces, and how many cells pass away from faces."""
    found, elsewhere = [], []
    for example in examples:
        logits = gate(torch.from_numpy(example.maps).float()[None])[0, 0].numpy()
        elsewhere.append(logits[~example.unsure])
        for (x, y, _), seen in zip(example.faces, example.seen, strict=True):
            row, column = int(y / CELL), int(x / CELL)
            near = logits[max(row - 1, 0) : row + 2, max(column - 1, 0) : column + 2].max()
            found.append(np.inf if seen else near)
    print(
        f"{len(found)} faces of the full pass, {np.isfinite(found).sum()} of them not proposed at half size"
    )
    for lost in LOST:
        threshold = np.quantile(found, lost, method="lower")
        cells = np.mean([(part > threshold).sum() for part in elsewhere])
        print(f"lost {lost:.2%}: threshold {threshold:.2f}, {cells:.0f} cells of a scene beside its faces")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--scenes", type=int, default=600)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    people, photos = heads(options.data)
    teacher = Teacher()
    examples = [
        teacher.example(*scene(np.random.default_rng([SEED, n]), people, photos))
        for n in range(options.scenes + HELD_OUT)
    ]
    gate = train(examples[HELD_OUT:])
    report(gate, examples[:HELD_OUT])
    layers = [layer for layer in gate if isinstance(layer, nn.Conv2d)]
    arrays = {f"weight{n}": layer.weight.detach().numpy() for n, layer in enumerate(layers)}
    arrays |= {f"bias{n}": layer.bias.detach().numpy() for n, layer in enumerate(layers)}
    np.savez(FOLDER / GATE, **arrays)


if __name__ == "__main__":
    main()
