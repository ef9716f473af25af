"""A function explored: its curve and its derivative over a range, with sliders for its other parameters."""
