"""Networks that read a crop of a face: age, gender as a classifier sees it, expression.

`faces/attributes.py` cuts the crops.
"""

import numpy as np
from numpy.typing import NDArray

from faceveil.models.layers import Node
from faceveil.models.runtime import load, openvino, read_model, with_folded_constants
from faceveil.models.sampling import Square, matrices, resampled

Crop = NDArray[np.uint8]

EXPRESSIONS = ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral")
AGE_SIZE, GENDER_SIZE, EXPRESSION_SIZE = 64, 32, 64
FEMALE = 0  # of the gender network's two outputs (measured on labelled photos)
GREY = (0.299, 0.587, 0.114)  # of red, green, blue
MEAN = np.array([122.782, 117.001, 104.298], np.float32)  # dlib's, of red, green, blue


def age(chip: Crop) -> float:
    """The expected age in years of a 64×64 RGB chip."""
    years = load("age.v1", shape=(1, 3, AGE_SIZE, AGE_SIZE))(_planes(chip))[0][0]
    return float(years @ np.arange(len(years)))


def female(chip: Crop) -> float:
    """The probability that the classifier gives to "female" for a 32×32 RGB chip."""
    return float(load("gender.v1", shape=(1, 3, GENDER_SIZE, GENDER_SIZE))(_planes(chip))[0][0][FEMALE])


def expression(grey: Crop) -> NDArray[np.float32]:
    """Probabilities in the order of EXPRESSIONS, for a 64×64 grey crop."""
    scaled = grey.astype(np.float32)[None, :, :, None] / 127.5 - 1
    return np.asarray(load("expression.fer")(scaled)[0][0], np.float32)


def expression_logits(picture: Node, square: Square) -> Node:
    """What `expression` reads in a square of a picture in [-1, 1] (1 × 3 × size × size), before its softmax."""
    op = openvino().opset13
    kernel = op.constant(np.array(GREY, np.float32).reshape(1, 3, 1, 1))
    grey = op.convolution(picture, kernel, [1, 1], [0, 0], [0, 0], [1, 1])
    crop = resampled(grey, *matrices(square, picture.get_output_shape(0)[-1], EXPRESSION_SIZE))
    model = with_folded_constants(read_model("expression.fer"))
    model.get_parameters()[0].output(0).replace(op.transpose(crop, np.array([0, 2, 3, 1])).output(0))
    softmax = model.get_results()[0].input_value(0).get_node()
    return softmax.input_value(0).get_node()


def _planes(chip: Crop) -> NDArray[np.float32]:
    return np.ascontiguousarray(((chip.astype(np.float32) - MEAN) / 256).transpose(2, 0, 1)[None])
