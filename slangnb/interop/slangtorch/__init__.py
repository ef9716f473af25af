"""Cells of slangtorch: kernels in CUDA whose entry points take torch tensors."""
