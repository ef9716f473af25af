"""Writes a history as a moving picture, and as a page with a slider that needs no network."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgba_array

from slangnb.errors import CallError
from slangnb.views.figure import drawing, page_size, to_png
from slangnb.views.html import alternative_text
from slangnb.views.overlay import data_url, stored_pictures
from slangnb.views.page import render_both
from slangnb.views.snapshots import Frame
from slangnb.views.still import CSS_PIXELS, document, with_dark
from slangnb.views.style import (
    COMPONENTS,
    GRID,
    INK,
    MARK,
    MUTED,
    NEGATIVE,
    NEGATIVE_SOFT,
    POSITIVE,
    POSITIVE_SOFT,
    VALUE,
    VALUE_SOFT,
    colour_map,
)

if TYPE_CHECKING:
    from PIL import Image

_DPI = 96
_MOMENT, _LAST = 120, 1500
#: More pixels than this are no moving picture.
_MOST_PIXELS = 4_000_000

_STYLE = """<style>
.player{display:none;margin-bottom:2em}
.player img:first-child{display:block;max-width:100%;height:auto;border-radius:6px}
.player div{display:flex;gap:1em;align-items:center;margin-top:.5em;font-size:.9em}
.player input{flex:1;max-width:40em}
.player output{font-family:monospace;min-width:9em}
.player button{font:inherit;min-width:5em}
.live .player{display:block}
.live .still{display:none}
</style>"""

_SCRIPT = """<script>
(() => {
  const frames = JSON.parse(document.getElementById("frames").textContent);
  const [img, dark, slider, said, button] = ["img", ".slangnb-dark", "input", "output", "button"].map(
    (kind) => document.querySelector(".player " + kind));
  let timer = 0;
  const draw = () => {
    const frame = frames[+slider.value];
    img.src = frame.light;
    dark.src = frame.dark;
    img.alt = frame.alt;
    said.textContent = "step " + frame.step;
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = "play"; };
  const next = () => {
    if (+slider.value >= frames.length - 1) { stop(); return; }
    slider.value = +slider.value + 1;
    draw();
  };
  slider.addEventListener("input", () => { stop(); draw(); });
  button.addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (+slider.value >= frames.length - 1) { slider.value = 0; draw(); }
    button.textContent = "pause";
    timer = setInterval(next, 150);
  });
  slider.value = frames.length - 1;
  draw();
  document.documentElement.classList.add("live");
})();
</script>"""


def _drawn(frame: Frame) -> bytes:
    return to_png(frame.models, _DPI, title=f"step {frame.step}")


def to_gif(frames: Sequence[Frame]) -> bytes:
    """Draw frames one after the other, as a GIF that starts again at its end.

    Parameters
    ----------
    frames : sequence of Frame
        With limits that all share.

    Returns
    -------
    bytes
        The same frames give the same bytes.

    Raises
    ------
    CallError
        There are no frames, or they are too large.
    """
    from PIL import Image

    if not frames:
        raise CallError("there are no steps to draw", remedy="add steps first")
    wide = max(page_size(frame.models, "step")[0] for frame in frames)
    tall = max(page_size(frame.models, "step")[1] for frame in frames)
    size = round(wide * _DPI), round(tall * _DPI)
    if size[0] * size[1] > _MOST_PIXELS:
        raise CallError(f"a GIF of {size[0]} x {size[1]} pixels is too large", remedy="keep a history of fewer tensors")
    sheets: list[Image.Image] = []
    for frame in frames:
        sheet = Image.new("RGB", size, "#ffffff")
        sheet.paste(Image.open(io.BytesIO(_drawn(frame))).convert("RGB"), (0, 0))
        sheets.append(sheet)
    table = _colour_table(sheets) if _has_colours(frames) else _map_table()
    flat = [sheet.quantize(palette=table, dither=Image.Dither.NONE) for sheet in sheets]
    file = io.BytesIO()
    times = [_MOMENT] * (len(flat) - 1) + [_LAST]
    flat[0].save(
        file, format="GIF", save_all=True, append_images=flat[1:], duration=times, loop=0, optimize=False, disposal=1
    )
    return file.getvalue()


def _has_colours(frames: Sequence[Frame]) -> bool:
    return any(model.value.kind == "rgb" for frame in frames for model in frame.models)


def _map_table() -> Image.Image:
    """Give the colours of both maps, of words and of marks: a scale chosen from what is drawn would lose its steps."""
    from PIL import Image

    inks = [MARK, VALUE, VALUE_SOFT, POSITIVE, POSITIVE_SOFT, NEGATIVE, NEGATIVE_SOFT, *COMPONENTS, MUTED, GRID, INK]
    found = [*to_rgba_array(inks)[:, :3], *(np.linspace(0.05, 1, 22)[:, None] * np.ones(3))]
    for cmap, steps in ((colour_map("value"), 110), (colour_map("gradient"), 109)):
        found += list(np.asarray(cmap(np.linspace(0, 1, steps)))[:, :3])
    colours = (np.array(found) * 255 + 0.5).astype(np.uint8)
    table = Image.new("P", (1, 1))
    table.putpalette(colours.tobytes())
    return table


def _colour_table(sheets: Sequence[Image.Image]) -> Image.Image:
    """Choose one table of colours for all frames: with one each, equal colours would flicker."""
    from PIL import Image

    wide, tall = sheets[0].size
    strip = Image.new("RGB", (wide, 3 * tall))
    for i, place in enumerate((0, len(sheets) // 2, len(sheets) - 1)):
        strip.paste(sheets[place], (0, i * tall))
    return strip.quantize(255)


def page(frames: Sequence[Frame], still: str, title: str) -> str:
    """Write a page with a slider over the frames; without scripts it shows the still picture.

    Parameters
    ----------
    frames : sequence of Frame
    still : str
        The static picture as HTML.
    title : str

    Returns
    -------
    str
        A whole HTML file that loads nothing. The same frames give the same text.
    """
    parts: list[str] = []
    for frame in frames:
        title_ = f"step {frame.step}"
        made = stored_pictures(*render_both(*drawing(frame.models, title_), _DPI))
        light, dark = data_url(made.light), data_url(made.dark)
        said = alternative_text(frame.models, title_)
        parts.append(f'{{"step":{frame.step},"light":"{light}","dark":"{dark}","alt":{_json(said)}}}')
    width = round(max(page_size(frame.models, "step")[0] for frame in frames) * CSS_PIXELS)
    player = (
        f'<section class="player" aria-label="{escape(title)}">'
        f'{with_dark(f"""<img width="{width}" alt="">""", "data:,", width)}'
        f'<div><button type="button">play</button><input type="range" min="0" max="{len(frames) - 1}" step="1" '
        f'value="{len(frames) - 1}" aria-label="step"><output aria-live="polite"></output></div></section>'
    )
    data = f'<script type="application/json" id="frames">[{",".join(parts)}]</script>'
    return document(title, f'{player}<div class="still">{still}</div>{data}{_SCRIPT}', _STYLE)


def _json(text: str) -> str:
    import json

    # "</script>" in a name would end the data.
    return json.dumps(text).replace("<", "\\u003c")
