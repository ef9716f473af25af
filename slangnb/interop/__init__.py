"""Other libraries' values in slangnb's calls. Nothing here imports a library before its user did."""

#: Top-level module of a library -> module of its adapter; `slangnb.runtime.foreign` looks here.
ADAPTERS = {"torch": "slangnb.interop.torch_adapter"}

#: What stands for a value while a library traces a function -> what to write, since there is no number to pass.
TRACED = {
    "torch.fx.proxy.Proxy": "let torch.fx not look inside: call a function marked with torch.fx.wrap, or trace with a "
    "torch.fx.Tracer whose is_leaf_module is true for sn.torch.SlangModule",
}
