"""The exceptions of neptune_query under their own names, each with one sentence to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from seamount.core.errors import UserError


class NeptuneError(UserError):
    """Base of all errors; keyword arguments fill the message's braces."""

    def __init__(self, message: str, **kwargs: Any) -> None:
        super().__init__(message.format(**kwargs) if kwargs else message)


class NeptuneWarning(Warning):
    """Base of the warnings of this module."""

    def __init__(self, message: str, **kwargs: Any) -> None:
        super().__init__(message.format(**kwargs) if kwargs else message)


class NeptuneUserError(NeptuneError):
    """A parameter is wrong."""

    def __init__(self, message: str, **kwargs: Any) -> None:
        super().__init__(message, **kwargs)


class NeptuneProjectNotProvided(NeptuneUserError):
    """Neither `project` nor NEPTUNE_PROJECT is given."""

    def __init__(self) -> None:
        super().__init__("No project: pass project='WORKSPACE/PROJECT', or set NEPTUNE_PROJECT.")


class NeptuneFailedToFetchClientConfig(NeptuneError):
    """Never raised: there is no server."""

    def __init__(self, exception: Exception) -> None:
        super().__init__(f"No client configuration: {exception}")


class NeptuneProjectInaccessible(NeptuneError):
    """The store has no such project."""

    def __init__(self) -> None:
        super().__init__("The project is not in the store: check its name and the store's address.")


class NeptuneApiTokenNotProvided(NeptuneUserError):
    """Never raised: no token is needed."""

    def __init__(self) -> None:
        super().__init__("No API token.")


class NeptuneInvalidCredentialsError(NeptuneUserError):
    """Never raised: there are no accounts."""

    def __init__(self) -> None:
        super().__init__("The API token is not valid.")


class AttributeTypeInferenceError(NeptuneError):
    """An attribute of a filter has several types in the project, or needs a given one."""

    def __init__(
        self, attribute_names: Sequence[str], details: Iterable[str] | None = None
    ) -> None:
        super().__init__(
            f"The type of {', '.join(attribute_names)} is not clear"
            + (f" ({'; '.join(details)})" if details else "")
            + ": write filters.Attribute(NAME, type=...) in the filter."
        )


class ConflictingAttributeTypes(NeptuneError):
    """A column would hold several types."""

    def __init__(self, attribute_names: Iterable[str]) -> None:
        super().__init__(
            f"{', '.join(attribute_names)} has several types: pass type_suffix_in_column_names="
            "True, or an AttributeFilter with a type."
        )


class NeptuneUnexpectedResponseError(NeptuneError):
    """Never raised: there is no server."""

    def __init__(self, status_code: int, content: bytes) -> None:
        super().__init__(f"The server answered {status_code}: {content!r:.200}")


class NeptuneRetryError(NeptuneError):
    """Never raised: there is no server."""

    def __init__(
        self,
        retries: int,
        time: float,
        last_status_code: int | None = None,
        last_content: bytes | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(f"The server failed {retries} times in {time:.2f} seconds.")


class NeptuneFileDownloadError(NeptuneError):
    """A file's content is gone or was changed; `details` says which."""

    def __init__(
        self,
        details: str | None = None,
        last_status_code: int | None = None,
        last_content: str | bytes | None = None,
    ) -> None:
        super().__init__(details or "A file could not be copied.")
