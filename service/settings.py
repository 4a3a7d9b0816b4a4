"""Every setting of the service: one class, one environment variable `ANTECEDENT_*` for each field.

`docs/configuration.md` lists them all; a test keeps the two equal.
"""

import difflib
import ipaddress
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from service.errors import SettingsError

PREFIX = "ANTECEDENT_"
_MOST_SECONDS = 2**31
"""Of a time-to-live or a lease: with more, Redis could not say when it ends."""
_LEAST_LEASE_SECONDS = 0.1
"""Redis counts in milliseconds: a lease that is shorter than one would never be held."""
_CHARACTER_BYTES, _ENVELOPE_BYTES = 12, 256
"""Of a message on a stream: a character in JSON's escapes has two of six bytes at the most; the rest is members."""
MOST_ALLOWED = 10**9
"""Of any limit on what callers do; Redis counts with floats."""
_MOST_FILES_AT_ONCE = 1000
"""Each asks Redis for files again and again: many more would do nothing else, and the service would not start."""
_OTHERS = {"DATA", "PUBLISHED_PORT"}
"""Variables that others than the service read."""
_REDIS_FILES = ("redis_password_file", "redis_ca_file", "redis_certificate_file", "redis_key_file")
_SHIPPED_BUNDLE = Path(__file__).resolve().parent.parent / "models" / "pretrained" / "ja-en"


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))  # a container may have fewer than the machine
    return os.cpu_count() or 1


class Settings(BaseSettings):
    """The service's configuration; read once at the start and never changed."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, allow_inf_nan=False)

    host: str = "127.0.0.1"
    """Address to listen on. Any address but loopback requires `ANTECEDENT_REDIS_URL` and `ANTECEDENT_KEYS`."""
    port: int = Field(8000, ge=0, le=65535)
    """Port to listen on; 0 chooses a free one."""
    bundles: Annotated[tuple[Path, ...], NoDecode] = (_SHIPPED_BUNDLE,)
    """Folders of the bundles to serve, separated as in `PATH`. The first one of a language pair is its default."""
    bundle_root: Path | None = None
    """Folder of the bundles that can be loaded at run time, or given by name in `ANTECEDENT_BUNDLES`. If unset, neither
    is possible."""
    models_refresh_seconds: float = Field(2, gt=0)
    """How often a replica checks whether the models have been changed at another replica."""
    workers: int = Field(default_factory=_cores, ge=1)
    """Worker processes per bundle, each with one thread. The default is one per CPU core."""
    device: str = "cpu"
    """Where the workers translate: `cpu`, `cuda`, or one of several GPUs, such as `cuda:1`."""
    compute_type: str = "auto"
    """Arithmetic of the workers: `auto`, `int8`, `float32` or `bfloat16`. Must be the same on all replicas."""
    worker_memory_mib: int | None = Field(None, ge=1)
    """A worker that uses more memory than this, in MiB, is replaced once it is idle. If unset, there is no limit."""
    worker_start_seconds: float = Field(120, gt=0)
    """A worker that takes longer than this to load its bundle is killed, and the bundle is refused."""
    worker_timeout_seconds: float = Field(120, gt=0)
    """A worker that has sentences but answers none for longer than this is killed and restarted."""

    redis_url: SecretStr | None = None
    """Redis server, Sentinel or Cluster for the sessions. If unset, a service on loopback starts its own Redis."""
    redis_password_file: Path | None = None
    """File with the password of the URL's user, in place of one in the URL. It is read for each new connection."""
    redis_ca_file: Path | None = None
    """CA certificates (PEM) for a Redis over TLS, in place of those of the system, which apply if it is unset."""
    redis_certificate_file: Path | None = None
    """Client certificate (PEM), for a Redis that asks for one."""
    redis_key_file: Path | None = None
    """Private key (PEM) of the client certificate, unless it is in the same file."""
    redis_check_hostname: bool = True
    """Whether the certificate of Redis must name the host that the service connects to."""
    redis_timeout_seconds: float = Field(2, gt=0)
    """How long Redis may take to accept a connection or answer a command."""
    redis_total_seconds: float = Field(3, gt=0)
    """How long a call to Redis may take, including retries. After that, the request is answered with 503."""
    redis_connections: int = Field(64, ge=1)
    """Connections to Redis, or to each node of a Cluster. Further calls wait for a free one."""
    redis_folder: Path = Path("~/.local/state/antecedent/redis")
    """Folder in which the service's own Redis keeps its append-only file."""
    redis_max_memory_mb: int = Field(512, ge=1)
    """Memory of the service's own Redis, in MiB. While it is full, requests that need more are answered with 503."""

    keys: Literal["none", "file", "redis"] = "none"
    """Where the API keys are stored: `file` or `redis`. With `none`, everyone on this machine may do everything."""
    keys_file: Path = Path("~/.local/state/antecedent/keys.json")
    """File of the keys, if `ANTECEDENT_KEYS` is `file`."""
    keys_refresh_seconds: float = Field(2, gt=0)
    """How often a replica checks whether keys have changed. A new or revoked key takes effect within this time."""
    keys_outage_seconds: float = Field(600, ge=0)
    """How long the keys that were last read from Redis stay valid while Redis is unavailable."""

    batch_characters: int = Field(8192, ge=1)
    """Maximum characters in a batch, including context. A single longer sentence is a batch of its own."""
    batch_sentences: int = Field(64, ge=1)
    """Maximum sentences in a batch. A worker may have this many from sessions, and as many again from documents."""
    batch_wait_ms: float = Field(1, ge=0)
    """How long, in milliseconds, a sentence waits for others to share its batch while a worker is idle."""
    queue_limit: int = Field(512, ge=1)
    """A request is answered with 429 if at least this many sentences are ahead of it in the queue. If it has n
    sentences (with those of its session that are still waiting), at most n of each other document or session count."""
    document_concurrency: int = Field(64, ge=1)
    """Maximum sentences of one document that are waiting, at a worker, or translated but not yet read by the client. It
    is lower if many documents are waiting."""
    deadline_seconds: float = Field(60, gt=0)
    """Longest time from a sentence's entry into the queue to its translation. After that, the request gets 504."""
    drain_seconds: int = Field(25, ge=1)
    """How long requests in flight may take to finish after SIGTERM."""

    session_ttl_seconds: int = Field(86_400, ge=1, le=_MOST_SECONDS)
    """A session expires this long after its last call, unless its creator asked for another time-to-live."""
    session_max_ttl_seconds: int = Field(604_800, ge=1, le=_MOST_SECONDS)
    """Longest time-to-live that the creator of a session may ask for."""
    session_lease_seconds: float = Field(5, ge=_LEAST_LEASE_SECONDS, le=_MOST_SECONDS)
    """How long session sentences and files that a replica was translating stay reserved for it after it has died; at
    least 0.1."""

    file_ttl_seconds: int = Field(86_400, ge=1, le=_MOST_SECONDS)
    """A file expires this long after it was sent, or ten minutes after its translation was fetched."""
    files_at_once: int = Field(2, ge=0, le=_MOST_FILES_AT_ONCE)
    """Maximum files that a replica translates at the same time; with 0, it leaves them to other replicas."""

    stream_limit: int = Field(1000, ge=1)
    """Maximum streams open at one replica. Further ones are answered with 503."""
    stream_in_flight: int = Field(32, ge=1)
    """Maximum sentences of a stream under way at once. At this limit, the service stops reading the stream."""
    stream_idle_seconds: float = Field(300, gt=0)
    """A stream on which no sentence has arrived for this long is closed, as are events that go unread for this long."""
    stream_ping_seconds: float = Field(20, gt=0)
    """How often a stream is pinged, and how long its client may take to answer before the stream is closed. While a
    document has no event to send, it sends a comment just as often, so that no proxy closes the connection."""
    stream_message_bytes: int = 65_536
    """Maximum bytes in a message on a stream: at least 256 + 12 x `ANTECEDENT_MAX_SENTENCE_CHARACTERS`."""

    sentences_per_minute: int = Field(0, ge=0, le=MOST_ALLOWED)
    """Maximum sentences in any 60 seconds for a key without a limit of its own; 0 means no limit."""
    concurrency_per_key: int = Field(0, ge=0, le=MOST_ALLOWED)
    """Maximum requests and streams under way for a key without a limit of its own; 0 means no limit."""
    session_sentences_per_minute: int = Field(0, ge=0, le=MOST_ALLOWED)
    """Maximum sentences per minute in a session: that many at once, then at an even rate; 0 means no limit."""
    concurrency_lease_seconds: float = Field(30, ge=_LEAST_LEASE_SECONDS, le=_MOST_SECONDS)
    """How long the work of a replica that has died still counts against its keys' concurrency; at least 0.1."""

    max_document_sentences: int = Field(5000, ge=1)
    """Maximum sentences in a document, not counting its `context`."""
    max_session_sentences: int = Field(10_000, ge=1)
    """Maximum sentences in a session."""
    max_context_sentences: int = Field(64, ge=0)
    """Maximum sentences in the `context` of a document."""
    max_glossary_terms: int = Field(1000, ge=0)
    """Maximum terms in a glossary."""
    max_glossary_characters: int = Field(65_536, ge=0)
    """Maximum characters in all terms of a glossary. A session's glossary is read from Redis with each sentence."""
    max_memory_segments: int = Field(10_000, ge=0)
    """Maximum segments in the translation memory sent with a document, a session or a file."""
    max_session_memory_characters: int = Field(65_536, ge=0)
    """Maximum characters in a session's translation memory, which is read from Redis with each sentence."""
    max_glossaries: int = Field(100, ge=0)
    """Maximum glossaries kept for a tenant."""
    max_files: int = Field(20, ge=1)
    """Maximum files of a tenant that are waiting to be translated or fetched."""
    max_files_bytes: int = Field(67_108_864, ge=1)
    """Maximum bytes in all files kept for a tenant, including those already fetched; Redis needs a third more."""
    max_sentence_characters: int = Field(1000, ge=1)
    """Maximum characters in a sentence."""
    max_translation_characters: int = Field(8000, ge=1)
    """Maximum characters in a draft, in a client's correction, or in a translation in a translation memory."""
    max_body_bytes: int = Field(4_194_304, ge=1)
    """Maximum bytes in a request's body, and in a file that is text."""
    max_file_bytes: int = Field(16_777_216, ge=1)
    """Maximum bytes in a file that is an archive, such as a `.docx`, which often consists mostly of pictures."""
    max_json_depth: int = Field(16, ge=3, le=500)
    """How deep arrays and objects may be nested in a request's body."""
    cors_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins whose pages may call the service, separated by commas, as browsers send them; `*` alone allows all."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest severity that is logged. Workers always log only warnings and errors."""
    otlp_endpoint: str | None = None
    """Collector of OpenTelemetry traces (OTLP over HTTP), such as `http://localhost:4318`. Unset: no traces."""
    trace_sample_ratio: float = Field(1, ge=0, le=1)
    """Share of traces started here that are recorded. For a request with a `traceparent`, its sender decides."""

    @field_validator("bundles", mode="before")
    @classmethod
    def _split_paths(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the environment or the caller gives
        return tuple(part for part in value.split(os.pathsep) if part) if isinstance(value, str) else value

    @field_validator("bundles")
    @classmethod
    def _some_bundle(cls, value: tuple[Path, ...]) -> tuple[Path, ...]:
        if not value:
            raise ValueError("is empty, but must name at least one bundle")
        return value

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _split_origins(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the environment or the caller gives
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("cors_origins")
    @classmethod
    def _origins_as_browsers_send_them(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if "*" in value and len(value) > 1:
            raise ValueError("* allows all origins, so it must be the only one")
        for origin in value:
            if origin != "*" and not re.fullmatch(r"https?://[^/?#@\s]+", origin):
                raise ValueError("an origin is *, or a scheme and a host without a path, like https://app.example.org")
            if not origin.isascii():
                raise ValueError(f"{origin}: browsers send host names in Punycode, so write https://xn--...")
            if origin != "*" and "*" in origin:
                raise ValueError(f"{origin}: * cannot be part of an origin; list each origin, or use * alone for all")
            if re.fullmatch(r"http:.*:0*80|https:.*:0*443", origin):
                raise ValueError(f"{origin}: browsers do not send the default port of a scheme; leave it out")
        return tuple(origin.lower() for origin in value)

    @field_validator("device")
    @classmethod
    def _known_device(cls, value: str) -> str:
        if not re.fullmatch(r"cpu|cuda(:[0-9]+)?", value):
            raise ValueError("must be cpu, cuda, or one of several GPUs, such as cuda:1")
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _level_in_any_letters(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the environment or the caller gives
        return value.lower() if isinstance(value, str) else value

    @field_validator("redis_folder", "keys_file")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        if value == Path():  # what an empty variable is read as; what users say is not written wherever one stands
            raise ValueError("is empty, but must be a path")
        try:
            return value.expanduser()
        except RuntimeError:  # a user who is none, or one without a home in a container that knows no HOME
            raise ValueError(f"the home folder in {value} is not known; give an absolute path") from None

    @field_validator("otlp_endpoint")
    @classmethod
    def _http_collector(cls, value: str | None) -> str | None:
        if value is not None and not _is_http_address(value):
            raise ValueError("must be http:// or https:// and the host of the collector")
        return value

    @field_validator("bundle_root", "worker_memory_mib", "redis_url", *_REDIS_FILES, "otlp_endpoint", mode="before")
    @classmethod
    def _empty_is_none(cls, value: Any) -> Any:  # noqa: ANN401 - whatever the environment or the caller gives
        return None if value == "" else value

    @model_validator(mode="after")
    def _redis_and_keys_beyond_loopback(self) -> Self:
        if not is_loopback(self.host):
            why = f"{PREFIX}HOST is {self.host or 'empty'}, which is not loopback, so {PREFIX}"
            if self.redis_url is None:
                raise ValueError(f"{why}REDIS_URL must name a Redis")
            if self.keys == "none":
                raise ValueError(f"{why}KEYS must be file or redis")
        return self

    @model_validator(mode="after")
    def _keys_in_a_named_redis(self) -> Self:
        if self.keys == "redis" and self.redis_url is None:
            raise ValueError(f"{PREFIX}KEYS is redis, so {PREFIX}REDIS_URL must name one")
        return self

    @model_validator(mode="after")
    def _files_for_a_named_redis(self) -> Self:
        given = [name for name in _REDIS_FILES if getattr(self, name) is not None]
        if given and self.redis_url is None:
            raise ValueError(f"{PREFIX}{given[0].upper()} is set, so {PREFIX}REDIS_URL must name a Redis")
        return self

    @model_validator(mode="after")
    def _default_ttl_is_allowed(self) -> Self:
        if self.session_ttl_seconds > self.session_max_ttl_seconds:
            raise ValueError(f"{PREFIX}SESSION_TTL_SECONDS is greater than {PREFIX}SESSION_MAX_TTL_SECONDS")
        return self

    @model_validator(mode="after")
    def _batches_go_before_the_deadline(self) -> Self:
        if self.batch_wait_ms >= 1000 * self.deadline_seconds:
            raise ValueError(
                f"{PREFIX}BATCH_WAIT_MS must be less than {PREFIX}DEADLINE_SECONDS, which is {self.deadline_seconds:g}:"
                " a sentence that waits alone would never be translated"
            )
        return self

    @model_validator(mode="after")
    def _messages_hold_a_sentence(self) -> Self:
        least = _CHARACTER_BYTES * self.max_sentence_characters + _ENVELOPE_BYTES
        if self.stream_message_bytes < least:
            raise ValueError(
                f"{PREFIX}STREAM_MESSAGE_BYTES must be at least {least}, so that any sentence fits into a message:"
                f" {PREFIX}MAX_SENTENCE_CHARACTERS is {self.max_sentence_characters}"
            )
        return self


def load_settings() -> Settings:
    """Read the settings from the environment.

    Raises:
        SettingsError: a variable is none of ours, has a value that it cannot have, or contradicts another; names it.
    """
    _refuse_unknown(os.environ)
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{PREFIX}{str(part).upper()}: " for part in first["loc"][:1])
        raise SettingsError(where + first["msg"].removeprefix("Value error, ")) from None


def _refuse_unknown(names: Iterable[str]) -> None:
    """A limit that is misspelt would be none, and found out when it is missed."""
    known = {field.upper() for field in Settings.model_fields} | _OTHERS
    for name in (each.removeprefix(PREFIX) for each in map(str.upper, names) if each.startswith(PREFIX)):
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {PREFIX}{near[0]}?" if near else ""
            raise SettingsError(f"{PREFIX}{name}: there is no such setting{hint}")


def _is_http_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0 and url.split() == [url]
    except ValueError:  # half an IPv6 address, or a port that is no number
        return False


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`, an address or a name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
