"""Transforms of functions: value and gradient in one kernel, products with derivatives, and their check."""
