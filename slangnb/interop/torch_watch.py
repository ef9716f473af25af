"""Has the audit look at calls in torch's memory: at the first, and at later ones as it asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slangnb.autodiff.callee import find
from slangnb.autodiff.transforms import make_call
from slangnb.interop.torch_memory import device_array
from slangnb.runtime.function import Function
from slangnb.runtime.fused.audit import audit

#: Tensors of more numbers are not copied for the audit.
MOST_COPIED = 1 << 20


def seen(t: Any) -> Any:
    """Give a tensor's numbers as the audit reads them; of a large one, how it lies."""
    return t.detach().cpu().numpy() if t.numel() <= MOST_COPIED else device_array(t)


@dataclass
class Watch:
    """Calls of one kind.

    Attributes
    ----------
    function : Function
    name : str
        What calls it, for messages.
    spared, skipped : int
        Calls that need no look, and those that had none.
    """

    function: Function
    name: str
    spared: int = 0
    skipped: int = 0

    def look(self, named: Callable[[], Mapping[str, Any]]) -> None:
        """Count a call; look at it if it is due. `named` gives its arguments, with tensors as `seen` gives them.

        Raises
        ------
        GradientError
            If reverse mode is wrong for it.
        """
        if self.skipped < self.spared:
            self.skipped += 1
            return
        session = self.function.session
        if not session.entered:  # torch's backward passes run in threads of its own
            session.enter()
        callee = find(self.function, (), named(), self.name)
        skipped, self.spared, self.skipped = self.skipped, 0, 0
        self.spared = audit(make_call(self.function, callee), skipped)
