"""The exceptions of neptune_scale under their own names, so that `except` lines stay as they are.

What only Neptune's server could say is never raised here; docs/tracking/neptune.md lists what is.
"""

from __future__ import annotations

from typing import Any

from seamount.core.errors import UserError


class NeptuneScaleError(UserError):
    """Base of all errors; keyword arguments fill the message's braces."""

    message = "An error occurred while logging."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        message = kwargs.pop("message", self.message)
        super().__init__(message.format(*args, **kwargs))


class NeptuneScaleWarning(Warning):
    """Base of all warnings."""

    message = "A warning occurred while logging."

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(self.message.format(*args, **kwargs))


class NeptuneBadRequestError(NeptuneScaleError):
    """A request that cannot be fulfilled; `reason` says why."""

    message = "Bad request ({status_code}): {reason}"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["reason"] = kwargs.get("reason") or "the request holds invalid data"
        super().__init__(*args, **({"status_code": 400} | kwargs))


class NeptuneSynchronizationStopped(NeptuneScaleError):
    """Never raised: there is no process that synchronises."""


class NeptuneUnableToLogData(NeptuneScaleError):
    """A value cannot be logged (NEPTUNE_LOG_FAILURE_ACTION=raise)."""

    message = "Cannot log: {reason}"

    def __init__(self, reason: str = "", **kwargs: Any) -> None:
        super().__init__(reason=reason, **kwargs)


class NeptuneFloatValueNanInfUnsupported(NeptuneUnableToLogData):
    """Never raised: NaN and infinities are kept."""

    message = "Metric {metric} at step {step} is {value}."

    def __init__(
        self, metric: str = "", step: float | int | None = None, value: Any = None
    ) -> None:
        super().__init__(metric=metric, step=step, value=value)


class GenericFloatValueNanInfUnsupported(NeptuneFloatValueNanInfUnsupported):
    """Never raised: NaN and infinities are kept."""

    message = "A metric is NaN or infinite."

    def __init__(self, *_args: Any) -> None:
        super().__init__()


class NeptuneUnauthorizedError(NeptuneScaleError):
    """Never raised: there are no accounts."""


class NeptuneInvalidCredentialsError(NeptuneScaleError):
    """Never raised: there are no accounts."""


class NeptuneUnexpectedError(NeptuneScaleError):
    """Something failed that is nobody's mistake; given to on_error_callback."""

    message = "An unexpected error occurred: {reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class NeptuneRetryableError(NeptuneScaleError):
    """Base of what passes by itself."""


class NeptuneConnectionLostError(NeptuneRetryableError):
    """Never raised: nothing goes over a network."""


class NeptuneUnexpectedResponseError(NeptuneRetryableError):
    """Never raised: there is no server."""


class NeptuneTooManyRequestsResponseError(NeptuneRetryableError):
    """Never raised: there is no server."""


class NeptuneInternalServerError(NeptuneRetryableError):
    """Never raised: there is no server."""


class NeptuneUnableToAuthenticateError(NeptuneRetryableError):
    """Never raised: there are no accounts."""


class NeptuneFileUploadError(NeptuneScaleError):
    """A file could not be stored."""

    message = "A file could not be stored."


class NeptuneFileUploadTemporaryError(NeptuneRetryableError):
    """Never raised: nothing goes over a network."""


class NeptuneProjectError(NeptuneScaleError):
    """Base of errors about projects."""


class NeptuneProjectNotFound(NeptuneProjectError):
    """There is no such project."""

    message = "The project is not there."


class NeptuneProjectInvalidName(NeptuneProjectError):
    """A project's name cannot be used."""

    message = "The project's name is not valid: write WORKSPACE/PROJECT."


class NeptuneProjectAlreadyExists(NeptuneProjectError):
    """create_project(fail_if_exists=True) found the project."""

    message = "The project is there already: choose another name or leave out fail_if_exists."


class NeptuneRunError(NeptuneScaleError):
    """Base of errors about runs."""


class NeptuneRunNotFound(NeptuneRunError):
    """There is no such run."""

    message = "The run is not there."


class NeptuneRunDuplicate(NeptuneScaleWarning):
    """Never given: a known run is joined or resumed."""


class NeptuneRunConflicting(NeptuneScaleWarning):
    """A run is there with other parameters."""

    message = "The run is there already with other parameters."


class NeptuneRunForkParentNotFound(NeptuneScaleWarning):
    """The parent of a fork is not in the store (yet)."""

    message = "The parent of the fork is not there."


class NeptuneRunInvalidCreationParameters(NeptuneRunError):
    """A run cannot be made with these parameters."""

    message = "The run cannot be made with these parameters."


class NeptuneAttributePathExceedsSizeLimit(NeptuneScaleError):
    """A path has more than 1,024 bytes."""

    message = "An attribute's path may have 1,024 bytes."


class NeptuneAttributePathEmpty(NeptuneScaleError):
    """A path is empty."""

    message = "An attribute's path must not be empty."


class NeptuneAttributePathInvalid(NeptuneScaleError):
    """A path cannot be used."""

    message = "The attribute's path is not valid."


class NeptuneAttributePathNonWritable(NeptuneScaleError):
    """A path below sys/ was written to."""

    message = "Attributes below sys/ are kept by the tracker: choose another path."


class NeptuneAttributeTypeUnsupported(NeptuneScaleError):
    """Never raised: see NeptuneUnableToLogData."""


class NeptuneAttributeTypeMismatch(NeptuneScaleError):
    """Never raised: a path may hold several types, told apart by queries."""


class NeptuneSeriesPointDuplicate(NeptuneScaleWarning):
    """Never given: every point is kept."""


class NeptuneSeriesStepNonIncreasing(NeptuneScaleError):
    """Never raised: steps come in any order."""


class NeptuneSeriesStepTooLarge(NeptuneScaleError):
    """Never raised: see ValueError of the logging methods."""


class NeptuneSeriesStepNotAfterForkPoint(NeptuneScaleError):
    """Never raised: a fork shows its parent's points up to the fork, and its own."""


class NeptuneSeriesTimestampDecreasing(NeptuneScaleError):
    """Never raised: times come in any order."""


class NeptuneStringValueExceedsSizeLimit(NeptuneScaleError):
    """A text is too long."""

    message = "The text is too long."


class NeptuneStringSetExceedsSizeLimit(NeptuneScaleError):
    """A set of texts is too large."""

    message = "The set of texts is too large."


class NeptuneFileMetadataExceedsSizeLimit(NeptuneScaleError):
    """A file's path or type is too long."""

    message = "The file's path or type is too long."


class NeptuneProjectNotProvided(NeptuneRetryableError):
    """Neither `project` nor NEPTUNE_PROJECT is given."""

    message = "No project: pass project='WORKSPACE/PROJECT', or set NEPTUNE_PROJECT."


class NeptuneApiTokenNotProvided(NeptuneRetryableError):
    """Never raised: no token is needed."""


class NeptunePreviewStepNotAfterLastCommittedStep(NeptuneScaleError):
    """A preview stands at a step that has its final value."""

    message = "A preview must come after the last final value."


class NeptuneLocalStorageInUnsupportedVersion(NeptuneScaleError):
    """Never raised: see the store's own errors."""


class NeptuneDatabaseConflict(NeptuneScaleError):
    """Never raised: each process writes a file of its own."""

    message = "The file {path} is there already."

    def __init__(self, path: str = "") -> None:
        super().__init__(path=path)


class NeptuneHistogramBinEdgesContainNaN(NeptuneScaleError):
    """Edges of a histogram hold NaN."""

    message = "A histogram's edges must be finite."


class NeptuneHistogramTooManyBins(NeptuneScaleError):
    """A histogram has more than 512 bins."""

    message = "A histogram may have 512 bins."


class NeptuneHistogramBinEdgesNotIncreasing(NeptuneScaleError):
    """Edges of a histogram do not grow."""

    message = "A histogram's edges must grow."


class NeptuneHistogramValuesLengthMismatch(NeptuneScaleError):
    """A histogram has as many values as bins: edges less one."""

    message = "A histogram has one value less than edges."
