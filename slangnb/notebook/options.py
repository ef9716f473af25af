"""Splits the option line of a magic: quotes, ``--name="a b"`` and a trailing comment are understood."""

from __future__ import annotations

import difflib
import shlex
from typing import Any

from IPython.core.error import UsageError

from slangnb.errors import CallError
from slangnb.runtime.kernelcode import TARGETS


def without_comment(line: str) -> str:
    """Cut a trailing ``# comment`` that stands outside quotes and after a space.

    Examples
    --------
    >>> without_comment("brdf -D COLOUR='# red' # don't forget")
    "brdf -D COLOUR='# red' "
    """
    quote = ""
    for i, c in enumerate(line):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c == "#" and (i == 0 or line[i - 1].isspace()):
            return line[:i]
    return line


def parse(parser: Any, magic: str, line: str) -> Any:
    """Parse an option line with an argparse parser made by IPython's ``magic_arguments``.

    Raises
    ------
    CallError
        For anything wrong with it. IPython's own UsageError would only be printed, and a notebook with it in would
        pass as a test.
    """
    try:
        words = shlex.split(without_comment(line))
        found, extra = parser.parse_known_args(words)
    except (UsageError, ValueError) as error:
        message = str(error).strip() or "the options are not complete"
        raise CallError(f"{magic}: {message}", remedy=f"{magic}? shows all options") from None
    option = next((word for word in extra if word.startswith("-")), None)
    if option is not None:
        close = difflib.get_close_matches(option, option_names(parser), 1, 0.5)
        remedy = f"did you mean `{close[0]}`?" if close else f"{magic}? shows all options"
        raise CallError(f"{magic}: there is no option {option}", remedy=remedy)
    if extra:
        name = " ".join([found.name, *extra])
        remedy = f"write `{magic} {'_'.join(name.split())}`; {magic}? shows all options"
        raise CallError(f"{magic}: the name of a cell is one word, not {name!r}", remedy=remedy)
    return found


def option_names(parser: Any) -> list[str]:
    """Give the long names of a parser's options."""
    return [name for name in parser._option_string_actions if name.startswith("--")]


def target(text: str) -> str:
    """Give the target that a word means: those of `TARGETS`, and ``spirv`` for its text.

    Raises
    ------
    CallError
        For another word.

    Examples
    --------
    >>> target("spirv"), target("hlsl")
    ('spirv-asm', 'hlsl')
    """
    wanted = "spirv-asm" if text == "spirv" else text
    if wanted not in TARGETS:
        raise CallError(f"there is no target {text!r}", remedy=f"one of {', '.join(TARGETS)}")
    return wanted


def parse_define(text: str) -> tuple[str, str]:
    """Split ``NAME=VALUE``; without a value the macro is 1.

    Examples
    --------
    >>> parse_define("N=4"), parse_define("FAST")
    (('N', '4'), ('FAST', '1'))
    """
    name, equals, value = text.partition("=")
    if not name.isidentifier():
        raise CallError(f"-D {text}: {name!r} is no name for a macro", remedy="write it as -D NAME=VALUE")
    return name, value if equals else "1"
