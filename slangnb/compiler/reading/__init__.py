"""Reads Slang text without compiling it: spans, tokens, declarations."""
