"""Which module imports which: names of cells and files, order of building, dependents, cycles. Pure data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slangnb.compiler.reading.declarations import declarations
from slangnb.compiler.source import Source
from slangnb.errors import SlangNbError

#: What other cells and files declare, by the name of a cell or the label of what has no name.
Known = Mapping[str, Sequence[str]]


@dataclass
class Unit:
    """One source that is compiled as a module of its own.

    Attributes
    ----------
    key : str
        What stays the same when its text is edited: a cell's name, a file's path, or a key made up for a cell
        without a name.
    source : Source
        The text as the person wrote it.
    imports : dict of str to str
        Name as written in the source -> key of the unit it means.
    include, folder : paths
        Where imported files are looked for.
    module : str
        Current hashed module name.
    text : str
        The whole text that Slang compiled under that name.
    outdated : SlangNbError or None
        Why name and text are not up to date with what it imports.
    """

    key: str
    source: Source
    imports: dict[str, str] = field(default_factory=dict)
    include: tuple[Path, ...] = ()
    folder: Path | None = None
    module: str = ""
    text: str = ""
    outdated: SlangNbError | None = None


class Graph:
    """All units of a session."""

    def __init__(self) -> None:
        self._units: dict[str, Unit] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._units

    def __getitem__(self, key: str) -> Unit:
        return self._units[key]

    def get(self, key: str) -> Unit | None:
        """Give the unit of this key, if there is one."""
        return self._units.get(key)

    def __iter__(self) -> Iterator[Unit]:
        return iter(list(self._units.values()))

    def put(self, unit: Unit) -> None:
        """Add a unit, or replace the one of the same key."""
        self._units[unit.key] = unit

    def remove(self, key: str) -> None:
        """Forget a unit; does nothing when it is not there."""
        self._units.pop(key, None)

    def names(self, besides: Unit | None = None) -> Known:
        """Give what each unit declares, by the name that people know it by; leave out the unit `besides`.

        An unnamed cell that declares something of `besides` is the same cell before an edit, and is left out too.

        Examples
        --------
        >>> g = Graph()
        >>> g.put(Unit("tools", Source("float twice(float x) { return 2 * x; }", "tools")))
        >>> g.put(Unit("cell 1a2b", Source("float poly(float x) { return x; }", "In[5]")))
        >>> g.put(Unit("cell 3c4d", Source("float area(float x) { return x; }", "source")))
        >>> g.names()
        {'tools': ('twice',), 'In[5]': ('poly',), '`source`': ('area',)}
        """
        own = set(_declared(besides)) if besides else set()
        found: dict[str, tuple[str, ...]] = {}
        for unit in self:
            named = unit.key.isidentifier()
            names = _declared(unit)
            if besides is None or (unit.key != besides.key and (named or own.isdisjoint(names))):
                label = unit.source.label
                # The label of a source without a name may look like a name, which could be imported.
                name = unit.key if named else f"`{label}`" if label.isidentifier() else label
                found[name] = (*found.get(name, ()), *names)
        return found

    def cycle(self, key: str, imports: dict[str, str]) -> list[str]:
        """Give the keys of a cycle that would arise if `key` had these imports, or an empty list.

        Examples
        --------
        >>> g = Graph()
        >>> g.put(Unit("a", Source("", "a"), {"b": "b"}))
        >>> g.cycle("b", {"a": "a"})
        ['b', 'a', 'b']
        """
        stack = [(target, [key, target]) for target in imports.values()]
        seen: set[str] = set()
        while stack:
            here, path = stack.pop()
            if here == key:
                return path
            if here in seen or (unit := self._units.get(here)) is None:
                continue
            seen.add(here)
            stack += [(target, [*path, target]) for target in unit.imports.values()]
        return []

    def chain(self, key: str) -> list[Unit]:
        """Give the unit and all that it imports, each after what it needs itself."""
        done: dict[str, Unit] = {}

        def visit(k: str) -> None:
            # Read once: a unit of a cell without a name leaves when the garbage collector takes its module.
            if k in done or (unit := self._units.get(k)) is None:
                return
            for target in unit.imports.values():
                visit(target)
            done[k] = unit

        visit(key)
        return list(done.values())

    def needs(self, unit: Unit) -> list[Unit]:
        """Give all that a unit imports, each after what it needs itself; the unit need not be one of the graph."""
        found = {u.key: u for k in unit.imports.values() for u in self.chain(k)}
        return list(found.values())

    def dependents(self, key: str) -> list[Unit]:
        """Give the units that import `key`, directly or not, in the order in which they must be rebuilt."""
        wanted = {key}
        grown = True
        while grown:
            more = {u.key for u in self if wanted & set(u.imports.values())} - wanted
            wanted |= more
            grown = bool(more)
        order: dict[str, Unit] = {}
        for k in [u.key for u in self if u.key in wanted]:  # the order of a set is another in each process
            for unit in self.chain(k):
                order.setdefault(unit.key, unit)
        # `chain` puts needs first, and later chains only add what was not there.
        return [u for u in order.values() if u.key in wanted and u.key != key]


def _declared(unit: Unit) -> tuple[str, ...]:
    return tuple(dict.fromkeys(d.name for d in declarations(unit.source.text)))
