"""Finds calls of functions that Vulkan does not have for doubles."""

from __future__ import annotations

import re

from slangnb.compiler.reading.tokens import Tokens

_CALLED = re.compile(r"a?sinh?|a?cosh?|tanh?|atanh|sincos|exp|exp10|log|log2|log10|pow")
_DECLARED = re.compile(r"\bdouble[234]?(?:x[234])?\s+(\w+)|Tensor\s*<\s*double[234]?\b[^<>]*>\s*(\w+)")
_INFERRED = re.compile(r"\b(?:var|let|auto)\s+(\w+)\s*=([^;]*);")
_DOUBLE = re.compile(r"\bdouble[234]?\s*\(|\(\s*double[234]?\s*\)")
#: What makes a float, or a number of places, of a double.
_TO_FLOAT = re.compile(r"\b(?:float|half|u?int)[234]?\s*\([^()]*\)|\(\s*(?:float|half|u?int)[234]?\s*\)\s*\w+")


def function_of_double(text: str) -> str:
    """Give the first function of a double that Vulkan does not have, in the text of one function; "" for none.

    Examples
    --------
    >>> function_of_double("double f(double x, float y) { return x * exp(y) + double(sin(float(x))); }")
    ''
    >>> function_of_double("double f(double x, float y) { double z = x * 2; return pow(y, 2) + sin(z); }")
    'sin'
    """
    names = {a or b for a, b in _DECLARED.findall(text)}
    for name, value in _INFERRED.findall(text):
        if _is_double(value, names):
            names.add(name)
    tokens = Tokens(text)
    for k, token in enumerate(tokens.items):
        if not _CALLED.fullmatch(token.text) or tokens.text(k + 1) != "(" or tokens.text(k - 1) == ".":
            continue
        close = min(tokens.partner[k + 1], len(tokens.items))
        if _is_double(tokens.words(k + 2, close), names):
            return token.text
    return ""


def _is_double(expression: str, names: set[str]) -> bool:
    left = _TO_FLOAT.sub(" ", expression)
    return bool(_DOUBLE.search(left)) or not names.isdisjoint(re.findall(r"(?<![\w.])\w+", left))
