"""Powers as products: Slang's derivative of `pow` is 0 where its base is negative."""

from __future__ import annotations

import re

_WHOLE = re.compile(r"(- ?)?(\d{1,3})(?:\.0*)?[fFhH]?")
_PLAIN = re.compile(r"[\w.]+(?:\([^()]*\)|\[[^\[\]]*\])?|\([^()]*\)")
_OPERAND = r"[\w.]+(?:\([^()]*\)|\[[^\[\]]*\])*(?:\.\w+)*|\([^()]*\)"
_POWER = re.compile(rf"(?P<base>{_OPERAND})\s*(?P<mark>\*\*|\^)\s*(?P<exponent>{_OPERAND})")
#: Higher powers are longer as a product than anyone writes.
_MOST = 6


def power(base: str, exponent: str) -> str:
    """Write a power as a product, or as `pow` where the exponent is no small whole number.

    Examples
    --------
    >>> power("x", "2"), power("x + 1", "2.0"), power("x", "-2"), power("x", "y")
    ('x * x', '(x + 1) * (x + 1)', '1.0 / (x * x)', 'pow(x, y)')
    """
    count = whole(exponent)
    if not 1 <= abs(count) <= _MOST:
        return f"pow({base}, {exponent})"
    factors = " * ".join([base if _PLAIN.fullmatch(base) else f"({base})"] * abs(count))
    return factors if count > 0 else f"1.0 / ({factors})"


def whole(exponent: str) -> int:
    """Give the number that an exponent is as a literal; 0 if it is none, or not a whole one.

    Examples
    --------
    >>> whole("2.0f"), whole("- 3"), whole("2.5"), whole("n")
    (2, -3, 0, 0)
    """
    found = _WHOLE.fullmatch(exponent.strip())
    return (int(found.group(2)) * (-1 if found.group(1) else 1)) if found else 0


def instead(line: str) -> str:
    """Say what to write for `x ** y` or `x ^ y` on a line, or "".

    Examples
    --------
    >>> instead("return 3 * x ** 2;"), instead("x ^ y")
    ('write `x * x` instead of `x ** 2`', 'write `pow(x, y)` instead of `x ^ y`')
    """
    found = _POWER.search(line)
    return f"write `{power(found['base'], found['exponent'])}` instead of `{found.group()}`" if found else ""
