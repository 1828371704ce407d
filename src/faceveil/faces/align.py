"""Alignment: a similarity that takes a face from its photo to a square crop, and exactly back.

Two conventions: FFHQ's, which the generator knows, and ArcFace's, which recognisers know.
"""

from collections.abc import Callable
from dataclasses import dataclass

import cv2
import numpy as np

from faceveil.faces.face import Face, Floats, Image

# Right eye, left eye, nose, right and left mouth corner in the 112 × 112 ArcFace crop (a published convention).
ARCFACE_112 = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)


@dataclass(frozen=True, eq=False)
class Alignment:
    """A crop of `size` × `size` px. `to_crop` (2×3) takes photo coordinates, as continuous points, to the crop."""

    to_crop: Floats
    size: int

    @property
    def to_photo(self) -> Floats:
        """The exact inverse of `to_crop`."""
        rotation = np.linalg.inv(self.to_crop[:, :2])
        return np.hstack([rotation, -rotation @ self.to_crop[:, 2:]])

    @property
    def zoom(self) -> float:
        """Pixels of the crop to one pixel of the photo."""
        return float(np.sqrt(abs(np.linalg.det(self.to_crop[:, :2]))))

    def crop(self, image: Image, border: int = cv2.BORDER_REFLECT) -> Image:
        """Cut the face out of its photo; beyond the frame the photo is mirrored, or what OpenCV's `border` says."""
        smaller = min(1.0, self.zoom)
        if smaller < 0.6:  # shrink first, or fine detail would alias
            size = max(1, round(image.shape[1] * smaller)), max(1, round(image.shape[0] * smaller))
            shrunk = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), image.dtype)
            back = np.diag([image.shape[1] / size[0], image.shape[0] / size[1], 1.0])
            return _warp(shrunk, _compose(self.to_crop, back), (self.size, self.size), border)
        return _warp(image, self.to_crop, (self.size, self.size), border)

    def place(self, crop: Image, size_wh: tuple[int, int]) -> Image:
        """The crop where it belongs in a photo of this size; black elsewhere."""
        shrink = 1 / self.zoom
        if shrink < 0.6:
            side = max(1, round(self.size * shrink))
            crop = np.asarray(cv2.resize(crop, (side, side), interpolation=cv2.INTER_AREA), crop.dtype)
            back = np.diag([self.size / side, self.size / side, 1.0])
            return _warp(crop, _compose(self.to_photo, back), size_wh, cv2.BORDER_CONSTANT)
        return _warp(crop, self.to_photo, size_wh, cv2.BORDER_CONSTANT)

    def points_to_crop(self, points: Floats) -> Floats:
        """Points of the photo (…×2) in the crop."""
        return np.asarray(points @ self.to_crop[:, :2].T + self.to_crop[:, 2], np.float64)

    def points_to_photo(self, points: Floats) -> Floats:
        """Points of the crop (…×2) in the photo."""
        matrix = self.to_photo
        return np.asarray(points @ matrix[:, :2].T + matrix[:, 2], np.float64)

    def resized(self, size: int) -> "Alignment":
        """The same cut at another resolution."""
        return Alignment(self.to_crop * (size / self.size), size)


def align_arcface(face: Face, size: int = 112) -> Alignment:
    """The least-squares similarity of the five points to the ArcFace template."""
    return Alignment(similarity(face.points, ARCFACE_112 * (size / 112)), size)


def align_ffhq(face: Face, size: int = 1024) -> Alignment:
    """FFHQ's crop: a square about the eyes and the mouth, turned with the eyes.

    Its half side is the larger of 2 eye distances and 1.8 eye-to-mouth distances.
    """
    right, left, _, mouth_right, mouth_left = face.points
    eyes, mouth = (right + left) / 2, (mouth_right + mouth_left) / 2
    eye_line, down = left - right, mouth - eyes
    axis = eye_line - np.array([-down[1], down[0]])
    length = np.hypot(*axis)
    if length == 0:
        raise ValueError("the five points of this face are all one point")
    axis *= max(2.0 * np.hypot(*eye_line), 1.8 * np.hypot(*down)) / length
    centre = eyes + 0.1 * down
    # Rows of the crop's own axes, scaled so that the half side becomes size / 2.
    rotation = np.array([axis, [-axis[1], axis[0]]]) * (size / 2) / (axis @ axis)
    return Alignment(np.hstack([rotation, (size / 2 - rotation @ centre)[:, None]]), size)


ALIGNMENTS: dict[str, Callable[..., Alignment]] = {"arcface": align_arcface, "ffhq": align_ffhq}


def similarity(points: Floats, targets: Floats) -> Floats:
    """The rotation, scale and shift (2×3) that takes points nearest to targets in the least-squares sense.

    In the plane this is a line in complex numbers, z ↦ a·z + b, and has a closed form; it never mirrors.
    """
    z, w = points @ [1, 1j], targets @ [1, 1j]
    z0, w0 = z.mean(), w.mean()
    spread = np.vdot(z - z0, z - z0).real
    if spread == 0:
        raise ValueError("the points to align are all one point")
    a = np.vdot(z - z0, w - w0) / spread
    b = w0 - a * z0
    return np.array([[a.real, -a.imag, b.real], [a.imag, a.real, b.imag]])


def _compose(matrix: Floats, first: Floats) -> Floats:
    return np.asarray(matrix @ first)


def _warp(image: Image, matrix: Floats, size_wh: tuple[int, int], border: int) -> Image:
    """warpAffine on continuous points: OpenCV puts the middle of pixel 0 at 0, continuous coordinates at ½."""
    shift = matrix.copy()
    shift[:, 2] += matrix[:, :2] @ [0.5, 0.5] - 0.5
    out = cv2.warpAffine(image, shift, size_wh, flags=cv2.INTER_LINEAR, borderMode=border)
    return np.asarray(out, image.dtype)
