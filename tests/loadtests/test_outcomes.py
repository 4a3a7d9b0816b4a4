from pathlib import Path

from loadtests.outcomes import Outcomes, Recorder, Result


def test_what_is_written_is_read_while_more_comes(tmp_path: Path) -> None:
    """Two recorders may write to one file; a line that is only half written is read once it is complete."""
    file = tmp_path / "outcomes"
    outcomes = Outcomes(file)
    assert outcomes.read() == []
    one, other = Recorder(file), Recorder(file)
    one.add("live", Result.ANSWERED, sentences=1)
    with file.open("ab") as half:
        half.write(b'{"what": "document", "result": "refused", "due": 1.0, ')
    assert [outcome.what for outcome in outcomes.read()] == ["live"]
    with file.open("ab") as half:
        half.write(b'"at": 3.5, "sentences": 0, "code": "queue_full"}\n')
    other.add("live", Result.REPEATED, code="connection_lost")
    found = outcomes.read()
    assert [(outcome.result, outcome.code) for outcome in found[1:]] == [
        (Result.REFUSED, "queue_full"),
        (Result.REPEATED, "connection_lost"),
    ]
    assert found[1].seconds == 2.5
    one.close()
    other.close()


def test_what_was_due_earlier_has_waited_since(tmp_path: Path) -> None:
    """The time of an answer counts from the moment when the request was due."""
    recorder = Recorder(tmp_path / "outcomes")
    recorder.add("live", Result.ANSWERED, due=0.0)
    recorder.add("live", Result.ANSWERED)
    recorder.close()
    waited, at_once = Outcomes(tmp_path / "outcomes").read()
    assert waited.seconds == waited.at
    assert at_once.seconds == 0
