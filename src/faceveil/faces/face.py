"""Face: one face in one photo, in the photo's own pixel coordinates."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Image = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Face:
    """One face. Coordinates are pixels of the photo (x to the right, y down) and may lie outside its frame.

    `points` are the person's right eye, left eye, nose tip, right and left corner of the mouth: the right eye
    is the one further left in the picture of an upright face.
    """

    box_xyxy: Floats
    points: Floats
    score: float
    detector: str
    mesh: Floats | None = None  # 468 × 3, depth in the same unit as x and y
    presence: float | None = None  # the mesh network's own opinion that this is a face, 0 to 1

    @property
    def size_wh(self) -> tuple[float, float]:
        """Width and height of the box."""
        x0, y0, x1, y1 = self.box_xyxy
        return float(x1 - x0), float(y1 - y0)

    @property
    def centre(self) -> Floats:
        """The middle of the box."""
        return (self.box_xyxy[:2] + self.box_xyxy[2:]) / 2

    @cached_property
    def roll(self) -> float:
        """Tilt of the line through the eyes in degrees; positive is clockwise in the picture."""
        dx, dy = self.points[1] - self.points[0]
        return float(np.degrees(np.arctan2(dy, dx)))
