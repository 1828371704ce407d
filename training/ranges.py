"""How large the detector's activations grow: python -m training.ranges DATA [--pictures 60]

                                    → src/faceveil/models/data/yunet.2023mar-ranges.json

In eight bits an activation has 256 steps between its smallest and its largest value, so these must be known before.
They are taken over pictures of one megapixel that are covered with photos of UTKFace, each at another size and
brightness: faces from some 10 to 700 px, hard edges, black and white. None of these photos is in the detector's
benchmark.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from faceveil.models.eight_bits import FOLDER
from faceveil.models.runtime import Network, openvino, read_model
from faceveil.models.yunet import CARD
from faceveil.photos import read_photo

SEED = 8
HEIGHT, WIDTH = 832, 1280
SMALLEST, LARGEST = 24, 1600  # px: the side of a photo in a picture


def picture(photos: list[Path], rng: np.random.Generator) -> np.ndarray:
    """A picture covered with photos, the large ones first."""
    canvas = rng.integers(0, 256, (HEIGHT, WIDTH, 3)).astype(np.uint8)
    sides = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST), 80))
    for side in sorted(sides.astype(int), reverse=True):
        photo = read_photo(photos[rng.integers(len(photos))]).pixels * rng.uniform(0.3, 1.7)
        small = cv2.resize(photo.clip(0, 255), (side, side), interpolation=cv2.INTER_AREA).astype(np.uint8)
        x, y = rng.integers(-side // 2, WIDTH - side // 2), rng.integers(-side // 2, HEIGHT - side // 2)
        part = canvas[max(y, 0) : y + side, max(x, 0) : x + side]
        part[:] = small[max(-y, 0) :, max(-x, 0) :][: part.shape[0], : part.shape[1]]
    return canvas


def watched(model: Any) -> list[Any]:
    """What shall be rounded: results of activations, of sums, and what depthwise convolutions read."""
    ports = []
    for node in model.get_ordered_ops():
        port = node.output(0) if node.get_output_size() else None
        readers = (
            {reader.get_node().get_type_name() for reader in port.get_target_inputs()} if port else set()
        )
        joins = node.get_type_name() == "Add" and {i.get_node().get_type_name() for i in node.input_values()}
        if node.get_type_name() == "Relu" or (joins and "Interpolate" in joins):
            ports.append(port)
        elif joins and readers == {"GroupConvolution"} and port.get_partial_shape()[1].get_length() > 10:
            ports.append(port)  # the narrow ones are heads, which stay as they are
    return ports


def measure(pictures: Iterator[np.ndarray]) -> dict[str, list[float]]:
    """The smallest and largest value of each tensor, by its name."""
    ov = openvino()
    model = read_model(CARD)
    model.reshape([1, 3, HEIGHT, WIDTH])
    ports = watched(model)
    network = Network(ov.Model([ov.opset13.result(port) for port in ports], model.get_parameters()))
    low, high = np.full(len(ports), np.inf), np.full(len(ports), -np.inf)
    for rgb in pictures:
        outputs = network(rgb[None, ..., ::-1].transpose(0, 3, 1, 2).astype(np.float32))
        low = np.minimum(low, [out.min() for out in outputs])
        high = np.maximum(high, [out.max() for out in outputs])
    ranges = {
        min(port.get_names()): [round(float(a), 3), round(float(b), 3)]
        for port, a, b in zip(ports, low, high, strict=True)
    }
    return {"input": [0.0, 255.0], **ranges}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--pictures", type=int, default=60)
    options = parser.parse_args()
    photos = sorted((options.data / "utkface").glob("*.jpg"))
    rng = np.random.default_rng(SEED)
    ranges = measure(picture(photos, rng) for _ in range(options.pictures))
    path = FOLDER / f"{CARD}-ranges.json"
    path.write_text(json.dumps(ranges, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
