"""A slider through the steps of a history, with playback, made of Jupyter's own widgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slangnb.views.snapshots import Frame

#: Milliseconds between two frames of playback: drawing one takes less.
INTERVAL = 250


def player(frames: Sequence[Frame]) -> Any:
    """Make the widget.

    Parameters
    ----------
    frames : sequence of Frame
        At least one, with limits that all share. Each is drawn when it is first looked at.

    Returns
    -------
    ipywidgets.VBox
        A button, a slider, the number of the step, and the picture.

    Examples
    --------
    >>> import numpy as np
    >>> from slangnb.views import show
    >>> history = show(x=np.array([1.0, 2.0]), history=True)
    >>> play, slider, said = player(history.frames).children[0].children
    >>> said.value
    'step 0'
    """
    import ipywidgets

    from slangnb.views.figure import page_size, to_png
    from slangnb.views.still import picture
    from slangnb.views.text import alternative

    drawn: dict[int, str] = {}
    last = len(frames) - 1
    play = ipywidgets.Play(min=0, max=last, value=last, interval=INTERVAL, tooltip="play the steps")
    slider = ipywidgets.IntSlider(
        min=0, max=last, value=last, description="snapshot", readout=False, layout={"width": "60%"}
    )
    said = ipywidgets.Label()
    shown = ipywidgets.HTML()  # its Image knows no alternative text
    ipywidgets.jslink((play, "value"), (slider, "value"))

    def draw(_change: Any = None) -> None:
        at = slider.value
        frame = frames[at]
        if at not in drawn:
            title = f"step {frame.step}"
            words = "; ".join(alternative(model) for model in frame.models)
            drawn[at] = picture(to_png(frame.models, title=title), words, page_size(frame.models, title)[0])
        shown.value = drawn[at]
        said.value = f"step {frame.step}"

    slider.observe(draw, "value")
    draw()
    return ipywidgets.VBox([ipywidgets.HBox([play, slider, said]), shown])
