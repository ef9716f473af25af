"""What to write instead of that which tensors and Parameters do not do: a note that follows Python's own error."""

from __future__ import annotations

import difflib
import re

_GENERAL = "a tensor lives on the device: `x.to_numpy()` gives its numbers; arithmetic belongs in a `%%slang` function"
#: Python's own words for an operation that a type lacks. The other operand is one that tensors of torch go with.
_OTHER = r"'(?:Tensor|Parameter|int|float|ndarray|float\d\d|int\d\d|numpy\.\w+)'"
_OPERATION = re.compile(
    rf"unsupported operand type\(s\) for .+: (?:'Tensor' and {_OTHER}|{_OTHER} and 'Tensor')"
    rf"|'[<>]=?' not supported between instances of (?:'Tensor' and {_OTHER}|{_OTHER} and 'Tensor')"
    r"|bad operand type for .+: 'Tensor'"
    r"|object of type 'Tensor' has no len\(\)"
    r"|(?:float|int)\(\) argument must be .*, not 'Tensor'"
    r"|type Tensor doesn't define __\w+__ method"
    r"|loop of ufunc does not support argument \d of type Tensor\b.*"
)
_PARAMETER = re.compile(
    rf"unsupported operand type\(s\) for .+: (?:'Parameter' and {_OTHER}|{_OTHER} and 'Parameter')"
    r"|bad operand type for .+: 'Parameter'"
    r"|(?:float|int)\(\) argument must be .*, not 'Parameter'"
)
_VALUE = "the number of a Parameter is `p.value`: write `p.value + 1`, or `p.value -= 0.1 * p.grad` to change it"
_ASSIGNED = "'Tensor' object does not support item assignment"
_SMALL = "Numpy array is larger than the tensor storage"
_NUMPY = re.compile(r"numpy\(\): incompatible function arguments\..*slangpy\.native_func\.Tensor", re.DOTALL)
_ATTRIBUTE = re.compile(r"'Tensor' object has no attribute '(\w+)'")
_METHODS = frozenset(
    ("sum", "mean", "min", "max", "std", "var", "prod", "any", "all", "argmax", "argmin", "astype", "reshape")
) | frozenset(("flatten", "ravel", "tolist", "item", "transpose", "dot"))
_VALUES = frozenset(("T", "size", "ndim", "nbytes"))


def tensor_note(error: BaseException | None) -> str:
    """Say what to write instead of what a tensor or a Parameter does not do, or "".

    Parameters
    ----------
    error : exception or None
        What a cell raised.

    Examples
    --------
    >>> tensor_note(TypeError("bad operand type for unary -: 'Tensor'"))[:49]
    'note: a tensor lives on the device: `x.to_numpy()'
    >>> tensor_note(TypeError("bad operand type for abs(): 'slangpy.native_func.Tensor'"))[:49]
    'note: a tensor lives on the device: `x.to_numpy()'
    >>> tensor_note(TypeError("'int' object is not callable"))
    ''
    """
    # From Python 3.12 on, SlangPy's types have their modules in these words.
    text, said = str(error).replace("slangpy.native_func.Tensor", "Tensor"), ""
    if isinstance(error, AttributeError) and type(error.obj).__module__.startswith("slangpy"):
        found = _ATTRIBUTE.fullmatch(text.partition(". Did you mean")[0])
        said = _attribute(found.group(1), dir(error.obj)) if found else ""
    elif isinstance(error, TypeError):
        if text == _ASSIGNED:
            said = "a tensor is written as a whole: change an array, and give it to `x.copy_from_numpy(array)`"
        elif _OPERATION.fullmatch(text) or _NUMPY.match(str(error)):
            said = _GENERAL
        elif _PARAMETER.fullmatch(text):
            said = _VALUE
    elif isinstance(error, RuntimeError) and text.startswith(_SMALL):
        said = "SlangPy copies the bytes: give it the tensor's own shape and type, as in `np.ones(3, np.float32)`"
    return f"note: {said}" if said else ""


def _attribute(name: str, there: list[str]) -> str:
    if name == "backward":
        return "for `y.backward()` write `f.bwds(..., _result=y)`, or `sn.grad(f)(...)`"
    if name in ("requires_grad", "requires_grad_", "zero_grad"):
        return "`sn.tensor(data, grad=True)` makes a tensor with a gradient of zeros, which is `x.grad`"
    if name in _METHODS or name in _VALUES:
        return f"a tensor lives on the device: write `x.to_numpy().{name}{'(...)' if name in _METHODS else ''}`"
    close = difflib.get_close_matches(name, there, 1, 0.8)
    return f"did you mean `x.{close[0]}`?" if close else _GENERAL
