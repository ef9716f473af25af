"""`show`: what a person calls to see tensors, and what a tensor on the last line of a cell becomes."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

from slangnb.errors import BackendError, CallError
from slangnb.views.beside import beside
from slangnb.views.flow import FlowView, wants_flow
from slangnb.views.pair import PairView
from slangnb.views.source import Source
from slangnb.views.sources import rows, source
from slangnb.views.still import Bundle, StillView

if TYPE_CHECKING:
    from slangnb.views.history import History
    from slangnb.views.scatter import ScatterView

Kind = Literal["pair", "scatter", "flow", "history"]
Entries = list[tuple[str, Any]]
OPTIONS = ("title", "live", "kind", "flow", "gamma", "history", "grads")


@overload
def show(
    *tensors: Any, history: Literal[True], title: str = ..., gamma: float | None = ..., **named: Any
) -> History: ...
@overload
def show(
    *tensors: Any, kind: Literal["history"], title: str = ..., gamma: float | None = ..., **named: Any
) -> History: ...
@overload
def show(*tensors: Any, kind: Literal["scatter"], title: str = ..., grads: Any = ..., **named: Any) -> ScatterView: ...
@overload
def show(*tensors: Any, flow: Literal[True], title: str = ..., grads: Any = ..., **named: Any) -> FlowView: ...
@overload
def show(*tensors: Any, kind: Literal["flow"], title: str = ..., grads: Any = ..., **named: Any) -> FlowView: ...
@overload  # more than four tensors give a FlowView, unless `flow` is False or an option is for pairs alone
def show(
    *tensors: Any,
    title: str = ...,
    live: bool = ...,
    kind: Literal["pair"] | None = ...,
    flow: Literal[False] | None = ...,
    gamma: float | None = ...,
    history: Literal[False] = ...,
    grads: Any = ...,
    **named: Any,
) -> PairView: ...
def show(
    *tensors: Any,
    title: str = "",
    live: bool = False,
    kind: Kind | None = None,
    flow: bool | None = None,
    gamma: float | None = None,
    history: bool = False,
    grads: Any = None,
    **named: Any,
) -> StillView:
    """Show values and their gradients side by side.

    Parameters
    ----------
    *tensors : slangpy.Tensor, slangpy.Texture, Parameter, torch.Tensor, numpy array, number, list, or dict of these
        One row each; a dict, or a tensor of structs, gives a row per field.
    title : str
        Names the row when there is only one; otherwise written above the rows.
    live : bool
        Of a pair view: in JupyterLab, draw again after each cell or callback that may have changed the numbers.
    kind : {"pair", "scatter", "flow", "history"}, optional
        ``"scatter"`` draws the gradient of one tensor over its value.
    flow : bool, optional
        One compact row for each tensor, with norms of value and gradient on one scale. By default for more than four,
        unless `live` or `gamma` is given.
    gamma : float, optional
        Of a pair view or a history: show colours of linear light as a screen does, to the power 1/gamma, as in
        ``gamma=2.2``.
    history : bool
        Keep what is shown at each `.update()`, and show the steps; see `History`.
    grads : optional
        Gradients that are not in the tensors, as `sn.grad` and `sn.value_and_grad` give them: of the only row, or of
        rows by name. Not with `live` or `history`, which read the numbers again.
    **named
        Further rows with their names: `show(height=x)`.

    Returns
    -------
    PairView, FlowView, ScatterView or History
        A notebook shows it when it is the last line of a cell. `.save("x.png")` writes the picture to a file.
        `.update()` of a pair view or a history reads the numbers again.

    Raises
    ------
    CallError
        Nothing was given, something that cannot be drawn, or an option that the view does not take.

    Examples
    --------
    >>> show([9, 23], 2.5)
    tensor 1  int64 (2,)
      value     [9 23]  min 9  max 23  mean 16  norm 24.7
    tensor 2  float64
      value     2.5
    """
    _check(title, live, kind, flow, history)
    _check_names(named, bool(tensors))
    entries, title = _entries(tensors, named, title)
    if grads is not None:
        if live or history or kind == "history":
            raise CallError(
                "grads is drawn once, and this view reads its numbers again",
                remedy="copy the gradient into the tensor's own: x.grad.copy_from_numpy(gradient.to_numpy())",
            )
        entries = beside(entries, grads)
    options = {word: value for word, value in (("live", live or None), ("gamma", gamma)) if value is not None}
    return VIEWS[_chosen(kind, flow, history, options, len(entries))](entries, title, **options)


def _check(title: Any, live: Any, kind: Any, flow: Any, history: Any) -> None:
    """Refuse tensors that took the place of an option: `show(title=x)`."""
    if not isinstance(title, str):
        raise CallError("title is the title, a text", remedy="to name a row 'title', write show({'title': x})")
    for word, value in (("live", live), ("flow", flow), ("history", history)):
        if value is not None and not isinstance(value, bool):
            raise CallError(f"{word} is True or False", remedy=f"to name a row {word!r}, write show({{{word!r}: x}})")
    if kind is not None and (not isinstance(kind, str) or kind not in VIEWS):
        said = repr(kind) if isinstance(kind, str) else f"a {type(kind).__name__}"
        raise CallError(f"kind is {said}, not one of {', '.join(VIEWS)}", remedy="write show(x, kind='scatter')")


def _chosen(kind: Kind | None, flow: bool | None, history: bool, options: Collection[str], count: int) -> Kind:
    """Decide on the view; refuse two at once, and options that it does not take."""
    asked: set[Kind] = {k for k in (kind, "flow" if flow else None, "history" if history else None) if k}
    if len(asked) > 1:
        raise CallError(f"{' and '.join(sorted(asked))} are different views", remedy="ask for one at a time")
    many = wants_flow(count, flow) and all(_takes("flow", word) for word in options)
    chosen = asked.pop() if asked else "flow" if many else "pair"
    for word in options:
        if not _takes(chosen, word):
            others = " or ".join(f"kind={one!r}" for one in VIEWS if _takes(one, word))
            raise CallError(f"a {chosen} view takes no {word}", remedy=f"leave {word} out, or write {others} instead")
    return chosen


def _takes(kind: Kind, option: str) -> bool:
    return option in inspect.signature(VIEWS[kind]).parameters


def _check_names(named: Mapping[str, Any], others: bool) -> None:
    """Refuse options that there are not: what has a name and is no option is a row, but a text is no tensor."""
    for name, thing in named.items():
        close = difflib.get_close_matches(name, OPTIONS, 1, 0.6)
        if isinstance(thing, str) or (close and others and isinstance(thing, bool)):
            meant = f"did you mean {close[0]}? write " if close else f"its options are {', '.join(OPTIONS)}, as in "
            option = f"{close[0]}={thing!r}" if close else "title='x'"
            raise CallError(f"show has no option {name!r}", remedy=f"{meant}show(x, {option})")


def _entries(tensors: tuple[Any, ...], named: Mapping[str, Any], title: str) -> tuple[Entries, str]:
    """Name the rows, and give what is left of the title."""
    single = len(tensors) + len(named) == 1
    entries: Entries = []
    for i, thing in enumerate(tensors):
        # The entries of a lone dict need no prefix.
        default = "" if isinstance(thing, Mapping) and single else "tensor" if single else f"tensor {i + 1}"
        entries += rows(thing, default)
    for name, thing in named.items():
        entries += rows(thing, name)
    if not entries:
        raise CallError("nothing was given to show", remedy="write show(x), or show(height=x) to name the row")
    if single and tensors and title and len(entries) == 1 and not isinstance(tensors[0], Mapping):
        return [(title, entries[0][1])], ""
    return entries, title


def _sources(entries: Entries, gamma: float | None = None) -> list[Source]:
    sources = [source(thing, name) for name, thing in entries]
    if gamma is None:
        return sources
    from slangnb.views.images import LightSource

    return [LightSource(one, gamma) for one in sources]


def _pair(entries: Entries, title: str, live: bool = False, gamma: float | None = None) -> PairView:
    sources = _sources(entries, gamma)
    return PairView([one.model() for one in sources], title, sources, live)


def _scatter(entries: Entries, title: str) -> ScatterView:
    from slangnb.views.scatter import scatter_view

    if len(entries) != 1:
        raise CallError("a scatter shows one tensor", remedy="write show(x, kind='scatter')")
    name, thing = entries[0]
    return scatter_view(thing, f"{title}: {name}" if title else name)


def _flow(entries: Entries, title: str) -> FlowView:
    return FlowView([one.model() for one in _sources(entries)], title)


def _history(entries: Entries, title: str, gamma: float | None = None) -> History:
    from slangnb.views.history import History

    sources = _sources(entries, gamma)
    kept = History(title=title, sources=sources)
    # Not `update`, which would read again what was just read.
    kept.add([one.model() for one in sources])
    return kept


#: What makes each kind of view; its parameters are the options that the view takes.
VIEWS: Mapping[Kind, Callable[..., StillView]] = {
    "pair": _pair,
    "scatter": _scatter,
    "flow": _flow,
    "history": _history,
}


def mimebundle(tensor: Any, include: Collection[str] | None = None, exclude: Collection[str] | None = None) -> Bundle:
    """Give the bundle of a tensor, for IPython's formatters: that of `show(tensor)`.

    What cannot be drawn is answered with text, never with an error: a value on the last line of a cell must
    not fail the cell.

    Parameters
    ----------
    tensor : slangpy.Tensor
    include, exclude : collection of str or None
        MIME types wanted, and not wanted.

    Returns
    -------
    (dict, dict)
        Data and metadata by MIME type.

    Examples
    --------
    >>> import numpy as np
    >>> data, metadata = mimebundle(np.array([1.0, 2.0]))
    >>> sorted(data)
    ['image/png', 'text/html', 'text/plain']
    """
    try:
        view = show(tensor)
    except (CallError, BackendError) as error:
        return {"text/plain": f"tensor, not drawn: {error}"}, {}
    return view._repr_mimebundle_(include, exclude)
