"""What heddle raises. Each exception carries one line for the user, the same that the program prints."""


class Error(Exception):
    """Any failure of heddle's."""


class InputError(Error, ValueError):
    """Data or a model that cannot be used."""


class UsageError(Error, ValueError):
    """An option or argument that makes no sense."""


class DeviceError(Error, RuntimeError):
    """No such device or toolchain, or it failed."""


class ProfilesError(Error, RuntimeError):
    """The profile database cannot be used."""
