"""Kernels that slangnb writes itself: a whole call of a function, with its gradients and sums, in one launch."""
