"""glibc's allocator, told to keep what is freed: gradient descent asks for the same large blocks at every step.

Measured on one core: a step at 128 px takes 0.38 s instead of 0.52 s, at 256 px in batches 0.7 s instead of 1.8 s.
"""

import ctypes

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # names of glibc's malloc.h


def keep_freed_memory() -> None:
    """For programs, not libraries: it holds for the whole process. Does nothing where libc is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, 2**31 - 1)
        mallopt(MMAP_MAX, 0)
