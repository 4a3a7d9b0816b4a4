"""What a request may have at most, beyond what its schema says."""

from models.errors import SentenceTooLongError
from service.errors import InvalidInputError


def check_length(sentence: str, most: int, which: str, **extras: int) -> None:
    """Refuse a sentence with more characters than are accepted.

    `which` names it in the message, and `extras`, such as its position, in the problem.

    Raises:
        SentenceTooLongError: says how long it is and may be.
    """
    if len(sentence) > most:
        raise SentenceTooLongError(f"{which} has {len(sentence)} characters; at most {most} are accepted", **extras)


def check_number(sentences: int, most: int) -> None:
    """Refuse a document with more sentences than are accepted.

    Raises:
        InvalidInputError: says how many there may be.
    """
    if sentences > most:
        raise InvalidInputError(f"the document has more than {most} sentences, which is the maximum")
