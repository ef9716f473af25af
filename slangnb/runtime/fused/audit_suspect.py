"""Reads what a function may suffer from in its text. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from slangnb.compiler.advice.nests import may_mix_up
from slangnb.compiler.reading.calls import LOOPS
from slangnb.compiler.reflection import REAL, Signature
from slangnb.runtime.fused.audit_samples import Samples
from slangnb.runtime.fused.audit_text import uniform_of

_VECTORS = re.compile(r"\b(?:float|half|double)[234](?:x[234])?\b|\b(?:vector|matrix)\s*<")
_POW = re.compile(r"\bpow\s*\(")
#: What is assigned to a part of a vector.
PART = re.compile(r"\b\w+\.(?:[xyzw]{1,4}|[rgba]{1,4})\s*[-+*/]?=(?!=)")
#: A clamp, and one between numbers.
_CLAMP = re.compile(r"\bclamp\s*\(")
_NUMBER = r"-?\s*(?:\w+\s*\(\s*-?[\d.]+[fh]?\s*\)|[\d.]+[fh]?)"
_CLAMP_NUMBERS = re.compile(rf"\bclamp\s*\([^;]*?,\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\)")
_INDEX = re.compile(r"[\w\])][ \t]*\[(?!\s*\d+\s*\])")
#: Reads, and declarations, which a type stands before.
_READ = re.compile(r"(?:(?<![\w.])(?!(?:return|else|case)\b)([\w>]+)\s+)?(\w+|\))((?:\s*\[[^\[\]]*\])+)")
_TENSOR = re.compile(r"\b(?:\w*Tensor\s*<[^;(){}]*?>|\w*(?:Buffer|Texture\w+)\b(?:\s*<[^;(){}]*?>)?)\s*(\w+)")
_HALF = re.compile(r"\b(?:half|float16)")
#: What makes whole numbers of real ones.
_WHOLE = re.compile(r"\bu?int\w*\s*\(|\(\s*u?int\w*\s*\)|\b(?:floor|ceil|round|trunc|asu?int)\b")
#: What makes them of names, and what declares these.
_OF_NAMES = re.compile(r"\bu?int[234]?\s*\(([\w\s,%+*/-]*)\)")
_NAMED = re.compile(r"\b(u?int|\w+)[234]?\s+([^\W\d]\w*)")
_NAME = re.compile(r"[^\W\d]\w*")
_WHILE = re.compile(r"\b(?:while|do)\b|\bfor\s*\(\s*(?!u?int\w*\b)")


def reads(text: str) -> list[tuple[str, str]]:
    """List where a function reads numbers of arrays or vectors: what, and by which index.

    Of tensors and buffers it lists nothing: their gradients are added in memory, which is right.

    Examples
    --------
    >>> reads("float f(IDiffTensor<float, 2> w, Texture2D t, float x[3], int k) { float y[3]; return w[k, 0] * x[k]; }")
    [('x', '[k]')]
    """
    tensors = {*_TENSOR.findall(text)}
    return [(name, index) for typed, name, index in _READ.findall(text) if not typed and name not in tensors]


def _chooses(text: str) -> bool:
    """Tell whether a function that reads tensors also chooses a number of another array, and reads a second one.

    Examples
    --------
    >>> _chooses("float f(Tensor<float, 1> w, float x[3], int k) { return x[0] * x[k] * w[k]; }")
    True
    >>> _chooses("float f(IDiffTensor<float, 2> w, float x[3], int k) { float y[3]; return w[k, 0] * w[0, 1] * x[k]; }")
    False
    """
    read = reads(text)
    return len(read) > 1 and any(is_chosen(index) for _, index in read)


def is_chosen(index: str) -> bool:
    """Tell whether something else than a number is the index."""
    return _INDEX.search(f"z{index}") is not None


def _without_whole(text: str) -> str:
    """Take away what makes vectors of whole numbers from whole numbers.

    Examples
    --------
    >>> _without_whole("float f(int i, float x) { return w[int2(i % 4, 0)] * w[int(x)]; }")
    'float f(int i, float x) { return w[] * w[int(x)]; }'
    """
    kinds: dict[str, set[bool]] = {}
    for kind, name in _NAMED.findall(text):
        kinds.setdefault(name, set()).add(kind in ("int", "uint"))
    return _OF_NAMES.sub(lambda m: "" if all(kinds.get(n) == {True} for n in _NAME.findall(m[1])) else m[0], text)


@dataclass(frozen=True)
class Suspect:
    """What a function's text says it may suffer from.

    Attributes
    ----------
    vectors, loops, limits, powers, indexes : bool
        Whether it has vectors or matrices, loops, those with a ``[MaxIters(n)]`` that may be too small, ``pow``, and
        numbers of arrays or vectors that are chosen at run time.
    endless : bool
        Whether a loop may not end for other arguments than those of a call.
    half : bool
        Whether numbers of half precision may be among those that are computed.
    tensors : bool
        Whether it reads tensors or buffers: then only what indexes them in the call may.
    places : bool
        Whether real numbers may choose an index.
    nested : bool
        Whether loops stand inside each other, of counts that are not alike.
    parts : bool
        Whether parts of vectors are assigned to.
    ordered : bool
        Whether some arguments may have to be less than others, as the bounds of ``clamp``.
    """

    vectors: bool
    loops: bool
    limits: bool
    powers: bool
    indexes: bool
    endless: bool
    half: bool
    tensors: bool
    places: bool
    nested: bool
    parts: bool
    ordered: bool

    @classmethod
    def of(cls, signature: Signature, text: str, hidden: bool) -> Suspect:
        """Look at the text of a function and of what it calls; `hidden` says that it may hide loops."""
        types = (signature.returns, *(p.type for p in signature.parameters))
        vectors = any(t.kind in ("vector", "matrix") and t.scalar in REAL for t in types)
        tensors = any(p.type.kind == "tensor" or uniform_of(p.type) for p in signature.parameters)
        return cls(
            vectors=vectors or bool(_VECTORS.search(text)),
            loops=hidden or bool(LOOPS.search(text)),
            limits=hidden or "MaxIters" in text,
            powers=bool(_POW.search(text)),
            indexes=_chooses(text) if tensors else bool(_INDEX.search(text)),
            endless=bool(_WHILE.search(text)),
            half=bool(_HALF.search(text)) or any(t.scalar == "half" for t in types),
            tensors=tensors,
            places=bool(_WHOLE.search(_without_whole(text))),
            nested=may_mix_up(text),
            parts=bool(PART.search(text)),
            ordered=len(_CLAMP.findall(text)) > len(_CLAMP_NUMBERS.findall(text)),
        )

    @property
    def is_worth_it(self) -> bool:
        """Whether the function is of the kinds that Slang gets wrong."""
        return self.vectors or self.limits or self.nested or self.powers or self.indexes

    @property
    def tolerance(self) -> float:
        """The share by which two derivatives, or two results, may differ."""
        return 5e-2 if self.half else 3e-3

    @property
    def is_bound(self) -> bool:
        """Whether other numbers than a call's may do harm: a loop too long, an index too large, crossed bounds."""
        return self.loops or self.indexes or self.tensors or self.ordered

    def may_try(self, given: Samples) -> bool:
        """Tell whether the numbers that were found for a call, seen or not, may be tried."""
        if (self.indexes or self.tensors) and not (given.whole_seen and given.reals_seen):
            return False
        return given.reals_seen or not self.endless
