"""Sessions, tensors and functions: what a person calls."""
