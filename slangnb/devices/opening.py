"""Opens and closes devices: one per backend and process."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from slangnb.devices.backend import Backend, import_slangpy, slangpy_version
from slangnb.devices.caches import kernel_caches
from slangnb.devices.cuda import ordinal_of, primary_context, set_current
from slangnb.devices.log import captured_log
from slangnb.devices.readers import free_readers
from slangnb.errors import BackendError

if TYPE_CHECKING:
    import slangpy


def open_device(backend: Backend, enable_print: bool = True) -> slangpy.Device:
    """Create the SlangPy device of a backend, with caches on disk.

    On CUDA it lives in the card's primary context, as PyTorch does, so that their memory is one. Other devices of an
    NVIDIA card can copy from and to that context, if PyTorch is imported already: it costs a second and CUDA's memory.

    Hot reload stays off: its hook touches the device after it is closed, and that ends the process
    (SlangPy 0.43).

    The device is made in a thread of its own, which ends at once. Slang keeps a pointer to a device's compiler in the
    thread that made it, and takes it away in the thread that lets go of the device, which may be any: Python collects
    garbage, and torch its graphs, in threads of theirs. In between, what another device compiles in the first thread
    reads freed memory (Slang 2026.12). In a thread that has no pointer Slang does without.

    Raises
    ------
    BackendError
        If SlangPy cannot create the device.
    """
    import_slangpy()
    modules, kernels = kernel_caches(slangpy_version(), backend.key) or (None, None)
    if kernels is not None:
        free_readers(kernels)
    found: list[slangpy.Device | BackendError] = []

    def make() -> None:
        try:
            found.append(_create(backend, modules, kernels, enable_print))
        except BackendError as error:  # raised again where it is waited for
            found.append(error)

    # No executor: one cannot be made any more once the main thread has ended.
    alone = Thread(target=make, daemon=True)
    alone.start()
    alone.join()
    made = found[0]
    if isinstance(made, BackendError):
        raise made
    set_current(made)
    return made


def _create(backend: Backend, modules: Path | None, kernels: Path | None, enable_print: bool) -> slangpy.Device:
    """Create the device, on CUDA in the context that is made current in this thread."""
    spy = import_slangpy()
    is_cuda, beside_torch = backend.name == "cuda", backend.name in ("vulkan", "d3d12") and "torch" in sys.modules
    try:
        # Some cards warn here of shader models that only Direct3D has.
        with captured_log():
            ordinal = ordinal_of(backend.luid) if is_cuda or beside_torch else None
            shared = primary_context(ordinal) if ordinal is not None else []
            return spy.Device(
                type=getattr(spy.DeviceType, backend.name),
                adapter_luid=None if is_cuda and shared else backend.luid or None,
                existing_device_handles=shared or None,
                enable_cuda_interop=beside_torch and bool(shared),
                enable_hot_reload=False,
                enable_print=enable_print,
                compiler_options={"include_paths": [spy.SHADER_PATH]},
                module_cache_path=modules,
                shader_cache_path=kernels,
                label="slangnb",
            )
    except RuntimeError as error:
        raise BackendError(
            f"the {backend.key} device ({backend.adapter}) cannot be created: {str(error).splitlines()[0]}",
            remedy="`slangnb doctor` probes each backend and says what is missing",
        ) from error
