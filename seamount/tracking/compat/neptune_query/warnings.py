"""Warnings of queries under their own names."""


class AttributeWarning(UserWarning):
    """An attribute of a filter is in no run of the project."""


class ExperimentalWarning(UserWarning):
    """Never given: what Neptune called experimental is kept here."""


class Http429Warning(UserWarning):
    """Never given: there is no server."""


class Http503Warning(UserWarning):
    """Never given: there is no server."""


class Http5xxWarning(UserWarning):
    """Never given: there is no server."""


class HttpOtherWarning(UserWarning):
    """Never given: there is no server."""
