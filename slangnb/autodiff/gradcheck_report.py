"""What `gradcheck` found: as data, as text, and as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

#: Rows of a report.
WORST_ROWS = 10
HEAD = ("argument", "index", "backward", "differences", "error", "")
_LOUD = ' style="color:var(--jp-error-color1,#d32f2f);font-weight:bold"'


@dataclass(frozen=True, slots=True)
class GradcheckRow:
    """One entry of an argument.

    Attributes
    ----------
    argument : str
        Its name; of a struct's field such as ``"p.color"``.
    index : tuple of int
        The element, then the component.
    analytic, numeric : float
        The gradient of the backward pass, and the one from differences.
    relative_error : float
        0 where the two differ by less than differences may be off; infinite where the backward pass is not finite.
    verdict : {"ok", "wrong", "unsure"}
        Close to a kink or a jump, or where differences drown in rounding, nothing can be said.
    """

    argument: str
    index: tuple[int, ...]
    analytic: float
    numeric: float
    relative_error: float
    verdict: str

    @property
    def ok(self) -> bool:
        """Whether it is not wrong."""
        return self.verdict != "wrong"


@dataclass(frozen=True, slots=True)
class GradcheckVerdict:
    """What is said of one argument.

    Attributes
    ----------
    verdict : {"ok", "wrong", "unsure"}
        ``"wrong"`` if any entry is; ``"unsure"`` if nothing can be said of any.
    entries, checked, wrong : int
        All entries; those that something can be said of, and the wrong ones among them. Of a tensor that the function
        indexes itself only a sample is checked.
    still : bool
        Whether all entries were checked, and none of them changes the function's values.
    """

    verdict: str
    entries: int
    checked: int
    wrong: int
    still: bool = False

    def __str__(self) -> str:
        if self.verdict == "wrong":
            rest = f", {self.entries} in all" if self.checked < self.entries else ""
            return f"WRONG in {self.wrong} of {self.checked} entries checked{rest}"
        said = "right" if self.verdict == "ok" else "unsure"
        still = "; the function does not change with it" if self.still else ""
        return f"{said}, {self.checked} of {self.entries} entries checked{still}"


@dataclass(frozen=True, slots=True, repr=False)
class GradcheckReport:
    """The result of `gradcheck`; the last line of a cell shows it as a table.

    Attributes
    ----------
    function : str
        Name of the function.
    ok : bool
        Whether no entry is wrong.
    max_rel_error : float
        The largest relative error, infinite where a gradient is not finite though the function is smooth there.
    rows : tuple of GradcheckRow
        The worst entries, worst first.
    verdicts : dict of str to GradcheckVerdict
        By argument.
    note : str
        What may make a gradient differ on purpose, if one does.
    """

    function: str
    ok: bool
    max_rel_error: float
    rows: tuple[GradcheckRow, ...]
    verdicts: dict[str, GradcheckVerdict]
    note: str = ""

    @property
    def _title(self) -> str:
        found = {v.verdict for v in self.verdicts.values()}
        said = "WRONG" if "wrong" in found else "unsure" if found == {"unsure"} else "right"
        unsure = [name for name, v in self.verdicts.items() if v.verdict == "unsure"]
        if said == "right" and unsure:
            said += f", but {', '.join(unsure)} {'is' if len(unsure) == 1 else 'are'} unsure"
        return f"gradcheck of {self.function}: {said}"

    def __str__(self) -> str:
        lines = [self._title, *(f"  {name}: {v}" for name, v in self.verdicts.items())]
        wide = max(len(HEAD[0]), *(len(r.argument) for r in self.rows))
        index = max(len(HEAD[1]), *(len(_index(r)) for r in self.rows))
        lines.append(f"  {HEAD[0]:<{wide}}  {HEAD[1]:<{index}}{HEAD[2]:>14}{HEAD[3]:>14}{HEAD[4]:>14}")
        for r in self.rows:
            name, place, backward, differences, error, mark = _cells(r)
            mark = f"  <- {mark}" if mark else ""
            lines.append(f"  {name:<{wide}}  {place:<{index}}{backward:>14}{differences:>14}{error:>14}{mark}")
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        said = "".join(f"<li>{escape(name)}: {escape(str(v))}</li>" for name, v in self.verdicts.items())
        body = "".join(f"<tr{_LOUD if r.verdict == 'wrong' else ''}>{_html('td', _cells(r))}</tr>" for r in self.rows)
        head = _html("th", HEAD)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return f"<p>{escape(self._title)}</p><ul>{said}</ul>{table}{note}"


def _index(r: GradcheckRow) -> str:
    return ", ".join(map(str, r.index)) or "-"


def _html(tag: str, cells: Iterable[str]) -> str:
    """Write a row; the names are to the left."""
    left = ' style="text-align:left"'
    return "".join(f"<{tag}{left if k < 2 else ''}>{escape(c)}</{tag}>" for k, c in enumerate(cells))


def _cells(r: GradcheckRow) -> tuple[str, ...]:
    error = "-" if r.verdict == "unsure" else f"{r.relative_error:.1e}" if r.relative_error else "below noise"
    return r.argument, _index(r), f"{r.analytic:.6g}", f"{r.numeric:.6g}", error, "" if r.verdict == "ok" else r.verdict


def make_report(function: str, found: Iterable[tuple[str, GradcheckVerdict, list[GradcheckRow]]]) -> GradcheckReport:
    """Put what was found of the arguments together.

    Examples
    --------
    >>> row = GradcheckRow("x", (0,), 1.0, 2.0, 0.5, "wrong")
    >>> print(make_report("f", [("x", GradcheckVerdict("wrong", 1, 1, 1), [row])]))
    gradcheck of f: WRONG
      x: WRONG in 1 of 1 entries checked
      argument  index      backward   differences         error
      x         0                 1             2       5.0e-01  <- wrong
    """
    verdicts: dict[str, GradcheckVerdict] = {}
    rows: list[GradcheckRow] = []
    for name, verdict, worst in found:
        verdicts[name] = verdict
        rows += worst
    rows.sort(key=rank)
    errors = [r.relative_error for r in rows]
    ok = all(v.verdict != "wrong" for v in verdicts.values())
    return GradcheckReport(function, ok, max(errors, default=0.0), tuple(rows[:WORST_ROWS]), verdicts)


def rank(r: GradcheckRow) -> tuple[int, float]:
    """Order rows: wrong ones first, then by their error; of unsure ones nothing is known."""
    return ("wrong", "ok", "unsure").index(r.verdict), -r.relative_error
