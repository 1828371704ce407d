"""numba, with its cache kept on disk where that is possible.

The first call of a compiled function on a machine compiles it (docs/grouping.md says what that costs); later
processes load it from the cache.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]
F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """Compile without the interpreter lock; arithmetic may be reordered for speed, always the same way."""
    try:
        return cast(F, njit(cache=True, nogil=True, fastmath=True)(function))
    except RuntimeError:  # no folder is writable (read-only container without a home): compile each time
        return cast(F, njit(nogil=True, fastmath=True)(function))


def compiled_exactly(function: F) -> F:
    """As `compiled`, keeping the order of additions and the meaning of infinity."""
    try:
        return cast(F, njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast(F, njit(nogil=True)(function))
