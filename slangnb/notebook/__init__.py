"""All that knows IPython."""
