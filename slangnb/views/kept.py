"""Snapshots kept over the steps of a descent, within bounds."""

from __future__ import annotations

from collections.abc import Sequence

from slangnb.errors import CallError
from slangnb.views.model import PairModel
from slangnb.views.snapshots import Frame, Norms, norms, same_tensors, share_limits, size, slim, thin, wanted

#: The curves of norms are drawn from at most so many steps.
MOST_NORMS = 2048


class Kept:
    """Snapshots of the same tensors over steps, bounded in number and in bytes.

    When it is full, every second snapshot is dropped, and from then on only every second one is taken: what is kept
    always spans all steps evenly. The last step is always there.

    Parameters
    ----------
    limit : int
        At most so many snapshots, at least 3.
    limit_bytes : int
        At most so many bytes of them; the first and the last are always kept.

    Attributes
    ----------
    latest : Frame or None
        The last snapshot.
    count : int
        How many were taken, those that were dropped among them.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views.array_source import pair_model
    >>> kept = Kept(limit=4)
    >>> for step in range(9):
    ...     kept.add([pair_model(np.array([3.0, 4.0]), name="x")])
    >>> kept.steps, kept.count, kept.norms[-1].value
    ((0, 4, 8), 9, (5.0,))
    """

    def __init__(self, limit: int = 64, limit_bytes: int = 64 << 20) -> None:
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 3:
            raise CallError(f"a history of {limit!r} snapshots", remedy="keep at least 3, as in Kept(limit=64)")
        if isinstance(limit_bytes, bool) or not isinstance(limit_bytes, int) or limit_bytes < 1:
            raise CallError(f"limit_bytes is {limit_bytes!r}", remedy="give a number of bytes, as in 64 << 20")
        self._limit, self._limit_bytes = limit, limit_bytes
        self.latest: Frame | None = None
        self.count = 0
        self._even: tuple[Frame, ...] = ()
        self._even_norms: tuple[Norms, ...] = ()
        self._last_norms: Norms | None = None
        self._stride, self._norm_stride = 1, 1

    def add(self, models: Sequence[PairModel], step: int | None = None) -> None:
        """Take a snapshot; `step` is its number, by default one more than the last.

        Raises
        ------
        CallError
            There are no tensors, or others than before, or the step is not after the last.
        """
        if not models:
            raise CallError("no tensors were given to keep", remedy="write history.add([model])")
        last = self.latest
        if last is not None and not same_tensors(last.models, models):
            raise CallError(
                "these are not the tensors that the history holds: names and shapes must stay the same",
                remedy="make a History for each set of tensors",
            )
        number = step if step is not None else 0 if last is None else last.step + 1
        if last is not None and number <= last.step:
            raise CallError(f"step {number} does not come after step {last.step}", remedy="add steps in their order")
        self.latest = Frame(number, tuple(slim(model) for model in models))
        self._last_norms = norms(number, models)
        if wanted(self.count, self._stride):
            self._even = (*self._even, self.latest)
        if wanted(self.count, self._norm_stride):
            self._even_norms = (*self._even_norms, self._last_norms)
        self.count += 1
        # The last one, where it is not one of those kept, needs a place too.
        while len(self._even) > 2 and (len(self.snapshots) > self._limit or self.nbytes > self._limit_bytes):
            self._even, self._stride = thin(self._even), 2 * self._stride
        if len(self._even_norms) > MOST_NORMS:
            self._even_norms, self._norm_stride = thin(self._even_norms), 2 * self._norm_stride

    @property
    def snapshots(self) -> tuple[Frame, ...]:
        """What is kept, the last among them, as it was taken."""
        if self.latest is None or self._even[-1].step == self.latest.step:
            return self._even
        return (*self._even, self.latest)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps that are kept, the last among them."""
        return tuple(frame.step for frame in self.snapshots)

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The snapshots, with limits that all of them share."""
        return share_limits(self.snapshots)

    @property
    def norms(self) -> tuple[Norms, ...]:
        """The norms over the steps, up to the last."""
        last = self._last_norms
        if last is None or self._even_norms[-1].step == last.step:
            return self._even_norms
        return (*self._even_norms, last)

    @property
    def nbytes(self) -> int:
        """Bytes of all snapshots."""
        return sum(size(frame.models) for frame in self.snapshots)
