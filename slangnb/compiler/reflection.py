"""What a compiled module offers, as plain data: functions, parameters, types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slangnb.compiler.reading import declared
from slangnb.compiler.reading.declarations import Declaration, declarations

if TYPE_CHECKING:
    from slangnb.compiler.loading import Loaded

#: Kinds of types whose values are numbers alone, in one order.
PLAIN_KINDS = ("scalar", "vector", "matrix", "array")
#: Slang's scalar types and the numpy types that have the same bytes.
SCALARS = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int8_t": "int8",
    "int16_t": "int16",
    "int": "int32",
    "int64_t": "int64",
    "uint8_t": "uint8",
    "uint16_t": "uint16",
    "uint": "uint32",
    "uint64_t": "uint64",
}
SLANG_NAMES = {n: s for s, n in SCALARS.items()}
#: Scalar types whose derivatives Slang computes.
REAL = ("float", "half", "double")


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """A Slang type.

    Attributes
    ----------
    name : str
        As Slang writes it, such as ``"float"`` or ``"vector<float,3>"``.
    kind : str
        ``"scalar"``, ``"vector"``, ``"matrix"``, ``"array"``, ``"struct"``, ``"tensor"`` or ``"other"``.
    scalar : str
        Innermost scalar type, such as ``"float"``; empty for structs and others.
    shape : tuple of int
        Sizes of vector, matrix and array types, outermost first; ``()`` else.
    differentiable : bool
        Whether values of it carry a derivative.
    fields : mapping of str to TypeInfo
        Of a struct.
    access : {"", "read", "write", "read_write"}
        Of a tensor parameter.
    carries_gradient : bool
        Of a tensor parameter: True for ``DiffTensor``, ``IDiffTensor`` and their kin.
    carries : tuple of str
        Of a struct: the fields that its derivative has.
    element : str
        Of a tensor parameter: the type of its elements.
    dims : int
        Of a tensor parameter: its number of dimensions.
    """

    name: str
    kind: str
    scalar: str = ""
    shape: tuple[int, ...] = ()
    differentiable: bool = False
    fields: Mapping[str, TypeInfo] = field(default_factory=dict)
    access: str = ""
    carries_gradient: bool = False
    carries: tuple[str, ...] = ()
    element: str = ""
    dims: int = 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function.

    `io` is ``"in"``, ``"out"`` or ``"inout"``; `default` and `attributes`, such as ``"Range(0.0, 5.0)"``, are as
    written in the source.
    """

    name: str
    type: TypeInfo
    io: str = "in"
    no_diff: bool = False
    optional: bool = False
    default: str = ""
    attributes: tuple[str, ...] = ()

    @property
    def derivable(self) -> bool:
        """Whether derivatives flow through its value; tensors that a function indexes are another matter."""
        return self.type.differentiable and not self.no_diff

    @property
    def writes_by_index(self) -> bool:
        """Whether it is a tensor that the function may write elements of."""
        return self.type.access in ("write", "read_write")

    @property
    def is_written(self) -> bool:
        """Whether the function may write to it, as an output or by index."""
        return self.io != "in" or self.writes_by_index

    @property
    def why_not(self) -> str:
        """Say why none flow, as in ``it is no_diff``."""
        return "is no_diff" if self.no_diff else f"has type {plain_name(self.type.name)}, which has no derivative"

    def __str__(self) -> str:
        return " ".join(["no_diff"] * self.no_diff + [self.io] * (self.io != "in") + [declare(self.type, self.name)])


@dataclass(frozen=True, slots=True)
class Signature:
    """One overload of a function."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: TypeInfo
    differentiable: bool

    def __str__(self) -> str:
        return f"{plain_name(self.returns.name)} {self.name}({', '.join(map(str, self.parameters))})"


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A function that a module declares, with what its source says about it.

    Attributes
    ----------
    name : str
    overloads : tuple of Signature
        Empty for a generic function: its signature is only known at a call.
    own : int
        How many (non-generic) functions of this name the module declares.
    doc, source, line
        Comment above it, its text, and the line it starts at in the person's numbering.
    attributes : tuple of str
        Such as ``"Differentiable"``.
    """

    name: str
    overloads: tuple[Signature, ...]
    own: int
    doc: str = ""
    source: str = ""
    line: int = 0
    attributes: tuple[str, ...] = ()

    @property
    def differentiable(self) -> bool:
        """True when any overload is, or when a generic one is declared so."""
        return any(s.differentiable for s in self.overloads) or "Differentiable" in self.attributes

    @property
    def signature(self) -> Signature | None:
        """The signature, when there is exactly one."""
        return self.overloads[0] if len(self.overloads) == 1 else None


@dataclass(frozen=True, slots=True)
class ModuleInfo:
    """All functions and structs of a module, in the order of their declaration."""

    functions: Mapping[str, FunctionInfo]
    structs: tuple[str, ...]


def plain_name(name: str) -> str:
    """Write vector and matrix types the short way.

    Examples
    --------
    >>> plain_name("vector<float,3>"), plain_name("matrix<float,2,3>"), plain_name("IDiffTensor<float, 1>")
    ('float3', 'float2x3', 'IDiffTensor<float, 1>')
    """
    for prefix, joint in (("vector<", ""), ("matrix<", "x")):
        if name.startswith(prefix) and name.endswith(">"):
            scalar, *sizes = name[len(prefix) : -1].split(",")
            return scalar + joint.join(s.strip() for s in sizes)
    return name


def declare(t: TypeInfo, name: str) -> str:
    """Write a variable of a type; arrays carry their sizes behind the name.

    Examples
    --------
    >>> declare(TypeInfo("float[4]", "array", "float", (4,)), "v"), declare(TypeInfo("float", "scalar", "float"), "x")
    ('float v[4]', 'float x')
    """
    if t.kind != "array":
        return f"{plain_name(t.name)} {name}"
    base, sizes = t.name.split("[", 1)
    element = plain_name(base)
    return f"{element} {name}[{']['.join(reversed(sizes.rstrip(']').split('][')))}]"


def reflect(loaded: Loaded, text: str, first_line: int) -> ModuleInfo:
    """Read functions and structs of a module from Slang, and their docs and lines from its source.

    Parameters
    ----------
    loaded : Loaded
        The compiled module.
    text : str
        The person's source, unchanged.
    first_line : int
        Number of its first line.
    """
    import slangpy as spy

    written: dict[str, list[Declaration]] = {}
    for d in declarations(text):
        written.setdefault(d.name, []).append(d)
    kinds = spy.DeclReflection.Kind
    own: dict[str, list[Any]] = {}
    for d in loaded.raw.module_decl.children_of_kind(kinds.func):
        own.setdefault(d.name, []).append(d.as_function())
    functions = {}
    layout = loaded.module.layout
    for name in (n for n, found in own.items() if len(found) > 1):
        loaded.overloaded[name] = layout.find_function_by_name(name)
    for name, found in own.items():
        said = written.get(name, [])
        if name.startswith("$") or _is_entry_point(said):
            continue
        # Overloads stand in the same order in the source; where one is a macro's, none can be told apart.
        texts = said if len(said) == len(found) else [None] * len(found)
        overloads = tuple(signature(layout.find_function(f), d) for f, d in zip(found, texts, strict=True))
        functions[name] = _info(name, overloads, len(found), said, text, first_line)
    for name, said in written.items():  # generic functions have no name in Slang's reflection
        unknown = said[0].kind == "function" and name not in functions and not _is_entry_point(said)
        if unknown and layout.find_function_by_name(name) is not None:
            functions[name] = _info(name, (), 0, said, text, first_line)
    structs = [name for d in loaded.raw.module_decl.children_of_kind(kinds.struct) if (name := _struct_name(d))]
    order = list(written)
    ranked = sorted(functions, key=lambda n: order.index(n) if n in written else len(order))
    return ModuleInfo({n: functions[n] for n in ranked}, tuple(structs))


def _struct_name(d: Any) -> str:
    try:
        return d.name
    except RuntimeError:  # the struct of a cbuffer has none
        return ""


def _is_entry_point(said: list[Declaration]) -> bool:
    return any(a.startswith(("shader(", "numthreads(")) for d in said for a in d.attributes)


def _info(
    name: str, overloads: tuple[Signature, ...], own: int, said: list[Declaration], text: str, first_line: int
) -> FunctionInfo:
    if not said:
        return FunctionInfo(name, overloads, own)
    d = said[0]
    source = "\n\n".join(text[slice(*one.span)] for one in said)
    return FunctionInfo(name, overloads, own, d.doc, source, d.line + first_line - 1, d.attributes)


def signature(function: Any, written: Declaration | None = None) -> Signature:
    """Turn SlangPy's reflection of one function into a `Signature`.

    Slang marks a parameter whose type has no derivative (a tensor, a plain struct) ``no_diff`` by itself; for these
    only what the person wrote counts, as do defaults and attributes.
    """
    said = {p.name: p for p in written.parameters} if written is not None else {}
    return Signature(
        function.name,
        tuple(_parameter(p, said.get(p.name)) for p in function.parameters),
        type_info(function.return_type),
        function.differentiable,
    )


def _parameter(p: Any, said: declared.Parameter | None) -> Parameter:
    t = type_info(p.type)
    io = {"IOType.out": "out", "IOType.inout": "inout"}.get(str(p.io_type), "in")
    no_diff = p.no_diff and (t.differentiable or (said is not None and "no_diff" in said.modifiers))
    default, attributes = (said.default, said.attributes) if said is not None else ("", ())
    return Parameter(p.name, t, io, no_diff, p.has_default, default, attributes)


def type_info(t: Any) -> TypeInfo:
    """Turn SlangPy's reflection of a type into a `TypeInfo`."""
    from slangpy import native_refl as refl

    name = t.full_name
    kinds = {
        refl.ScalarType: "scalar",
        refl.VectorType: "vector",
        refl.MatrixType: "matrix",
        refl.ArrayType: "array",
    }
    kind = kinds.get(type(t), "other")
    if isinstance(t, refl.TensorType):
        access = t.access.name
        own = t.dtype.full_name
        return TypeInfo(
            name, "tensor", innermost_scalar(t.dtype), (), False, {}, access, t.diff_tensor, (), own, t.dims
        )
    if kind != "other" and name != "void":
        return TypeInfo(name, kind, innermost_scalar(t), t.shape.as_tuple(), t.differentiable)
    if isinstance(t, refl.StructType):
        order = [f.name for f in t.type_reflection.fields]  # `t.fields` has an order of its own
        fields = {n: type_info(t.fields[n].type) for n in sorted(t.fields, key=order.index)}
        carries = tuple(n for n in fields if n in _derivative_fields(t))
        return TypeInfo(name, "struct", "", (), t.differentiable, fields, carries=carries)
    return TypeInfo(name, "other")


def _derivative_fields(t: Any) -> tuple[str, ...]:
    """Give the fields of a struct's ``Differential``: ``no_diff`` fields and those without derivative are not there."""
    derivative = t.derivative if t.differentiable else None
    return tuple(getattr(derivative, "fields", ()))


def innermost_scalar(t: Any) -> str:
    """Give the name of the scalar type at the bottom of SlangPy's reflection of a vector, matrix or array type."""
    while t.element_type is not None and t.element_type is not t and t.element_type.full_name != t.full_name:
        t = t.element_type
    return t.full_name
