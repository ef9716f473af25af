"""Offers words in ``%%slang`` cells and on ``%slang`` lines: a matcher that IPython asks before its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.interactiveshell import InteractiveShell

from slangnb.notebook.candidates import Known, candidates
from slangnb.notebook.commands import COMMANDS
from slangnb.notebook.options import option_names
from slangnb.runtime.current import has_session, session
from slangnb.runtime.function import Function

if TYPE_CHECKING:
    from slangnb.notebook.magics import SlangMagics


def register(magics: SlangMagics) -> None:
    """Answer for Slang code; what it does not know is left to IPython."""
    _matchers(magics.shell).append(_Completion(magics).match)


def unregister(shell: InteractiveShell) -> None:
    """Leave all completion to IPython again."""
    found = _matchers(shell)
    found[:] = [m for m in found if not isinstance(getattr(m, "__self__", None), _Completion)]


def _matchers(shell: Any) -> list[Any]:
    return shell.Completer.custom_matchers


@dataclass(frozen=True, slots=True)
class _Completion:
    magics: SlangMagics

    @context_matcher(identifier="slangnb")
    def match(self, context: CompletionContext) -> SimpleMatcherResult:
        """Give the words that fit at the cursor; where there are any, Python's own are left out."""
        lines = context.full_text.split("\n")[: context.cursor_line]
        offset = sum(len(line) + 1 for line in lines) + context.cursor_position
        found = candidates(context.full_text, offset, self._known())
        words = [SimpleCompletion(w, type=kind) for w, kind in found.fitting().items()]
        return {"completions": words, "matched_fragment": found.typed, "suppress": True}

    def _known(self) -> Known:
        """Look at the notebook; never starts a session."""
        parser: Any = self.magics.slang.parser  # pyright: ignore[reportAttributeAccessIssue]
        modules = session().modules if has_session() else {}
        return Known(
            commands=tuple(COMMANDS),
            options=tuple(option_names(parser)),
            functions=tuple(n for n, v in self.magics.shell.user_ns.items() if isinstance(v, Function)),
            modules={name: tuple(module) for name, module in modules.items()},
        )
