"""A square of a picture, sampled anew within a graph: crop = rows @ picture @ columns.T."""

import numpy as np

from faceveil.models.layers import Node
from faceveil.models.mobilestylegan import Floats
from faceveil.models.runtime import openvino

Square = tuple[float, float, float]  # left, top and side, in sides of the picture


def matrices(square: Square, size: int, samples: int) -> tuple[Floats, Floats]:
    """Of rows and columns, samples × size: which two pixels each sample lies between, and how near to each."""
    left, top, side = square
    rows, columns = (
        np.maximum(0, 1 - np.abs(places[:, None] - np.arange(size)[None])).astype(np.float32)
        for places in (
            (start + side * (np.arange(samples) + 0.5) / samples) * size - 0.5 for start in (top, left)
        )
    )
    return rows, columns


def resampled(picture: Node, rows: Floats, columns: Floats) -> Node:
    """What the matrices take of it, bilinearly."""
    op = openvino().opset13
    return op.matmul(op.matmul(op.constant(rows), picture, False, False), op.constant(columns), False, True)
