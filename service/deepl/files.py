"""Check the files that DeepL's clients send, and report their state."""

from service.deepl.bodies.files import FileAnswer, FileRequest
from service.errors import InvalidInputError
from service.files.kinds import kind_of
from service.files.outcome import problem_of, seconds_remaining
from service.store.files import FileKey, FileState


def check_format(request: FileRequest) -> None:
    """Refuse a request to convert a file to another format.

    Raises:
        InvalidInputError: it asks for that, or the file is of a kind that is not read.
    """
    kind = kind_of(request.filename)
    if request.output_format is not None and kind_of(f"file.{request.output_format}") != kind:
        raise InvalidInputError("output_format: a file can only be translated into its own format")


def status(key: FileKey, state: FileState) -> FileAnswer:
    """Report the state of a file."""
    return FileAnswer(
        document_id=key.id,
        status=state.status,
        seconds_remaining=seconds_remaining(state),
        billed_characters=state.file.characters if state.status == "done" else None,
        error_message=None if (problem := problem_of(state)) is None else problem.detail,
    )
