"""SlangPy textures as arrays of numbers."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from slangnb.errors import CallError
from slangnb.views.measure import Array
from slangnb.views.source import LARGEST_READ

if TYPE_CHECKING:
    import slangpy

#: Channels of equal size, one number each: "rgba8_unorm_srgb", "r32_float", "bgra8_unorm".
_PLAIN = re.compile(r"(r|rg|rgb|rgba|bgra|bgrx)(8|16|32)_(float|unorm|snorm|uint|sint)(_srgb)?")


def is_texture(thing: object) -> TypeGuard[slangpy.Texture]:
    """Whether something is a SlangPy texture; does not import SlangPy."""
    module = sys.modules.get("slangpy")
    return module is not None and isinstance(thing, module.Texture)


def plain_format(name: str) -> tuple[str, int, str] | None:
    """Split a format into channels, bits and type; None where a channel is not simply one number.

    Examples
    --------
    >>> plain_format("bgra8_unorm_srgb"), plain_format("bc7_unorm")
    (('bgra', 8, 'unorm'), None)
    """
    found = _PLAIN.fullmatch(name)
    return (found[1], int(found[2]), found[3]) if found else None


def in_numbers(raw: Array, channels: str, bits: int, kind: str) -> Array:
    """Turn what a texture stores into what a shader reads, but for the sRGB curve: colours in order, unorm as 0 to 1.

    Bytes stay bytes, since they are drawn as colours.

    Parameters
    ----------
    raw : numpy array (..., channels), or (...) of one channel
    channels, bits, kind
        From `plain_format`.

    Examples
    --------
    >>> import numpy as np
    >>> in_numbers(np.array([[3, 2, 1, 255]], np.uint8), "bgra", 8, "unorm")
    array([[  1,   2,   3, 255]], dtype=uint8)
    >>> in_numbers(np.array([-128, 127], np.int8), "r", 8, "snorm")
    array([-1.,  1.], dtype=float32)
    """
    if channels == "bgra":
        raw = raw[..., [2, 1, 0, 3]]
    elif channels == "bgrx":
        raw = raw[..., [2, 1, 0]]
    if kind == "unorm" and bits == 16:
        return raw.astype(np.float32) / np.float32(65535)
    if kind == "snorm":
        return np.maximum(raw.astype(np.float32) / np.float32(2 ** (bits - 1) - 1), np.float32(-1))
    # Counts of 8 bits are no colours: as bytes they would be drawn as such.
    return raw.astype(np.int32) if kind == "uint" and bits == 8 else raw


def texture_array(texture: slangpy.Texture, name: str = "texture") -> tuple[Array, str]:
    """Read a texture's largest image.

    Parameters
    ----------
    texture : slangpy.Texture
        Of a format whose channels are numbers of 8, 16 or 32 bits; no depth, compressed or packed formats.
    name : str
        For messages.

    Returns
    -------
    array : numpy array
        (rows, columns), with layers, slices or faces before and components after them.
    remark : str
        What is left out, and how colours are stored.

    Raises
    ------
    CallError
        The format is not plain, the texture is multisampled, too large, or its device was closed.
    """
    import slangpy as spy

    if texture.device.slang_session is None:
        raise CallError(f"the device of {name} was closed", remedy="run the cells that make it again")
    written = texture.format.name
    parts = plain_format(written)
    if parts is None:
        raise CallError(
            f"{name} has the format {written}, whose bits are not plain numbers",
            remedy="copy it to a texture of the format rgba32_float with a kernel, and show that",
        )
    kinds = spy.TextureType
    if texture.type in (kinds.texture_2d_ms, kinds.texture_2d_ms_array):
        raise CallError(f"{name} has several samples for each pixel", remedy="resolve it to one sample, and show that")
    size = texture.width * texture.height * texture.depth * texture.layer_count * len(parts[0]) * parts[1] // 8
    if size > LARGEST_READ:
        raise CallError(
            f"{name} has {size / 2**20:.0f} MiB; no more than {LARGEST_READ >> 20} MiB are read to draw a texture",
            remedy="copy a part of it to a smaller texture, and show that",
        )
    layered = texture.type in (
        kinds.texture_1d_array,
        kinds.texture_2d_array,
        kinds.texture_cube,
        kinds.texture_cube_array,
    )
    layers = [_layer(texture, i) for i in range(texture.layer_count)]
    raw = np.stack(layers) if layered else layers[0]
    said = [f"{written} texture"]
    if texture.mip_count > 1:
        said.append(f"the largest of {texture.mip_count} mip levels")
    return in_numbers(raw, *parts), ", ".join(said)


def _layer(texture: Any, layer: int) -> Array:
    return np.asarray(texture.to_numpy(layer=layer, mip=0))
