"""The workloads: Slang code, data, the same formula for other libraries, and derivatives written by hand.

The derivatives by hand serve twice: with float64 data they are the reference that every result is compared with, and
with float32 data they are what a person would write in numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

WIDTH = 64  # of the layers of the MLP

POLYNOMIAL = "[Differentiable] float polynomial(float a, float b, float c, float x) { return a * x * x + b * x + c; }"

# `x * exposure`, not `exposure * x`: Slang 2026.12 gives the number a gradient of 0 where it stands left of a vector
# parameter.
TONEMAP = """
[Differentiable]
float3 tonemap(float exposure, float lift, float white, float saturation, float contrast, float3 x)
{
    float3 u = x * exposure + lift;
    float3 r = u * (1.0f + u / (white * white)) / (1.0f + u);
    float3 grey = float3(0.2126f * r.x + 0.7152f * r.y + 0.0722f * r.z);
    float3 s = grey + saturation * (r - grey);
    return 0.18f + contrast * (s - 0.18f);
}
"""

MLP = f"""
import mlp;
import slangpy;

[Differentiable]
float net(IDiffTensor<float, 2> w1, IDiffTensor<float, 1> b1, IDiffTensor<float, 2> w2, IDiffTensor<float, 1> b2,
          IDiffTensor<float, 1> w3, float x[{WIDTH}])
{{
    return dot(w3, tanh(linear<{WIDTH}>(w2, b2, tanh(linear<{WIDTH}>(w1, b1, x)))));
}}
"""


@dataclass(frozen=True, slots=True)
class Work:
    """One workload at one size.

    Attributes
    ----------
    name : str
        As it is chosen with ``--only``.
    title : str
        For the table and the plot.
    mode : {"forward", "backward", "value_and_grad"}
        What is computed: the values, the gradient of their sum to `x`, or that sum and its gradients to `wanted`.
    source, function : str
        The Slang code, and the function to call.
    shared : dict
        Arguments that have one value for all elements.
    x : numpy.ndarray
        The array; its copy is the unit of the times.
    element : str
        Slang type of one element of `x`, where it is not the array's own.
    wanted : tuple of str
        Arguments whose gradients are computed.
    formula : callable
        The function in a library that is like numpy: ``formula(library, x=..., **shared)`` gives all values.
    by_hand : callable
        ``by_hand(mode, x=..., **shared)`` gives value and gradients by name.
    """

    name: str
    title: str
    mode: str
    source: str
    function: str
    shared: dict[str, Any]
    x: np.ndarray
    element: str | None
    wanted: tuple[str, ...]
    formula: Callable[..., Any]
    by_hand: Callable[..., dict[str, Any]]

    def reference(self) -> dict[str, np.ndarray]:
        """Give value and gradients in float64."""
        shared = {k: v.astype(np.float64) if isinstance(v, np.ndarray) else float(v) for k, v in self.shared.items()}
        found = self.by_hand(self.mode, x=self.x.astype(np.float64), **shared)
        return {name: np.asarray(v) for name, v in found.items()}


def error(got: Any, reference: np.ndarray) -> float:
    """Give the largest difference, in units of the largest reference value; infinity if any number is NaN.

    Examples
    --------
    >>> error([1.0, 2.2], np.array([1.0, 2.0]))
    0.10000000000000009
    """
    difference = np.subtract(got, reference, dtype=np.float64)
    largest = float(np.max(np.abs(difference)) / np.max(np.abs(reference)))
    return math.inf if math.isnan(largest) else largest


def polynomial_by_hand(mode: str, a: float, b: float, c: float, x: np.ndarray) -> dict[str, Any]:
    """Give what `mode` asks for of a x^2 + b x + c."""
    if mode == "forward":
        return {"value": a * x * x + b * x + c}
    if mode == "backward":
        return {"x": 2 * a * x + b}
    square = x * x
    return {"value": (a * square + b * x + c).sum(), "a": square.sum(), "x": 2 * a * x + b}


def tonemap_by_hand(
    mode: str, exposure: float, lift: float, white: float, saturation: float, contrast: float, x: np.ndarray
) -> dict[str, Any]:
    """Give value and gradients of the sum over a tonemapped image."""
    weights = np.array([0.2126, 0.7152, 0.0722], dtype=x.dtype)
    u = exposure * x + lift
    r = u * (1 + u / white**2) / (1 + u)
    grey = (r @ weights)[..., None]
    s = grey + saturation * (r - grey)
    dr = contrast * (3 * (1 - saturation) * weights + saturation)  # of the sum of all channels
    du = dr * ((1 + 2 * u / white**2) * (1 + u) - u * (1 + u / white**2)) / (1 + u) ** 2
    return {
        "value": (0.18 + contrast * (s - 0.18)).sum(),
        "exposure": (du * x).sum(),
        "lift": du.sum(),
        "white": (dr * u * u / (1 + u)).sum() * -2 / white**3,
        "saturation": contrast * (r - grey).sum(),
        "contrast": (s - 0.18).sum(),
        "x": du * exposure,
    }


def tonemap_formula(library: Any, exposure: Any, lift: Any, white: Any, saturation: Any, contrast: Any, x: Any) -> Any:
    """Give the tonemapped image."""
    u = exposure * x + lift
    r = u * (1 + u / (white * white)) / (1 + u)
    grey = (0.2126 * r[..., 0] + 0.7152 * r[..., 1] + 0.0722 * r[..., 2])[..., None]
    return 0.18 + contrast * (grey + saturation * (r - grey) - 0.18)


def mlp_by_hand(
    mode: str,
    w1: np.ndarray,
    b1: np.ndarray,
    w2: np.ndarray,
    b2: np.ndarray,
    w3: np.ndarray,
    x: np.ndarray,
) -> dict[str, Any]:
    """Give the summed output of the network and the gradients of its weights."""
    h1 = np.tanh(x @ w1.T + b1)
    h2 = np.tanh(h1 @ w2.T + b2)
    d2 = w3 * (1 - h2 * h2)
    d1 = (d2 @ w2) * (1 - h1 * h1)
    return {
        "value": (h2 @ w3).sum(),
        "w1": d1.T @ x,
        "b1": d1.sum(axis=0),
        "w2": d2.T @ h1,
        "b2": d2.sum(axis=0),
        "w3": h2.sum(axis=0),
    }


def mlp_formula(library: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, x: Any) -> Any:
    """Give the output of the network for each row of `x`."""
    return library.tanh(library.tanh(x @ w1.T + b1) @ w2.T + b2) @ w3


def elementwise(mode: str, n: int, name: str = "") -> Work:
    """Give the polynomial over `n` numbers."""
    titles = {
        "forward": "f(x) = a x² + b x + c",
        "backward": "backward to x",
        "value_and_grad": "value and gradients to a and x",
    }
    return Work(
        name or mode,
        "copying x" if name == "copy" else titles[mode],
        mode,
        POLYNOMIAL,
        "polynomial",
        {"a": 2.0, "b": 8.0, "c": -1.0},
        np.random.default_rng(1).random(n, dtype=np.float32),
        None,
        {"forward": (), "backward": ("x",), "value_and_grad": ("a", "x")}[mode],
        lambda library, a, b, c, x: a * x * x + b * x + c,
        polynomial_by_hand,
    )


def image(side: int) -> Work:
    """Give the tonemapping of a square colour image, with gradients to its five parameters and the image."""
    colour = np.array([2.0, 1.0, 0.4], dtype=np.float32)  # not grey: the gradient to the saturation would vanish
    pixels = np.random.default_rng(2).random((side, side, 3), dtype=np.float32) * colour
    shared = {"exposure": 1.5, "lift": 0.02, "white": 4.0, "saturation": 1.2, "contrast": 1.1}
    wanted = (*shared, "x")
    title = f"tonemap a {side} x {side} image, gradients to 5 parameters and the image"
    return Work(
        "image", title, "value_and_grad", TONEMAP, "tonemap", shared, pixels, "float3", wanted, tonemap_formula,
        tonemap_by_hand,
    )  # fmt: skip


def mlp(batch: int) -> Work:
    """Give a network of three layers, with gradients to all its weights."""
    rng = np.random.default_rng(3)
    sizes = {"w1": (WIDTH, WIDTH), "b1": (WIDTH,), "w2": (WIDTH, WIDTH), "b2": (WIDTH,), "w3": (WIDTH,)}
    shared = {k: (rng.standard_normal(size) / np.sqrt(WIDTH)).astype(np.float32) for k, size in sizes.items()}
    x = rng.standard_normal((batch, WIDTH)).astype(np.float32)
    title = f"MLP {WIDTH}-{WIDTH}-{WIDTH}-1, batch {batch}, gradients to all weights"
    return Work(
        "mlp", title, "value_and_grad", MLP, "net", shared, x, None, tuple(shared), mlp_formula, mlp_by_hand
    )  # fmt: skip
