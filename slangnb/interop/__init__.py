"""Other libraries' values in slangnb's calls. Nothing here imports a library before its user did."""

#: Top-level module of a library -> module of its adapter; `slangnb.runtime.foreign` looks here.
ADAPTERS = {"torch": "slangnb.interop.torch_adapter"}
