"""CenterFace: a third opinion for thorough scans, a network that also knows faces which lie on their side.

One pass at full size says for every fourth pixel whether a face has its middle there, how large it is and where its
five points are. Such a pass is dear, so it is no part of a default scan.
"""

from typing import Any

import numpy as np

from faceveil.faces.boxes import best_of_each
from faceveil.faces.face import Face, Image
from faceveil.faces.views import View, tiles
from faceveil.models.prepared import Recipe
from faceveil.models.runtime import Network, once, openvino, read_model

CARD = "centerface.2019"
THRESHOLD = 0.5
STRIDE = 4  # px between the cells of its maps
TILE, OVERLAP, GRID = 1600, 128, 32  # px


def find(image: Image, thorough: bool = False) -> list[Face]:
    """Faces of some 10 px and more, best first; a thorough scan is no other."""
    views = tiles(image, 1.0, longest=TILE, overlap=OVERLAP, grid=GRID)
    faces = [face for view in views for face in _faces_in(view)]
    boxes = np.array([face.box_xyxy for face in faces]).reshape(-1, 4)
    return [faces[i] for i in best_of_each(boxes, np.array([face.score for face in faces]), 0.3)]


def _faces_in(view: View) -> list[Face]:
    heat, size, offset, points = (answer[0] for answer in _network()(view.pixels[None]))
    rows, columns = np.nonzero(heat[0] > THRESHOLD)
    faces = []
    for row, column in zip(rows, columns, strict=True):
        half = np.exp(size[::-1, row, column].astype(np.float64)) * STRIDE / 2
        centre = (np.array([column, row]) + offset[::-1, row, column] + 0.5) * STRIDE
        five = centre - half + points[:, row, column].reshape(5, 2)[:, ::-1] * 2 * half
        box = view.to_photo(np.stack([centre - half, centre + half])).ravel()
        faces.append(Face(box, view.to_photo(five), float(heat[0, row, column]), "centerface"))
    return faces


@once
def _network() -> Network:
    return Network(Recipe(CARD, "", _graph))


def _graph() -> Any:
    """The network for RGB bytes: where faces are, how large, by how much off the cell, and their points."""
    ov = openvino()
    model = read_model(CARD)
    model.reshape([1, 3, -1, -1])
    steps = ov.preprocess.PrePostProcessor(model)
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32)
    return steps.build()
