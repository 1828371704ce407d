"""Recognisers as parts of a graph: what each says of a face in FFHQ's alignment, so that gradients go through it.

The five points lie about alike in every such crop, so a recogniser's own crop has a fixed place in it.
"""

from collections.abc import Callable, Mapping

import numpy as np

from faceveil.models import dlib_resnet, mobilefacenet
from faceveil.models.layers import Node
from faceveil.models.runtime import openvino, read_model
from faceveil.models.sampling import Square, matrices, resampled
from faceveil.models.store import weights

FACELIB, DLIB, MOBILEFACENET = "mobilenet.facelib", "dlib-resnet.v1", "mobilefacenet.facesdk"
# Where dlib's chip lies in an FFHQ crop, from YuNet's mean points on FFHQ: left, top, side.
DLIB_IN_FFHQ: Square = (0.1667, 0.2667, 0.6676)


def embedding(name: str, picture: Node) -> Node:
    """1 × 128, what a recogniser's `embed` gives, of a picture in [-1, 1] (1 × 3 × S × S)."""
    return GRAPHS[name](picture)


def _of_facelib(picture: Node) -> Node:
    return unit(facelib(_arcface(picture)))


def _of_mobilefacenet(picture: Node) -> Node:
    return unit(mobilefacenet.last_layers(_arcface(picture))[1])


def _of_dlib(picture: Node) -> Node:
    op = openvino().opset13
    places = matrices(DLIB_IN_FFHQ, picture.get_output_shape(0)[-1], dlib_resnet.SIZE)
    raw = _times(op.add(resampled(picture, *places), op.constant(np.float32(1))), 127.5)
    return dlib_resnet.embedding(raw, weights(DLIB))


GRAPHS: Mapping[str, Callable[[Node], Node]] = {
    FACELIB: _of_facelib,
    DLIB: _of_dlib,
    MOBILEFACENET: _of_mobilefacenet,
}


def facelib(crop: Node) -> Node:
    """Recogniser A on a crop in [0, 1]; it takes 0 to 255 with channels last."""
    op = openvino().opset13
    model = read_model(FACELIB)
    image = op.transpose(_times(crop, 255.0), np.array([0, 2, 3, 1]))
    model.get_parameters()[0].output(0).replace(image.output(0))
    return model.get_results()[0].input_value(0).get_node()


def unit(x: Node) -> Node:
    """A row of length 1."""
    op = openvino().opset13
    squares = op.reduce_sum(op.multiply(x, x), np.array([1]), True)
    return op.divide(x, op.sqrt(op.add(squares, op.constant(np.float32(1e-12)))))


def _arcface(picture: Node) -> Node:
    """The crop of ArcFace's template, in [0, 1]."""
    op = openvino().opset13
    crop = resampled(picture, *mobilefacenet.arcface_matrices(picture.get_output_shape(0)[-1]))
    return op.add(_times(crop, 0.5), op.constant(np.float32(0.5)))


def _times(x: Node, factor: float) -> Node:
    return openvino().opset13.multiply(x, np.float32(factor))
