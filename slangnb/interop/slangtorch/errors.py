"""Turns what nvcc, the C++ compiler, torch and the CUDA driver say into our errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from slangnb.compiler.source import Source
from slangnb.errors import BackendError, CallError, CompileError, Diagnostic, SlangNbError

# `file(12): error: text` from nvcc, `file:12:5: error: text` from others.
_ERROR = re.compile(
    r"^(?P<file>[^\n:(]+?)(?:\((?P<a>\d+)\)|:(?P<b>\d+)(?::\d+)?): (?:fatal )?error(?: #?[\w-]+)?: (?P<message>[^\n]+)",
    re.MULTILINE,
)
_LAST = re.compile(r"^(?:\w+\.)*(?P<kind>\w*(?:Error|Exception)): (?P<message>[^\n]+)", re.MULTILINE)
_HEADER = re.compile(r"fatal error: ([\w./-]+): No such file")
_HEADERS = {"Python.h": "apt install python3-dev"}
_INCOMPLETE = "the CUDA toolkit is not complete: install all of it, or set CUDA_HOME to one that is"
_MOST_LINES = 12

#: What a call raises -> what is wrong, and what to do. The first that is found counts.
_CALL_RULES = (
    (
        r"invalid configuration argument|invalid argument",
        "CUDA refused the launch: its group size is over 1024 threads, or a size is 0",
        "an empty tensor must not be launched; for larger ones launch several groups: "
        "`let groups = (count + 255) / 256;`",
    ),
    (
        r"illegal memory access|misaligned address",
        "a kernel read or wrote behind the end of a tensor; CUDA stops working in this process",
        "restart the notebook's kernel; compare every index with the size, by `>=`",
    ),
    (
        r"Dimension out of range[^\n]*got (\d+)",
        "a tensor has fewer dimensions than the function asks for: there is no size({0})",
        "give a tensor of {1} dimensions",
    ),
    (r"(\w+): tensor is not on CUDA device", "{0!r} is not on the GPU", "pass {0}.cuda()"),
    (r"(\w+): tensor is not of the expected type", "{0!r} has another dtype than the function asks for", ""),
    (r"(\w+): tensor is not contiguous", "{0!r} is not contiguous", "pass {0}.contiguous()"),
    (
        r"(\w+): tensors with broadcasted dimensions",
        "{0!r} is a broadcast tensor: some of its elements are one in memory",
        "pass {0}.clone(memory_format=torch.contiguous_format)",
    ),
    (r"incompatible function arguments", "the arguments are not of the kinds that the function takes", ""),
    (r"out of memory", "the GPU has not enough memory for this", "free tensors, or work on a part at a time"),
)


def build_error(text: str, sources: Mapping[str, Source]) -> SlangNbError:
    """Say why a build failed.

    Examples
    --------
    >>> text = 'm_0123456789ab(3): error: identifier "yy" is undefined'
    >>> print(build_error(text, {"m_0123456789ab": Source("int a;\\nint b;", "In[3]", 2)}))
    error: the CUDA compiler refuses what Slang made of this: identifier "yy" is undefined
      --> In[3], line 3
      3 | int b;
      remedy: write this line in another way; the Slang compiler took it, so this is a fault of its own
    """
    found = list(dict.fromkeys(_compiler_said(m, sources) for m in _ERROR.finditer(text)))
    placed = [d for d in found if d.line]
    if placed:
        return CompileError(placed)
    header = _HEADER.search(text)
    if header:
        name = header.group(1)
        return BackendError(f"the compiler does not find {name}", remedy=_HEADERS.get(name, _INCOMPLETE))
    if found:
        return CompileError(found)
    last = [m for m in _LAST.finditer(text) if not m["message"].startswith("Error building extension")]
    if last:
        return BackendError(f"the build for PyTorch failed: {last[-1]['message']}")
    lines = [line for line in text.splitlines() if line.strip()][-_MOST_LINES:]
    return BackendError("\n".join(["the build for PyTorch failed:", *lines]))


def _compiler_said(match: re.Match[str], sources: Mapping[str, Source]) -> Diagnostic:
    source = sources.get(match["file"].strip())
    line = int(match["a"] or match["b"])
    message = f"the CUDA compiler refuses what Slang made of this: {match['message'].strip()}"
    one = Diagnostic("error", "", message)
    if source is None:
        return one
    remedy = "write this line in another way; the Slang compiler took it, so this is a fault of its own"
    return replace(one, file=source.label, line=line, source=source.line(line), remedy=remedy)


def call_error(error: Exception, name: str, signature: str) -> CallError:
    """Say in one line why a call failed.

    Examples
    --------
    >>> print(call_error(RuntimeError("input: tensor is not on CUDA device."), "square_fwd", "square_fwd(input)"))
    square_fwd: 'input' is not on the GPU
    remedy: pass input.cuda()
    """
    text = str(error)
    for pattern, message, remedy in _CALL_RULES:
        found = re.search(pattern, text)
        if found:
            told = list(found.groups())
            if told and told[0].isdigit():
                told.append(str(int(told[0]) + 1))
            advice = remedy.format(*told) or f"its signature is {signature}"
            return CallError(f"{name}: {message.format(*told)}", function=name, remedy=advice)
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return CallError(f"{name}: {first}", function=name, remedy=f"its signature is {signature}")
