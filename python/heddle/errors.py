"""Errors that a user can cause; each is one line."""

try:
    from heddle._heddle import InputError
except ImportError:  # tables and reports do without the compiled module

    class InputError(ValueError):
        """A file or an argument that cannot be used."""


__all__ = ["InputError"]
