"""How many elements a thread takes, by backend and size: measured, as data."""

from __future__ import annotations

from slangnb.errors import CallError
from slangnb.runtime.fused.job import GROUP

#: Fewer threads than this leave parts of the device idle: hardware, and software Vulkan.
LEAST_THREADS, LEAST_THREADS_SOFTWARE = 1 << 16, 1 << 11
#: Elements of a thread, at most, where there are enough.
PER_THREAD = {"cuda": 16, "software": 32}
PER_THREAD_ELSE = 8
#: The same with sums, from so many elements on: each group costs a few more stores and waits.
PER_THREAD_SUMMED, MANY = {"cuda": 32}, 1 << 24
#: On software Vulkan each thread leaves its sums: so many at most, unless a thread takes more elements than this.
MOST_SUMS, MOST_PER_THREAD = 1 << 21, 256
MOST_THREADS = 65535 * GROUP


def per_thread(count: int, backend: str, sums: int = 0) -> int:
    """Give the number of elements that one thread takes.

    Measured at 2^22 to 2^26 elements, on an H100: 16 was the best on CUDA and 8 on Vulkan, or within a few per cent of
    it. On an H200, 2^26 elements took 171, 157 and 146 us with sums and 8, 16 and 32, and 135, 136 and 140 without; to
    read four numbers at once changed nothing. A costly function, such as a row of a neural network, gains from many
    threads: 2^16 calls of one took 5 ms with one each, and 10 ms with four. Software Vulkan is fastest at 32, by a
    third at 2^22 elements: those of a group then take 32 kB, which stay near the processor.

    Parameters
    ----------
    count : int
        Elements of the call.
    backend : str
        The backend's key, as in ``"software"``.
    sums : int
        Numbers that the call sums over all elements.

    Raises
    ------
    CallError
        For more elements than one launch can take.

    Examples
    --------
    >>> per_thread(1 << 24, "cuda"), per_thread(1 << 17, "vulkan"), per_thread(1000, "cuda")
    (16, 2, 1)
    >>> per_thread(1 << 26, "cuda", 4)
    32
    >>> per_thread(1 << 24, "software", 4), per_thread(1 << 24, "software", 100)
    (32, 256)
    """
    if count >= 1 << 32:
        raise CallError(f"{count} elements are too many for one call", remedy="split the data and add the results")
    k = PER_THREAD.get(backend, PER_THREAD_ELSE)
    if sums and count >= MANY:
        k = PER_THREAD_SUMMED.get(backend, k)
    least = LEAST_THREADS_SOFTWARE if backend == "software" else LEAST_THREADS
    while k > 1 and count // k < least:
        k //= 2
    most = min(MOST_PER_THREAD, count // least) if backend == "software" else k
    while 2 * k <= most and count // k * sums > MOST_SUMS:
        k *= 2
    while -(-count // k) > MOST_THREADS:
        k *= 2
    return k


def copies(scalars: int, slots: int) -> int:
    """Give the number of copies of an indexed tensor's gradient that groups, or threads, share.

    Each copy shortens the sums in float and lessens collisions, and costs memory and a read: 16 MB at most.

    Examples
    --------
    >>> copies(4096, 2048), copies(1 << 20, 256), copies(16, 3), copies(3, 1 << 20), copies(1 << 24, 256)
    (1024, 4, 3, 4096, 1)
    """
    return max(1, min(4096, slots, (1 << 22) // scalars))
