"""Says what to write instead: a table from the compiler's messages to remedies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from slangnb.compiler.advice import autodiff_rules as autodiff
from slangnb.compiler.advice import syntax_rules as syntax
from slangnb.compiler.advice import type_rules as types
from slangnb.compiler.advice.case import Case, cases
from slangnb.compiler.advice.python_rules import python_syntax, without_consequences
from slangnb.compiler.graph import Known
from slangnb.compiler.source import Source
from slangnb.errors import Diagnostic

_CORE = re.compile(r"[\w.]+\.meta\.slang")
# A rule gives the remedy, or the whole diagnostic at a better place, or "" to let the next rule try.
_Rule = Callable[[Case, re.Match[str]], Diagnostic | str]

#: Code, pattern of the message, rule. The first rule with an answer counts; codes may be patterns.
_TABLE: tuple[tuple[str, str, _Rule], ...] = (
    (r"E99997", r"", autodiff.internal_error),
    (r"E30510", r"", autodiff.loop_needs_attribute),
    (r".*", r"", autodiff.second_derivative),
    (r"E30027", r"'(?:bwd|fwd)_diff' is not a member of '(?P<name>[\w.:]+)'", autodiff.not_differentiable),
    (r"E41022", r"function `(?P<name>[\w.:]+)`", autodiff.callee_not_differentiable),
    (r"E41031", r"", autodiff.lost_in_assignment),
    (r"E38031", r"", autodiff.misplaced_no_diff),
    (r"E38029", r"'(?P<name>[^']+)' does not conform to .*'(?P<base>\w+)'", autodiff.conformance),
    (r"E38105", r"member '(?P<name>\w+)'", autodiff.interface_member_differentiable),
    (r"E31149", r"position (?P<position>\d{1,3})\. expected '(?P<type>[^']+)'", autodiff.custom_derivative),
    (r"E40020", r"", autodiff.unrolling),
    (r"E55201", r"call to '(?P<name>[^']+)'", autodiff.recursion),
    (r"E41009|E41010", r"", autodiff.missing_return),
    (r"E36107", r"", autodiff.unavailable),
    (r"E361\d\d", r"", autodiff.capability),
    (r"", r"\w*Tensor<double\b", autodiff.double_tensor),
    (r"E30027", r"'__slangpy_\w+' is not a member of '(?P<type>[^']+)'", autodiff.generated_member),
    (r"E20103|E2000\d|E30060|E30200|E39999|E30047", r"", autodiff.generated_name),
    (r"E30015", r"'(?P<name>\w+)'", syntax.undefined),
    (r"E00001|E15300", r"'(?P<name>[^']+)'", syntax.cannot_open),
    (r"E15101", r"'(?P<name>[^']*)'", syntax.directive),
    (r"E31000", r"'(?P<name>\w+)'", syntax.attribute),
    (r"E31002", r"attribute '(?P<name>\w+)'", syntax.attribute_alone),
    (r"E2\d{4}", r"", python_syntax),
    (r"E20001", r"(?<!un)expected ';'", syntax.missing_semicolon),
    (r"E20001", r"unexpected '}', expected identifier", syntax.stray_brace),
    (r"E20001", r"unexpected .+, expected identifier", syntax.no_name),
    (r"E20001", r"unexpected (?P<found>.+), expected '(?P<wanted>[^']+)'", syntax.unexpected),
    (r"E20002", r"", syntax.syntax_error),
    (r"E20103", r"'(?P<name>\w+)'", syntax.keyword_name),
    (r"E30102", r"(?P<what>\w+) is not allowed here", syntax.not_allowed_here),
    (r"E10000", r"illegal character (?P<what>.+)", syntax.illegal_character),
    (r"E10001|E10005", r"", syntax.literal),
    (r"E3020[01]", r"'(?P<name>[^']+)'", syntax.redefinition),
    (r"E30600", r"'(?P<name>\w+)'", syntax.not_public),
    (r"E45001", r"'(?P<name>[^']+)'", syntax.unresolved),
    (r"E30027", r"'(?P<name>\w+)' is not a member of '(?P<type>.+?)'\.?$", types.member),
    (r"E30019", r"type '(?P<wanted>[^']+)', got '(?P<got>[^']+)'", types.mismatch),
    (r"E30081", r"from '(?P<of>[^']+)' to '(?P<to>[^']+)'", types.conversion),
    (r"E39999|E30438", r"(?:too many|not enough) arguments|the call provides", types.arguments),
    (
        r"E39999",
        r"no overload for '(?P<name>[^']+)' applicable to arguments of type \((?P<types>.*)\)",
        types.no_overload,
    ),
    (r"E39999", r"ambiguous call to '(?P<name>[^']+)' with arguments of type \((?P<types>.*)\)", types.no_overload),
    (r"E39999", r"invalid suffix '(?P<suffix>\w+)' on", syntax.literal_suffix),
    (r"E30441", r"generic '(?P<name>\w*Tensor)'", types.tensor_dimensions),
    (r"E30013", r"no subscript declarations", types.one_bracket),
    (r"E30029", r"for array of size '(?P<size>\d+)'", types.out_of_bounds),
    (r"E39999", r"could not specialize generic for arguments", types.pair),
    (r"E39999", r"compile-time constant", types.not_constant),
    (r"E39999", r"operator '(?P<mark>[^']+)' requires integer operands", types.integer_operator),
    (r"E30011", r"", types.not_assignable),
    (r"E30047", r"", types.needs_variable),
    (r"E30057", r"", types.assignment_in_condition),
    (r"E30620", r"", types.untyped),
    (r"E41024", r"", types.comma),
    (r"E30056", r"", types.vector_choice),
    (r"E30006", r"", types.return_value),
    (r"E41016", r"'(?P<name>\w+)'", types.uninitialised),
    (r"E31224", r"'(?P<name>\w+)'", types.global_constant),
    (r"E38100", r"type '(?P<type>[^']+)' .*member '(?P<name>[^']+)'", types.missing_member),
)


def with_remedies(
    diags: Iterable[Diagnostic], sources: Mapping[str, Source], known: Known | None = None
) -> tuple[Diagnostic, ...]:
    """Add to each diagnostic what to write instead, where that is known.

    A missing ``;`` is moved to the line that lacks it, and the compiler's own "did you mean" gives way to a
    better answer.

    Parameters
    ----------
    diags : iterable of Diagnostic
        As `parse` gives them.
    sources : mapping of str to Source
        The sources that they are about.
    known : mapping of str to names, optional
        Other cells and files, and what they declare: see `Graph.names`.

    Examples
    --------
    >>> d = Diagnostic("error", "E30015", "undefined identifier 'mix'.", "In[3]", 1, 3, 3, "  mix(a, b, t);")
    >>> with_remedies([d], {})[0].remedy
    'write `lerp(a, b, t)`'
    """
    answered = [(case, *_answered(case)) for case in cases(diags, sources, known or {})]
    return tuple(without_consequences(_once(answered)))


def _once(answered: Iterable[tuple[Case, Diagnostic, bool]]) -> Iterator[tuple[Case, Diagnostic, bool]]:
    """Leave out that a name is not known where it is used again in the same function, and a second comma of a list."""
    seen = set()
    for case, d, is_python in answered:
        around = case.around if d.code == "E30015" else None
        place = around.span if around else d.line
        key = (d.code, d.file, d.message, d.remedy, place)
        if key in seen and d.code in ("E30015", "E41024"):
            continue
        seen.add(key)
        yield case, d, is_python


def _answered(case: Case) -> tuple[Diagnostic, bool]:
    """Give the diagnostic with its remedy, and whether it is about Python."""
    d = case.diagnostic
    if d.remedy or d.severity == "note":
        return d, False
    for code, pattern, rule in _TABLE:
        match = re.search(pattern, d.message) if re.fullmatch(code, d.code) else None
        answer = rule(case, match) if match else ""
        if isinstance(answer, Diagnostic):
            return replace(answer, notes=_useful(d)), False
        if answer:
            return replace(d, remedy=answer, notes=_useful(d)), rule is python_syntax
    return d, False


def _useful(d: Diagnostic) -> tuple[Diagnostic, ...]:
    """Leave out the compiler's guesses, and its own files: the remedy says more."""
    return tuple(n for n in d.notes if not n.message.startswith("did you mean") and not _CORE.fullmatch(n.file))
