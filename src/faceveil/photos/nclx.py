"""Colours that a file names by numbers (nclx, ITU-T H.273) instead of a profile: such numbers made into a profile.

HDR brightness is cut at that of white paper (203 cd/m², BT.2408): what shines brighter becomes white, as on a print.
"""

import struct
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
D65, D50 = (0.3127, 0.3290), np.array([0.9642, 1.0, 0.8249])
# Chromaticities of red, green, blue and white. Those of television with 625 and 525 lines are taken as BT.709's, as
# browsers do.
PRIMARIES = {
    9: ((0.708, 0.292), (0.170, 0.797), (0.131, 0.046), D65),  # BT.2020
    11: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), (0.314, 0.351)),  # DCI-P3
    12: ((0.680, 0.320), (0.265, 0.690), (0.150, 0.060), D65),  # Display P3
}
BT_709 = ((0.640, 0.330), (0.300, 0.600), (0.150, 0.060), D65)
LIKE_709, LIKE_SRGB = (0, 1, 2, 5, 6, 7), (0, 1, 2, 6, 13, 14, 15)
PQ, HLG = 16, 18
PAPER_WHITE, PEAK = 203.0, 10_000.0  # cd/m²
HLG_WHITE = 0.75  # of the signal
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
STEPS = 4096


@lru_cache(maxsize=16)
def profile_of(primaries: int, transfer: int) -> tuple[bytes | None, str | None]:
    """An ICC profile for these numbers (None: they are sRGB's), and a note where they are not known or cut."""
    known = primaries in PRIMARIES or primaries in LIKE_709
    linear = _linear(transfer)
    if not known or linear is None:
        return None, f"its colours (nclx {primaries}, {transfer}) are not known here and taken as sRGB"
    note = "it is HDR: what is brighter than white paper became white" if transfer in (PQ, HLG) else None
    if primaries in LIKE_709 and transfer in LIKE_SRGB:
        return None, None
    return _profile(PRIMARIES.get(primaries, BT_709), linear), note


def _linear(transfer: int) -> Floats | None:
    """Light for each step of the signal, 1 for white; None where the curve is not known."""
    signal = np.linspace(0, 1, STEPS)
    if transfer in LIKE_SRGB:
        return np.where(signal <= 0.04045, signal / 12.92, ((signal + 0.055) / 1.055) ** 2.4)
    if transfer in (4, 5, 8):
        return signal ** {4: 2.2, 5: 2.8, 8: 1.0}[transfer]
    if transfer == PQ:
        power = signal ** (1 / 78.84375)
        light = (np.maximum(power - 0.8359375, 0) / (18.8515625 - 18.6875 * power)) ** (1 / 0.1593017578125)
        return np.minimum(light * PEAK / PAPER_WHITE, 1)
    if transfer == HLG:
        return np.minimum(_hlg(signal) / _hlg(np.array(HLG_WHITE)), 1)
    return None


def _hlg(signal: Floats) -> Floats:
    a, b, c = 0.17883277, 0.28466892, 0.55991073
    bright = (np.exp((np.maximum(signal, 0.5) - c) / a) + b) / 12
    return np.where(signal <= 0.5, signal**2 / 3, bright)


def _profile(colours: tuple[tuple[float, float], ...], linear: Floats) -> bytes:
    """A profile of three colours and one curve (ICC.1:2001-04)."""
    matrix = _to_d50(colours)
    curve = b"curv" + bytes(4) + struct.pack(">I", STEPS) + np.rint(linear * 65535).astype(">u2").tobytes()
    tags = {
        b"wtpt": _xyz(D50), b"rXYZ": _xyz(matrix[:, 0]), b"gXYZ": _xyz(matrix[:, 1]), b"bXYZ": _xyz(matrix[:, 2]),
        b"rTRC": curve, b"gTRC": curve, b"bTRC": curve,
    }  # fmt: skip
    table, body, start = b"", b"", 128 + 4 + 12 * len(tags)
    for name, content in tags.items():
        table += name + struct.pack(">II", start + len(body), len(content))
        body += content
    size = struct.pack(">I", start + len(body))
    head = (
        size + bytes(4) + b"\x02\x40\0\0" + b"mntrRGB XYZ " + bytes(12) + b"acsp" + bytes(28) + _xyz(D50)[8:]
    )
    return head.ljust(128, b"\0") + struct.pack(">I", len(tags)) + table + body


def _xyz(values: Floats) -> bytes:
    return b"XYZ " + bytes(4) + struct.pack(">3i", *(round(float(value) * 65536) for value in values))


def _to_d50(colours: tuple[tuple[float, float], ...]) -> Floats:
    """From linear RGB to XYZ under D50, the light of profiles."""
    xyz = np.array([[x / y, 1.0, (1 - x - y) / y] for x, y in colours]).T
    matrix = xyz[:, :3] * np.linalg.solve(xyz[:, :3], xyz[:, 3])
    there, here = BRADFORD @ xyz[:, 3], BRADFORD @ D50
    return np.asarray(np.linalg.inv(BRADFORD) @ np.diag(here / there) @ BRADFORD @ matrix)
