"""How many elements a thread takes, by backend and size: measured, as data."""

from __future__ import annotations

#: Kernels with fewer threads than this leave parts of the device idle.
LEAST_THREADS = 1 << 14
MOST_THREADS = 65535 * 256


def per_thread(count: int) -> int:
    """Give the number of elements that one thread takes.

    16 was the best, or within a few per cent of it, at 2^22 to 2^26 elements on CUDA, Vulkan and software Vulkan;
    small calls take fewer, so that all of the device works.

    Examples
    --------
    >>> per_thread(1 << 24), per_thread(1 << 15), per_thread(1000)
    (16, 2, 1)
    """
    k = 16
    while k > 1 and count // k < LEAST_THREADS:
        k //= 2
    while -(-count // k) > MOST_THREADS:
        k *= 2
    return k
