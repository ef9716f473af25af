"""Opens and closes devices: one per backend and process."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from slangnb.devices.backend import Backend, import_slangpy, slangpy_version
from slangnb.devices.caches import kernel_caches
from slangnb.devices.cuda import current_kept, ordinal_of, primary_context
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

    Raises
    ------
    BackendError
        If SlangPy cannot create the device.
    """
    spy = import_slangpy()
    caches = kernel_caches(slangpy_version(), backend.key)
    modules, kernels = caches if caches else (None, None)
    if kernels is not None:
        free_readers(kernels)
    is_cuda, beside_torch = backend.name == "cuda", backend.name in ("vulkan", "d3d12") and "torch" in sys.modules
    try:
        # Some cards warn here of shader models that only Direct3D has.
        with nullcontext() if is_cuda else current_kept(), captured_log():
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
