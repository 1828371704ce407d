"""Weights as they ship: what is stored in bytes is read back as what it was."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from faceveil.models.layers import in_bytes, read_weights


@given(arrays(np.float32, (3, 7), elements=st.floats(-1e3, 1e3, width=32)))
def test_a_matrix_in_bytes_is_off_by_half_a_step_of_its_row_at_most(matrix: np.ndarray) -> None:
    stored = in_bytes("m", matrix)
    found = stored["m"] * stored["m.scale"][:, None]
    step = np.abs(matrix).max(axis=1, keepdims=True) / 127
    assert stored["m"].dtype == np.int8
    assert (np.abs(found - matrix) <= 0.501 * step + 1e-9).all()


def test_bytes_and_half_precision_are_read_from_one_file(tmp_path: Path) -> None:
    matrix = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
    np.savez(tmp_path / "weights.npz", bias=np.ones(3, np.float16), **in_bytes("a.weight", matrix))
    found = read_weights(tmp_path / "weights.npz")
    assert set(found) == {"bias", "a.weight"}
    assert all(array.dtype == np.float32 for array in found.values())
    assert np.allclose(found["a.weight"], matrix, atol=0.05)
