"""Which axes of a tensor are drawn: one down, one across, a fixed index on each of the others. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from slangnb.errors import CallError
from slangnb.views import reduce
from slangnb.views.reduce import Layout, choose


@dataclass(frozen=True)
class Axes:
    """What of a tensor is drawn.

    Attributes
    ----------
    rows : int or None
        The axis that goes down; None for a line.
    columns : int
        The axis that goes across; 0 where there is no axis at all.
    picks : tuple of int
        The index on each other axis, in the order of the axes.
    component : int or None
        Of a vector type, the component that is drawn; None for all.

    Axes are numbered over the shape of the tensor, then over those of a matrix type. The axis of the components of
    a vector type comes last too, but has no pick: that is `component`.
    """

    rows: int | None
    columns: int
    picks: tuple[int, ...] = ()
    component: int | None = None


@dataclass(frozen=True)
class Arrangement:
    """How an array is drawn by some axes: its axes in a new order, then a layout of what that gives."""

    order: tuple[int, ...]
    layout: Layout


def choosable(shape: tuple[int, ...], element: tuple[int, ...] = ()) -> int:
    """Give the number of axes that have a slider when they are not drawn.

    Examples
    --------
    >>> choosable((8, 64, 64)), choosable((64, 64), (3,)), choosable((5,), (2, 2))
    (3, 2, 3)
    """
    return len(shape) if len(element) == 1 else len(shape) + len(element)


def other_axes(axes: Axes, shape: tuple[int, ...], element: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Give the axes that `axes.picks` belong to.

    Examples
    --------
    >>> other_axes(Axes(1, 3, (4, 2)), (8, 5, 6, 7))
    (0, 2)
    """
    return tuple(i for i in range(choosable(shape, element)) if i not in (axes.rows, axes.columns))


def default_axes(shape: tuple[int, ...], element: tuple[int, ...] = ()) -> Axes:
    """Choose the axes as `reduce.choose` does: the last two, in the middle of the others.

    Examples
    --------
    >>> default_axes((8, 64, 64))
    Axes(rows=1, columns=2, picks=(4,), component=None)
    >>> default_axes((9,), (3,))
    Axes(rows=None, columns=0, picks=(), component=None)
    """
    count = choosable(shape, element)
    whole = shape + element
    if count == 0 and not element:
        return Axes(None, 0)
    if 0 in whole:
        # Nothing is drawn; the axes are those of a tensor that is not empty.
        return default_axes(tuple(max(2, n) for n in shape), tuple(max(2, n) for n in element))
    index = choose(shape, element).index
    free = [i for i, part in enumerate(index) if isinstance(part, slice)]
    if len(element) == 1 and any(i < count for i in free) and not _per_component(shape, element):
        free = [i for i in free if i < count]
    picks = tuple(part for i, part in enumerate(index) if not isinstance(part, slice) and i < count)
    return Axes(free[-2] if len(free) > 1 else None, free[-1], picks)


def _per_component(shape: tuple[int, ...], element: tuple[int, ...]) -> bool:
    """Whether a row of long vectors is drawn as an image, with the components across."""
    return len(shape) == 1 and shape[0] > 1 and element[0] > reduce.MAX_FACETS


def with_pick(axes: Axes, place: int, index: int) -> Axes:
    """Give the axes with another index on one of the axes that are not drawn.

    Examples
    --------
    >>> with_pick(Axes(1, 2, (4,)), 0, 7)
    Axes(rows=1, columns=2, picks=(7,), component=None)
    """
    return replace(axes, picks=(*axes.picks[:place], index, *axes.picks[place + 1 :]))


def swap(axes: Axes) -> Axes:
    """Exchange the axis that goes down and the one that goes across.

    Examples
    --------
    >>> swap(Axes(0, 1))
    Axes(rows=1, columns=0, picks=(), component=None)
    """
    return axes if axes.rows is None else replace(axes, rows=axes.columns, columns=axes.rows)


def with_axis(axes: Axes, role: str, axis: int, shape: tuple[int, ...], element: tuple[int, ...] = ()) -> Axes:
    """Draw another axis down ("rows") or across ("columns"); what was drawn there gets the middle as its pick.

    Where the axis is drawn already, in the other direction, the two are exchanged.

    Examples
    --------
    >>> with_axis(Axes(1, 2, (4,)), "rows", 0, (8, 6, 7))
    Axes(rows=0, columns=2, picks=(3,), component=None)
    """
    if axis == (axes.columns if role == "rows" else axes.rows):
        return swap(axes)
    chosen = replace(axes, rows=axis) if role == "rows" else replace(axes, columns=axis)
    known = dict(zip(other_axes(axes, shape, element), axes.picks, strict=True))
    whole = shape + element
    return replace(chosen, picks=tuple(known.get(i, whole[i] // 2) for i in other_axes(chosen, shape, element)))


def arrange(
    axes: Axes | None, shape: tuple[int, ...], element: tuple[int, ...] = (), *, colour: bool = False
) -> Arrangement:
    """Say how an array of `shape + element` is drawn by some axes; by default as `reduce.choose` says.

    Raises
    ------
    CallError
        There is no such axis, index or component.

    Examples
    --------
    >>> found = arrange(Axes(2, 0, (3,)), (8, 6, 7))
    >>> found.order, found.layout.caption
    ((1, 2, 0), 'slice [:, 3, :] of 6; axis 2 down, axis 0 across')
    """
    whole = shape + element
    if axes is None or 0 in whole or axes == default_axes(shape, element):
        return Arrangement(tuple(range(len(whole))), choose(shape, element, colour=colour))
    _check(axes, shape, element)
    others = other_axes(axes, shape, element)
    drawn = (axes.columns,) if axes.rows is None else (axes.rows, axes.columns)
    across = (slice(None),) * len(drawn)
    said = [_slice_words(axes, shape, element, others)]
    if axes.rows is not None and axes.rows > axes.columns:
        said.append(f"axis {axes.rows} down, axis {axes.columns} across")
    last = len(whole) - 1
    if len(element) != 1 or last in drawn:
        layout = Layout("line" if axes.rows is None else "image", (*axes.picks, *across))
        return Arrangement((*others, *drawn), replace(layout, caption=_join(said)))
    labels = reduce.component_labels(element[0])
    order = (*others, *drawn, last)
    if axes.component is not None:
        said.append(f"component {labels[axes.component]}")
        index = (*axes.picks, *across, axes.component)
        return Arrangement(order, Layout("line" if axes.rows is None else "image", index, (), _join(said)))
    most = reduce.MAX_FACETS
    kept = slice(None) if element[0] <= most else slice(most)
    if axes.rows is not None and colour and element[0] in (3, 4):
        return Arrangement(order, Layout("rgb", (*axes.picks, *across, kept), tuple("rgba"[: element[0]]), _join(said)))
    if element[0] > most:
        said.append(f"components 0 to {most - 1} of {element[0]}")
    kind = "line" if axes.rows is None else "facets"
    return Arrangement(order, Layout(kind, (*axes.picks, *across, kept), labels[:most], _join(said)))


def _slice_words(axes: Axes, shape: tuple[int, ...], element: tuple[int, ...], others: tuple[int, ...]) -> str:
    if not others:
        return ""
    picked = dict(zip(others, axes.picks, strict=True))
    whole = shape + element
    written = ", ".join(str(picked.get(i, ":")) for i in range(choosable(shape, element)))
    sizes = [str(whole[i]) for i in others]
    return f"slice [{written}] of {sizes[0] if len(sizes) == 1 else '(' + ', '.join(sizes) + ')'}"


def _join(parts: list[str]) -> str:
    return "; ".join(part for part in parts if part)


def _check(axes: Axes, shape: tuple[int, ...], element: tuple[int, ...]) -> None:
    whole = shape + element
    drawn = [axes.columns] if axes.rows is None else [axes.rows, axes.columns]
    if len(set(drawn)) < len(drawn) or not all(0 <= i < len(whole) for i in drawn):
        raise CallError(f"axes {drawn} cannot be drawn of a tensor with {len(whole)} axes")
    others = other_axes(axes, shape, element)
    if len(axes.picks) != len(others):
        raise CallError(f"{len(axes.picks)} indices for the {len(others)} axes that are not drawn")
    for axis, pick in zip(others, axes.picks, strict=True):
        if not 0 <= pick < whole[axis]:
            raise CallError(f"axis {axis} has {whole[axis]} elements; there is none at {pick}")
    if axes.component is not None and not (len(element) == 1 and 0 <= axes.component < element[0]):
        raise CallError(f"elements of shape {element} have no component {axes.component}")
