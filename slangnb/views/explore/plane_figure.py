"""Draws a function over two ranges: sliders, colours, contours, arrows, and the probe."""

from __future__ import annotations

from slangnb.views.explore import head
from slangnb.views.explore.plane import PlaneModel, readout
from slangnb.views.field_figure import LEFT, box, plot, room
from slangnb.views.page import Drawing, Page
from slangnb.views.style import INK, KEPT, MONO, MUTED, NEGATIVE, PAPER, POSITIVE, for_words

# Inches.
_LINE, _END = 0.22, 0.2
#: Below this width what the probe reads takes two lines.
_NARROW = 4.6


def drawing(model: PlaneModel, title: str = "") -> Drawing:
    """Give the size of the picture, and what draws it."""
    wide, below = room(model.field)
    inner = wide - LEFT - _END
    read = list(zip((f"{name} = {said}" for name, said in readout(model)), _colours(model), strict=False))
    lines = [read] if inner >= _NARROW else [read[:3], read[3:]]
    above = head.TITLE + head.CALL
    first = above + head.tall(len(model.sliders), inner) + 0.16
    top = first + len(lines) * _LINE + 0.12

    def draw(page: Page) -> None:
        head.title(page, title or model.field.name, model.call, LEFT, below=True)
        head.sliders(page, model.sliders, LEFT, above, inner)
        for i, words in enumerate(lines):
            if words:
                head.readout(page, words, LEFT + inner, first + i * _LINE, inner)
        ax = plot(page, model.field, top)
        row, column = divmod(model.probe, len(model.field.x))
        at = model.field.x[column], model.field.y[row]
        # A ring in both inks is seen on all colours.
        for size, ink, width in ((62, INK, 3.0), (62, PAPER, 1.4)):
            ax.scatter(*at, s=size, facecolors="none", edgecolors=ink, lw=width, zorder=8, gid=KEPT, clip_on=False)
        # On the line of the axis' name.
        line = top + box(model.field)[1] + 0.39
        page.text(page.width - _END, line, model.words, size=7.5, family=MONO, color=MUTED, ha="right")

    return (wide, top + below), draw


def _colours(model: PlaneModel) -> list[str]:
    """Give the ink of each number that the probe reads: derivatives in that of their sign."""
    row, column = divmod(model.probe, len(model.field.x))
    slopes = [float(one[row, column]) for one in model.field.gradient or ()]
    signs = [POSITIVE if slope > 0 else NEGATIVE if slope < 0 else MUTED for slope in slopes]
    return [INK, INK, INK, *map(for_words, signs)]
