"""Where to write words beside points so that they cover neither one another nor what is drawn. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slangnb.views.measure import Floats

#: To the right, to the left, above, below, and the corners between: the earlier, the better.
_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
_NEAR, _FAR = 0.11, 0.3
_WRONG = 1e6
_MOST_POINTS = 5000
Box = tuple[float, float, float, float]


def place(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    room: tuple[float, float],
    drawn: Floats,
) -> list[tuple[float, float]]:
    """Give the middle of each label, in the units of `points`; the first labels have the first choice.

    Parameters
    ----------
    points : sequence of (x, y)
        What is labelled, in inches from the lower left corner.
    sizes : sequence of (width, height)
        Of the labels.
    room : (width, height)
        Labels stay within it.
    drawn : float64 array (n, 2)
        Points that are better not covered.

    Examples
    --------
    >>> place([(1.0, 1.0), (1.1, 1.0)], [(0.5, 0.2), (0.5, 0.2)], (2.0, 2.0), np.zeros((0, 2)))
    [(1.36, 1.0), (0.74, 1.0)]
    """
    taken: list[Box] = []
    marks = np.array(points, dtype=np.float64).reshape(-1, 2)

    def cost(rank: int, box: Box) -> float:
        found = rank + 3.0 * _covered(box, drawn) + 300.0 * _covered(box, marks)
        return found + _WRONG * sum(_meet(box, other) for other in taken)

    for point, size in zip(points, sizes, strict=True):
        boxes = [_beside(point, size, gap, side, room) for gap in (_NEAR, _FAR) for side in _SIDES]
        taken.append(min(enumerate(boxes), key=lambda numbered: cost(*numbered))[1])
    return [(round((b[0] + b[2]) / 2, 6), round((b[1] + b[3]) / 2, 6)) for b in taken]


def _beside(
    point: tuple[float, float],
    size: tuple[float, float],
    gap: float,
    side: tuple[int, int],
    room: tuple[float, float],
) -> Box:
    x, y = (p + s * (extent / 2 + gap) for p, s, extent in zip(point, side, size, strict=True))
    # Moved into the room where it would be cut.
    x, y = (max(min(p, r - extent / 2), extent / 2) for p, r, extent in zip((x, y), room, size, strict=True))
    return x - size[0] / 2, y - size[1] / 2, x + size[0] / 2, y + size[1] / 2


def along(path: Floats, step: float = 0.05) -> Floats:
    """Give points on the lines between those of a path, that far from each other; without what is not finite.

    Examples
    --------
    >>> along(np.array([[0.0, 0.0], [2.0, 0.0]]), 1.0).tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    """
    kept = path[np.isfinite(path).all(axis=1)]
    if len(kept) < 2:
        return kept
    far = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(kept, axis=0).T))])
    at = np.linspace(0.0, far[-1], min(_MOST_POINTS, int(far[-1] / step) + 1))
    return np.stack([np.interp(at, far, kept[:, i]) for i in (0, 1)], axis=1)


def _covered(box: Box, points: Floats) -> int:
    x, y = points[:, 0], points[:, 1]
    return int(((x > box[0]) & (x < box[2]) & (y > box[1]) & (y < box[3])).sum())


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
