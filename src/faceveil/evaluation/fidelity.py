"""How near pictures are: SSIM of two, the Fréchet distance of two sets of features."""

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Floats = NDArray[np.float64]

SIGMA, WINDOW = 1.5, 11  # of the Gaussian of the paper
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2


def ssim(one: Image, other: Image) -> float:
    """Structural similarity (Wang et al. 2004) of two RGB pictures of one size, on grey; 1 for equal ones."""
    if one.shape != other.shape or min(one.shape[:2]) < WINDOW:
        raise ValueError(
            f"SSIM needs pictures of one size, at least {WINDOW} px; not {one.shape} and {other.shape}"
        )
    x, y = (cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float64) for picture in (one, other))
    mean_x, mean_y = _smooth(x), _smooth(y)
    var_x, var_y = _smooth(x * x) - mean_x**2, _smooth(y * y) - mean_y**2
    both = _smooth(x * y) - mean_x * mean_y
    index = ((2 * mean_x * mean_y + C1) * (2 * both + C2)) / (
        (mean_x**2 + mean_y**2 + C1) * (var_x + var_y + C2)
    )
    return float(index.mean())


def _smooth(grey: Floats) -> Floats:
    """The Gaussian mean at every place where the window lies inside the picture."""
    half = WINDOW // 2
    full = cv2.GaussianBlur(grey, (WINDOW, WINDOW), SIGMA)
    return np.asarray(full[half:-half, half:-half], np.float64)


def frechet(one: Floats, other: Floats) -> float:
    """The Fréchet distance of two sets of features (rows), each taken for a normal distribution."""
    if len(one) < 2 or len(other) < 2:
        return float("nan")
    # With covariances AᵀA and BᵀB the cross term is tr √(AᵀA·BᵀB) = the nuclear norm of A·Bᵀ; the triangular
    # factors of A and B have the same covariances and at most as many rows as there are features.
    a, b = _factor(one), _factor(other)
    cross = np.linalg.svd(a @ b.T, compute_uv=False).sum()
    shift = one.mean(0) - other.mean(0)
    return float(max(0.0, shift @ shift + (a**2).sum() + (b**2).sum() - 2 * cross))


def _factor(rows: Floats) -> Floats:
    centred = (rows - rows.mean(0)) / np.sqrt(len(rows) - 1)
    return np.asarray(np.linalg.qr(centred, mode="r"), np.float64)
