"""The format of keys, and what is stored about them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from service.access.keys import Key, KeyRecord, find
from service.store.context_store import DocumentKey
from tests.support.keys import NOW, made

KEYS = st.from_regex(r"ant_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", fullmatch=True)
NEARLY_KEYS = st.tuples(KEYS, st.integers(0, 63), st.text(max_size=2)).map(
    lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] + 1 :]
)
TENANTS = st.text(st.sampled_from("aZ09._-:{}* \n\0é"), max_size=8) | st.text(max_size=70)


@given(KEYS)
def test_key_is_read_as_it_is_written(text: str) -> None:
    """Every key can be taken apart and put together again, even if its secret contains underscores."""
    key = Key.parse(text)
    assert key is not None
    assert key.reveal() == text


@given(st.text() | NEARLY_KEYS)
def test_anything_else_is_no_key(text: str) -> None:
    """Any text either parses as a key, which has only one spelling, or is rejected; nothing raises."""
    key = Key.parse(text)
    assert key is None or key.reveal() == text


def test_new_keys_differ_and_are_read() -> None:
    """No two keys have an id or a secret in common."""
    keys = [Key.new() for _ in range(100)]
    assert len({key.id for key in keys}) == len({key.secret for key in keys}) == 100
    assert all(Key.parse(key.reveal()) == key for key in keys)


def test_secret_is_not_kept() -> None:
    """The secret is neither in the record nor in the debug output of a key."""
    text, record = made("acme")
    key = Key.parse(text)
    assert key is not None
    assert key.secret not in record.model_dump_json() + repr(record) + repr(key)


@given(KEYS)
def test_only_the_right_secret_finds_the_record(text: str) -> None:
    """A key with another's id, another's secret, or an unknown id finds nothing."""
    right, record = made("acme")
    records = {record.id: record}
    guessed = Key.parse(text)
    real = Key.parse(right)
    assert guessed is not None
    assert real is not None
    assert find(real, records) is record
    assert find(guessed, records) is None
    assert find(Key(record.id, guessed.secret), records) is None
    assert find(Key(guessed.id, real.secret), records) is None


@given(TENANTS)
def test_tenant_stays_inside_its_hash_tag(tenant: str) -> None:
    """No valid tenant name can make the Redis keys of its sessions collide with others, or change their hash tag."""
    try:
        record = KeyRecord(id="0" * 16, tenant=tenant, scopes=("translate",), hash="0" * 64, created=NOW)
    except ValidationError:
        return
    for name in DocumentKey(record.tenant, "S" * 22).names():
        tag, _, rest = name.removeprefix("antecedent:{").partition("}")
        assert tag.split(":") == [tenant, "S" * 22]
        assert not set("{}") & set(rest)


@pytest.mark.parametrize("tenant", ["", "a:b", "a}b", "{a", "a b", "a\n", "-a", "a" * 65, "ä", "a*"])
def test_tenant_that_could_reach_beyond_its_name_is_refused(tenant: str) -> None:
    """A tenant's name may not contain characters with a meaning in Redis keys, nor ones that could mislead people."""
    with pytest.raises(ValidationError):
        made(tenant)


@pytest.mark.parametrize("member", [{"scopes": []}, {"scopes": ["root"]}, {"hash": "x"}, {"expire": None}])
def test_record_with_a_mistake_is_refused(member: dict[str, object]) -> None:
    """A misspelt member is not silently ignored."""
    _, record = made("acme")
    with pytest.raises(ValidationError):
        KeyRecord.model_validate(record.model_dump() | member)


def test_limits_below_one_or_misspelt_are_refused() -> None:
    """A key cannot be limited to nothing, nor by a member that does not exist."""
    _, record = made("acme")
    for limits in ({"concurrency": 0}, {"sentences_per_minute": -1}, {"sentence_per_minute": 5}):
        with pytest.raises(ValidationError):
            KeyRecord.model_validate(record.model_dump() | {"limits": limits})
