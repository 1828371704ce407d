"""Piecewise-affine warps: a picture moves with the points of a triangulation."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Picture = NDArray[np.float32]
FINE = 4  # binary digits of a pixel in which corners are placed


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles over numbered points; the same for every shape, so that pictures correspond."""

    corners: NDArray[np.int64]  # t × 3

    @classmethod
    def of(cls, points: Points) -> "Triangles":
        """Delaunay's."""
        from scipy.spatial import Delaunay

        return cls(Delaunay(points).simplices.astype(np.int64))

    def sampler(self, target: Points, side: int) -> "Sampler":
        """Find for each pixel of a side × side picture, laid out by `target`, its triangle and its place in it."""
        ids = np.full((side, side), -1, np.int32)
        fixed = np.rint((target - 0.5) * 2**FINE).astype(np.int32)
        for number, corners in enumerate(self.corners):
            cv2.fillConvexPoly(ids, fixed[corners], number, cv2.LINE_8, FINE)
        ids = _without_holes(ids)
        a, b, c = (target[self.corners[:, i]] for i in range(3))
        rows, columns = np.mgrid[:side, :side] + 0.5
        here = np.stack([columns, rows], axis=-1) - a[ids]
        u, v = (b - a)[ids], (c - a)[ids]
        area = u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]
        safe = np.where(np.abs(area) < 1e-9, 1.0, area)
        second = np.where(area == safe, (here[..., 0] * v[..., 1] - here[..., 1] * v[..., 0]) / safe, 0)
        third = np.where(area == safe, (u[..., 0] * here[..., 1] - u[..., 1] * here[..., 0]) / safe, 0)
        return Sampler(self.corners[ids], np.stack([1 - second - third, second, third], axis=-1))


@dataclass(frozen=True, eq=False)
class Sampler:
    """Where each pixel of a picture lies between which three points."""

    corners: NDArray[np.int64]  # side × side × 3
    shares: NDArray[np.float64]  # side × side × 3

    def sample(self, picture: Picture, source: Points) -> Picture:
        """The picture, laid out by `source`, as the target lays it out; beyond its frame it is mirrored."""
        at = np.einsum("yxc,yxcd->yxd", self.shares, source[self.corners]) - 0.5
        x, y = at[..., 0].astype(np.float32), at[..., 1].astype(np.float32)
        return np.asarray(cv2.remap(picture, x, y, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT))


def _without_holes(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """Pixels that no triangle covered take the nearest one's; a folded shape leaves such pixels."""
    if (ids >= 0).all():
        return ids
    from scipy.ndimage import distance_transform_edt

    near = distance_transform_edt(ids < 0, return_distances=False, return_indices=True)
    return np.asarray(ids[tuple(near)])
