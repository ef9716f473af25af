"""What a generated kernel computes, as plain data. Nothing here touches a device."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from slangnb.compiler.reflection import PLAIN_KINDS, REAL, Parameter, TypeInfo

GROUP = 256


@dataclass(frozen=True, slots=True)
class Leaf:
    """A part of an argument that has memory of its own.

    Attributes
    ----------
    id : str
        Its name in the kernel, such as ``"p_color"``.
    suffix : str
        The part of the argument's variable that it fills, such as ``".color"``.
    type : TypeInfo
        Scalar, vector, matrix or array; or a struct that is stored whole.
    access : {"uniform", "one", "each", "strided"}
        One value for all, as uniforms or in a buffer; one for each element, in the order of the elements; or found by
        strides, of which some may be 0.
    wanted : bool
        Whether its gradient is asked for.
    addressed : bool
        Whether the kernel gets an address instead of a buffer.
    aligned : bool
        Whether the address is a multiple of eight bytes.
    """

    id: str
    suffix: str
    type: TypeInfo
    access: str
    wanted: bool = False
    addressed: bool = False
    aligned: bool = False

    @property
    def shared(self) -> bool:
        """Whether all elements read the same value, so that its gradient is a sum over all of them."""
        return self.access in ("uniform", "one")

    @property
    def whole(self) -> bool:
        """Whether it is a struct in one buffer."""
        return self.type.kind == "struct"

    @property
    def parts(self) -> list[str]:
        """Index expressions of its scalars, behind `suffix`."""
        return components(self.type)


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the function.

    Attributes
    ----------
    parameter : Parameter
        What the function declares.
    leaves, tangents : tuple of Leaf
        What fills its value, and its tangent in forward mode.
    tensor : str
        For a tensor that the function indexes itself: the concrete type that is bound, such as
        ``"DiffTensor<float, 2>"``. The function's parameter may be an interface.
    """

    parameter: Parameter
    leaves: tuple[Leaf, ...] = ()
    tangents: tuple[Leaf, ...] = ()
    tensor: str = ""

    @property
    def name(self) -> str:
        """Name of the parameter."""
        return self.parameter.name

    @property
    def uniform(self) -> bool:
        """Whether all of it is the same for all elements, so that it is read once for each thread."""
        return all(leaf.shared for leaf in (*self.leaves, *self.tangents))

    @property
    def wants_tensor_gradient(self) -> bool:
        """Whether it is an indexed tensor whose gradient is asked for."""
        return self.tensor.startswith("DiffTensor")


@dataclass(frozen=True, slots=True)
class Output:
    """A result of the function: what it returns, or an ``out`` or ``inout`` parameter.

    Attributes
    ----------
    name : str
        Of the parameter; empty for what is returned.
    type : TypeInfo
    id : str
        What people call it: the name, or ``"result"``.
    derivable : bool
        Whether derivatives flow through it.
    seeds : tuple of Leaf
        They fill its upstream gradient; without any it is 1 for all elements and components.
    silent : bool
        Whether its upstream gradient is 0, so that it does not count.
    """

    name: str
    type: TypeInfo
    id: str
    derivable: bool = True
    seeds: tuple[Leaf, ...] = ()
    silent: bool = False

    @property
    def mark(self) -> str:
        """Its name in the kernel; that of the returned value can be no parameter's."""
        return self.name or "0"

    @property
    def reals(self) -> list[tuple[str, str]]:
        """Index expressions and scalar types of what has a derivative."""
        return derivative_components(self.type) if self.derivable else []


@dataclass(frozen=True, slots=True)
class Job:
    """One launch.

    Attributes
    ----------
    call : str
        How the function is called, such as ``"f"`` or ``"square<float>"``.
    modules : tuple of str
        Modules to import.
    arguments : tuple of Argument
        In the order of the parameters.
    outputs : tuple of Output
    mode : {"forward", "reverse", "tangent"}
        Values only; gradients by ``bwd_diff``; values with tangents by ``fwd_diff``.
    value : bool
        Whether the sum of all values is computed, too.
    stores : bool
        Whether the value for each element is stored.
    accumulate : bool
        Whether gradients are added to what their buffers hold.
    per_thread : int
        Elements that one thread takes; 0: not decided yet.
    exact : bool
        Whether threads times `per_thread` is the number of elements, so that no bound needs to be checked.
    slots : {"group", "thread", "last"}
        Who leaves its sum in a slot: the group, after adding over its threads; each thread, where groups are slow; or
        the group, and the last one adds all slots.
    rank : int
        Number of dimensions that strided leaves need; 0 if there is none.
    prelude : str
        Slang text before the kernel.
    addressed : bool
        Whether results and sums go to another library's memory, by address.
    tensors : bool
        Whether results are tensors, whatever the arguments are.
    host : bool
        Whether results go to this process's own memory, by address.
    block : int
        Elements that follow each other which a thread takes at a time; see `blocks`.
    """

    call: str
    modules: tuple[str, ...]
    arguments: tuple[Argument, ...]
    outputs: tuple[Output, ...]
    mode: str
    value: bool = False
    stores: bool = False
    accumulate: bool = False
    per_thread: int = 0
    exact: bool = False
    slots: str = "group"
    rank: int = 0
    prelude: str = ""
    addressed: bool = False
    tensors: bool = False
    host: bool = False
    block: int = 1

    @property
    def double(self) -> bool:
        """Whether a result is double, so that values and seeds are."""
        return any(s == "double" for o in self.outputs for _, s in o.reals)

    @property
    def scaled(self) -> bool:
        """Whether the kernel multiplies by a factor: gradients, or sums that it brings to an address itself."""
        return self.mode == "reverse" or (self.addressed and self.slots == "last")

    def by_address(self, o: Output) -> bool:
        """Whether a result goes to an address; structs go to buffers."""
        return self.addressed or (self.host and o.type.kind in PLAIN_KINDS and o.type.scalar != "bool")

    @property
    def leaves(self) -> list[Leaf]:
        """All leaves: of the arguments, their tangents, and the seeds."""
        own = [leaf for a in self.arguments for leaf in (*a.leaves, *a.tangents)]
        return own + [leaf for o in self.outputs for leaf in o.seeds]


@dataclass(frozen=True, slots=True)
class Row:
    """One number that is summed over all elements.

    Attributes
    ----------
    id : str
        Name of its accumulator.
    scalar : {"float", "double"}
        Type of the accumulator.
    leaf : str
        Of the leaf whose gradient it is, or whose gradients' magnitudes it sums; empty for the value.
    kind : {"value", "gradient", "size"}
        ``"size"`` rows tell gradients that are zero everywhere, or not finite somewhere; another library can look
        for itself.
    """

    id: str
    scalar: str
    leaf: str
    kind: str


@dataclass(frozen=True, slots=True)
class Rows:
    """What a job sums: accumulators of float and of double have buffers of their own."""

    all: tuple[Row, ...] = field(default=())

    def of(self, scalar: str) -> list[Row]:
        """The rows of one type, in the order of their buffer."""
        return [r for r in self.all if r.scalar == scalar]

    def gradients_of(self, leaf: str) -> list[Row]:
        """The rows that sum the gradient of a leaf, a row for each scalar."""
        return [r for r in self.all if r.leaf == leaf and r.kind == "gradient"]

    @property
    def scalars(self) -> list[str]:
        """The types in use."""
        return [s for s in ("float", "double") if self.of(s)]


def components(t: TypeInfo) -> list[str]:
    """Give the index expressions of all scalars of a type, in memory order.

    Examples
    --------
    >>> components(TypeInfo("matrix<float,2,2>", "matrix", "float", (2, 2)))
    ['[0][0]', '[0][1]', '[1][0]', '[1][1]']
    """
    if t.kind == "struct":
        return [f".{name}{rest}" for name, inner in t.fields.items() for rest in components(inner)]
    return ["".join(f"[{i}]" for i in index) for index in itertools.product(*map(range, t.shape))]


def derivative_components(t: TypeInfo) -> list[tuple[str, str]]:
    """Give the index expressions of the scalars that a type's derivative has, each with its scalar type.

    Examples
    --------
    >>> x, n = TypeInfo("float", "scalar", "float", (), True), TypeInfo("int", "scalar", "int")
    >>> derivative_components(TypeInfo("P", "struct", fields={"x": x, "n": n}, carries=("x",)))
    [('.x', 'float')]
    """
    if t.kind == "struct":
        return [(f".{name}{rest}", s) for name in t.carries for rest, s in derivative_components(t.fields[name])]
    return [(rest, t.scalar) for rest in components(t)] if t.scalar in REAL else []


def accumulator(scalar: str) -> str:
    """Give the type in which values of a scalar type are summed: half in float, double in double."""
    return "double" if scalar == "double" else "float"


def rows(job: Job) -> Rows:
    """List what a job sums over all elements: the value, gradients of shared leaves, magnitudes of all gradients."""
    found = []
    if job.value:
        found.append(Row("sn_sum_value", "double" if job.double else "float", "", "value"))
    if job.mode == "reverse":
        for a in job.arguments:
            for leaf in a.leaves:
                kind = accumulator(leaf.type.scalar)
                if leaf.wanted and leaf.shared:
                    found += [Row(f"sn_sum_{leaf.id}_{k}", kind, leaf.id, "gradient") for k in range(len(leaf.parts))]
                if leaf.wanted and not job.addressed:
                    found.append(Row(f"sn_size_{leaf.id}", kind, leaf.id, "size"))
    return Rows(tuple(found))


def outputs_of(returns: TypeInfo, parameters: Sequence[Parameter]) -> list[Output]:
    """List the results of a function, the returned one last.

    Examples
    --------
    >>> x = TypeInfo("float", "scalar", "float", (), True)
    >>> [o.id for o in outputs_of(x, [Parameter("a", x), Parameter("b", x, "out")])]
    ['b', 'result']
    """
    found = [Output(p.name, p.type, p.name, p.derivable) for p in parameters if p.io != "in"]
    if returns.name == "void":
        return found
    own = "result" if all(o.id != "result" for o in found) else "returned"
    return [*found, Output("", returns, own, returns.differentiable)]
