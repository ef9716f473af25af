"""Turns the text of a cell into a Slang module that can be called."""
