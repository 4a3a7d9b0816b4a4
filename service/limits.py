"""What a request may have at most, beyond what its schema says."""

from models.errors import SentenceTooLongError


def check_length(sentence: str, most: int, which: str) -> None:
    """Refuse a sentence with more characters than are accepted.

    Raises:
        SentenceTooLongError: says how long it is and may be.
    """
    if len(sentence) > most:
        raise SentenceTooLongError(f"{which} has {len(sentence)} characters; at most {most} are accepted")
