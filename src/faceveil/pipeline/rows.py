"""Arrays on the disk, written row by row: on a full disk that is an error which says so.

Writing to a memory map of a file with holes would end the process there, without a word.
"""

from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from faceveil.photos.write import cannot_write


class RowsFile:
    """An .npy that grows by rows until it has its shape."""

    def __init__(self, path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
        self._path, self._dtype = path, np.dtype(dtype)
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        try:
            self._file = path.open("wb")
            np.lib.format.write_array_header_1_0(self._file, header)
        except OSError as error:
            raise cannot_write(path, error) from error

    def add(self, rows: NDArray[Any]) -> None:
        """The next rows."""
        try:
            self._file.write(np.ascontiguousarray(rows, self._dtype).data)
        except OSError as error:
            raise cannot_write(self._path, error) from error

    def __enter__(self) -> "RowsFile":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        try:
            self._file.close()
        except OSError as failure:
            if kind is None:
                raise cannot_write(self._path, failure) from failure


def write_array(path: Path, array: NDArray[Any]) -> None:
    """The whole array at once."""
    with RowsFile(path, array.dtype, array.shape) as file:
        file.add(array)
