"""Settings are read from the environment, documented, and refused if they make no sense."""

import json
import os
import re
from pathlib import Path

import pytest

from models.config.page import meanings
from service.errors import SettingsError
from service.settings import PREFIX, Settings, is_loopback, load_settings

DOCUMENTATION = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)


def test_every_setting_is_documented_and_nothing_else() -> None:
    """The table in docs/configuration.md lists each variable with the description from the code."""
    rows = re.findall(r"^\| `(ANTECEDENT_\w+)` \|.*?\| (.*) \|$", DOCUMENTATION.read_text(), re.MULTILINE)
    meaning = meanings(Settings)
    assert rows == [(PREFIX + name.upper(), meaning[name]) for name in Settings.model_fields]


def test_documented_defaults_are_the_defaults() -> None:
    """The table shows each default as it would be written in the variable, or nothing if there is none.

    For bundles and workers it explains instead what their defaults depend on.
    """
    rows = dict(re.findall(r"^\| `ANTECEDENT_(\w+)` \| (.*?) \|", DOCUMENTATION.read_text(), re.MULTILINE))
    for name, field in Settings.model_fields.items():
        if name not in {"bundles", "workers"}:
            assert rows[name.upper()] == ("" if field.default in (None, ()) else f"`{field.default}`"), name


def test_defaults_serve_the_shipped_bundle_on_loopback() -> None:
    """With no variables set the service listens on loopback, runs its own Redis, and serves the shipped model."""
    settings = load_settings()
    assert is_loopback(settings.host)
    assert settings.redis_url is None
    assert [bundle.name for bundle in settings.bundles] == ["ja-en"]


def test_bundles_are_separated_like_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several bundles can be given in one variable."""
    monkeypatch.setenv("ANTECEDENT_BUNDLES", f"/a/one{os.pathsep}/b/two{os.pathsep}")
    assert load_settings().bundles == (Path("/a/one"), Path("/b/two"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_beyond_loopback_a_redis_and_keys_are_needed(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """A host that others can reach is refused without a Redis URL or without keys, and accepted with both."""
    monkeypatch.setenv("ANTECEDENT_HOST", host)
    with pytest.raises(SettingsError, match="ANTECEDENT_REDIS_URL"):
        load_settings()
    monkeypatch.setenv("ANTECEDENT_REDIS_URL", "redis://redis:6379")
    with pytest.raises(SettingsError, match="ANTECEDENT_KEYS must be file or redis"):
        load_settings()
    monkeypatch.setenv("ANTECEDENT_KEYS", "redis")
    assert load_settings().host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_redis(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """On loopback, given as address or name, no Redis URL is required."""
    monkeypatch.setenv("ANTECEDENT_HOST", host)
    assert load_settings().redis_url is None


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PORT", "eighty", ".*integer"),
        ("SESSION_LEASE_SECONDS", "inf", ".*finite"),
        ("SESSION_MAX_TTL_SECONDS", str(10**20), ".*less than or equal"),
        ("SENTENCES_PER_MINUTE", str(10**20), ".*less than or equal"),
        ("SESSION_LEASE_SECONDS", "0.0001", ".*greater than or equal to 0.1"),
        ("CONCURRENCY_LEASE_SECONDS", "0.0001", ".*greater than or equal to 0.1"),
        ("SESSION_LEASE_SECONDS", str(10**17), ".*less than or equal"),
        ("CONCURRENCY_LEASE_SECONDS", str(10**17), ".*less than or equal"),
        ("REDIS_FOLDER", "", "is empty"),
        ("REDIS_FOLDER", "~nobody-of-that-name/redis", "the home folder in ~nobody-of-that-name/redis is not known"),
        ("KEYS_FILE", "", "is empty"),
        ("FILES_AT_ONCE", str(10**6), ".*less than or equal"),
    ],
)
def test_wrong_value_names_its_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str) -> None:
    """The error message begins with the name of the variable."""
    monkeypatch.setenv(f"ANTECEDENT_{name}", value)
    with pytest.raises(SettingsError, match=f"^ANTECEDENT_{name}: {said}"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ANTECEDENT_WORKERZ", "ANTECEDENT_WORKERZ: there is no such setting; did you mean ANTECEDENT_WORKERS?"),
        ("ANTECEDENT_XYZ", "ANTECEDENT_XYZ: there is no such setting"),
        ("antecedent_workerz", "ANTECEDENT_WORKERZ: there is no such setting; did you mean ANTECEDENT_WORKERS?"),
    ],
)
def test_unknown_variable_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    """If a misspelt or not yet known limit were ignored, there would be none; some other variables are tolerated."""
    monkeypatch.setenv("ANTECEDENT_DATA", "data")
    monkeypatch.setenv(name, "4")
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["PASSWORD_FILE", "CA_FILE", "CERTIFICATE_FILE", "KEY_FILE"])
def test_files_for_no_redis_are_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Files for a connection to Redis without its URL are a mistake: whoever set them believes that they are used."""
    monkeypatch.setenv(f"ANTECEDENT_REDIS_{name}", "file")
    with pytest.raises(SettingsError, match=f"ANTECEDENT_REDIS_{name} is set, so ANTECEDENT_REDIS_URL must name"):
        load_settings()


def test_empty_url_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deployments may leave a variable empty: that means no Redis, and so is refused beyond loopback."""
    monkeypatch.setenv("ANTECEDENT_REDIS_URL", "")
    monkeypatch.setenv("ANTECEDENT_WORKER_MEMORY_MIB", "")
    assert load_settings().redis_url is load_settings().worker_memory_mib is None
    monkeypatch.setenv("ANTECEDENT_HOST", "0.0.0.0")
    with pytest.raises(SettingsError, match="loopback"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("DEVICE", "gpu", "must be cpu, cuda, or one of several GPUs, such as cuda:1"),
        ("BUNDLES", ":", "is empty, but must name at least one bundle"),
        ("OTLP_ENDPOINT", "http://", "must be http:// or https:// and the host of the collector"),
        ("OTLP_ENDPOINT", "http://[::1", "must be http:// or https:// and the host of the collector"),
        ("OTLP_ENDPOINT", "http://localhost:99999", "must be http:// or https:// and the host of the collector"),
        ("OTLP_ENDPOINT", "http://local host", "must be http:// or https:// and the host of the collector"),
    ],
)
def test_what_is_wrong_is_said_in_words(monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str) -> None:
    """The error is in plain words rather than those of the validation library."""
    monkeypatch.setenv(f"ANTECEDENT_{name}", value)
    with pytest.raises(SettingsError, match=re.escape(f"ANTECEDENT_{name}: {said}")):
        load_settings()


def test_a_level_of_the_log_in_capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log level may be in capitals, as most programs write it."""
    monkeypatch.setenv("ANTECEDENT_LOG_LEVEL", "WARNING")
    assert load_settings().log_level == "warning"


def test_keys_in_redis_need_one_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that makes keys cannot reach the service's own Redis."""
    monkeypatch.setenv("ANTECEDENT_KEYS", "redis")
    with pytest.raises(SettingsError, match="ANTECEDENT_REDIS_URL must name one"):
        load_settings()


def test_batches_may_not_wait_until_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a single sentence would end with a 504 even if all workers were idle."""
    monkeypatch.setenv("ANTECEDENT_DEADLINE_SECONDS", "2")
    monkeypatch.setenv("ANTECEDENT_BATCH_WAIT_MS", "2000")
    with pytest.raises(SettingsError, match="ANTECEDENT_BATCH_WAIT_MS must be less than ANTECEDENT_DEADLINE_SECONDS"):
        load_settings()
    monkeypatch.setenv("ANTECEDENT_BATCH_WAIT_MS", "1999")
    assert load_settings().batch_wait_ms == 1999


def test_default_time_to_live_may_not_exceed_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contradictory settings are refused."""
    monkeypatch.setenv("ANTECEDENT_SESSION_MAX_TTL_SECONDS", "10")
    with pytest.raises(SettingsError, match="ANTECEDENT_SESSION_TTL_SECONDS"):
        load_settings()


@pytest.mark.parametrize(
    ("name", "wrong", "right"), [("STREAM_MESSAGE_BYTES", 12_255, 12_256), ("MAX_SENTENCE_CHARACTERS", 5441, 5440)]
)
def test_message_of_a_stream_has_room_for_a_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: int, right: int
) -> None:
    """A message must have room for the longest sentence with all characters escaped, whichever setting was changed."""
    monkeypatch.setenv(f"ANTECEDENT_{name}", str(wrong))
    with pytest.raises(SettingsError, match=r"STREAM_MESSAGE_BYTES .* ANTECEDENT_MAX_SENTENCE_CHARACTERS"):
        load_settings()
    monkeypatch.setenv(f"ANTECEDENT_{name}", str(right))
    assert (
        len(json.dumps({"text": "🙂" * load_settings().max_sentence_characters}))
        <= load_settings().stream_message_bytes
    )


def test_password_of_redis_is_not_shown() -> None:
    """Printing the settings does not reveal the password in the URL."""
    assert "hunter2" not in repr(Settings(redis_url="redis://:hunter2@redis"))


def test_origins_are_given_in_one_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Origins are separated by commas; anything that a browser would not send as an origin is refused."""
    monkeypatch.setenv("ANTECEDENT_CORS_ORIGINS", "https://App.example.org, http://localhost:3000,")
    assert load_settings().cors_origins == ("https://app.example.org", "http://localhost:3000")
    for wrong in ("app.example.org", "https://app.example.org/", "https://*/path", "ftp://app.example.org"):
        monkeypatch.setenv("ANTECEDENT_CORS_ORIGINS", wrong)
        with pytest.raises(SettingsError, match="ANTECEDENT_CORS_ORIGINS: an origin is"):
            load_settings()


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        ("https://*.example.org", "cannot be part of an origin"),
        ("https://app.example.org:443", "leave it out"),
        ("http://[::1]:80", "leave it out"),
        ("https://bücher.example", "Punycode"),
    ],
)
def test_origins_that_no_browser_sends_are_refused(monkeypatch: pytest.MonkeyPatch, origin: str, said: str) -> None:
    """They would silently match nothing."""
    monkeypatch.setenv("ANTECEDENT_CORS_ORIGINS", f"https://localhost:80,{origin}")
    with pytest.raises(SettingsError, match=re.escape(f"ANTECEDENT_CORS_ORIGINS: {origin}: ") + f".*{said}"):
        load_settings()
    monkeypatch.setenv("ANTECEDENT_CORS_ORIGINS", "https://localhost:80,http://app.example.org:443,http://[::1]:8080")
    assert len(load_settings().cors_origins) == 3


def test_all_origins_are_allowed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`*` along with other origins would allow all, when the intention was probably to add one more."""
    monkeypatch.setenv("ANTECEDENT_CORS_ORIGINS", "*,https://app.example.org")
    with pytest.raises(SettingsError, match=r"ANTECEDENT_CORS_ORIGINS: \* allows all origins"):
        load_settings()
    monkeypatch.setenv("ANTECEDENT_CORS_ORIGINS", "*")
    assert load_settings().cors_origins == ("*",)
