"""Transforms of functions: value and gradient in one kernel."""
