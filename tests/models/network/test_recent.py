"""The least recently used values are dropped first."""

from models.network.recent import Recent


def test_values_are_kept_up_to_the_limit() -> None:
    """A new value drops others to make room; one that was read counts as new; a key has one value."""
    recent: Recent[str, str] = Recent(10)
    for key in "abc":
        recent.put(key, key.upper(), 3)
    assert recent.get("a") == "A"
    recent.put("a", "other", 9)
    recent.put("d", "D", 4)
    assert [recent.get(key) for key in "abcd"] == ["A", None, "C", "D"]
    assert recent.size == 10


def test_what_is_too_large_is_not_kept() -> None:
    """It drops all others, and then itself."""
    recent: Recent[int, str] = Recent(10)
    recent.put(1, "small", 1)
    recent.put(2, "large", 11)
    assert (recent.get(1), recent.get(2), recent.size) == (None, None, 0)
    recent.put(3, "small", 1)
    recent.clear()
    assert (recent.get(3), recent.size) == (None, 0)
