"""What the service accepts: `/v1/info`."""

from service.schemas.body import Body


class Limits(Body):
    """The limits for requests. A request that exceeds one is refused."""

    max_document_sentences: int
    max_context_sentences: int
    max_sentence_characters: int
    max_translation_characters: int
    max_body_bytes: int
    """Also applies to a file that is text."""
    max_file_bytes: int
    """Applies to any other file."""
    max_session_sentences: int
    session_max_ttl_seconds: int
    max_files: int
    max_files_bytes: int
    max_glossary_terms: int
    max_glossary_characters: int
    max_memory_segments: int
    max_session_memory_characters: int
    """Of sources and targets together."""
    stream_message_bytes: int
    stream_in_flight: int


class ServiceInfo(Body):
    """The release of the service, and its limits for requests."""

    version: str
    limits: Limits
