"""Arrays of libraries that nobody knows, by the protocols alone."""


class Strange:
    """It has what the test gives it."""

    def __init__(self, **members):
        self.__dict__.update(members)


class OnlyDlpack:
    """An array that NumPy knows only by DLPack."""

    def __init__(self, of):
        self._of = of

    def __dlpack__(self, **options):
        return self._of.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._of.__dlpack_device__()
