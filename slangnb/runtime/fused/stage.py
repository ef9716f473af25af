"""One kernel with the values bound to it; they stay bound until they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import slangpy

    from slangnb.runtime.session import Session


class Stage:
    """A compute kernel, what is bound to it, and how many threads it takes.

    Binding costs more than launching, so only what differs from the last launch is written. The device reads the
    values when a launch is recorded: they may change while it runs.
    """

    def __init__(self, device: slangpy.Device, kernel: slangpy.ComputeKernel) -> None:
        import slangpy as spy

        self._pipeline = kernel.pipeline
        self._root = device.create_root_shader_object(kernel.program)
        self._cursor: Any = spy.ShaderCursor(self._root).find_entry_point(0)
        self._places: dict[str, Any] = {}
        self._bound: dict[str, Any] = {}
        self.threads = 0

    @property
    def threads(self) -> int:
        """How many threads it takes."""
        return self._size.x

    @threads.setter
    def threads(self, count: int) -> None:
        import slangpy as spy

        self._size = spy.uint3(count, 1, 1)

    def _write(self, name: str, value: Any) -> None:
        place = self._places.get(name)
        if place is None:
            place = self._places[name] = self._cursor[name]
        place.write(value)

    def set(self, name: str, value: float | bool) -> None:
        """Bind a number."""
        if self._bound.get(name) != value or value != value or value == 0:  # NaN equals nothing, and -0.0 equals 0.0
            self._bound.pop(name, None)  # the stop button may come in between
            self._write(name, value)
            self._bound[name] = value

    def put(self, name: str, buffer: slangpy.Buffer, addressed: bool = False) -> None:
        """Bind a buffer, and hold it; or its address alone."""
        if addressed:
            self.set(name, buffer.device_address)
        elif self._bound.get(name) is not buffer:
            self._bound.pop(name, None)
            self._write(name, buffer)
            self._bound[name] = buffer

    def put_loosely(self, name: str, buffer: slangpy.Buffer, addressed: bool = False) -> None:
        """Bind a buffer of the pool, which takes it back once all that was submitted is done; or its address alone."""
        if addressed:
            self.set(name, buffer.device_address)
        else:
            self._bound.pop(name, None)
            self._write(name, buffer)

    def put_dict(self, name: str, value: dict[str, Any]) -> None:
        """Bind a struct of buffers and numbers."""
        self._write(name, value)

    def put_globals(self, values: Mapping[str, Any]) -> None:
        """Bind global uniforms of the modules, as ``f.set`` does."""
        import slangpy as spy

        spy.ShaderCursor(self._root).write(dict(values))

    def record(self, encoder: slangpy.CommandEncoder) -> None:
        """Record the launch."""
        commands = encoder.begin_compute_pass()  # a `with` would cost a tenth of the launch
        commands.bind_pipeline(self._pipeline, self._root)
        commands.dispatch(self._size)
        commands.end()


def submit(
    device: slangpy.Device,
    stages: Iterable[Stage],
    copies: Iterable[tuple[slangpy.Buffer, slangpy.Buffer, int]] = (),
    cleared: Iterable[slangpy.Buffer] = (),
    stream: int = 0,
) -> int:
    """Set buffers to zero, run stages one after the other, then copy buffers: (target, source, bytes).

    Gives the submission's number. On CUDA it goes to a stream, by its handle; 0 is the default stream.
    """
    encoder = device.create_command_encoder()
    for buffer in cleared:
        encoder.clear_buffer(buffer)
    first = True
    for stage in stages:
        if not first:
            encoder.global_barrier()
        stage.record(encoder)
        first = False
    for target, source, size in copies:
        encoder.copy_buffer(target, 0, source, 0, size)
    if stream:
        import slangpy as spy

        return device.submit_command_buffer(encoder.finish(), cuda_stream=spy.NativeHandle.from_cuda_stream(stream))
    return device.submit_command_buffer(encoder.finish())


def run_stages(
    session: Session,
    stages: Iterable[Stage],
    waits: bool,
    held: Any,
    copies: Iterable[tuple[slangpy.Buffer, slangpy.Buffer, int]] = (),
    cleared: Iterable[slangpy.Buffer] = (),
    stream: int = 0,
) -> None:
    """Submit stages, and wait for them if asked to; the stop button at any moment leaves `held` alive until they end.

    The other arguments are those of `submit`.
    """
    try:
        number = submit(session.device, stages, copies, cleared, stream)
        if waits:
            session.wait(number, held)
    except KeyboardInterrupt:
        raise session.entry.stopped(held) from None
