"""The tokens of the hypotheses of a beam, compared with lists that are copied at every step."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.data.tokenizer import BOS
from models.search.histories import Histories


@given(st.data())
def test_they_are_what_was_said(data: st.DataObject) -> None:
    """Histories are right whatever each hypothesis continues, whichever leave or join, and whenever they are read."""
    histories, said = Histories(), list[list[int]]()
    for token in range(10, 10 + data.draw(st.integers(1, 30))):
        what = data.draw(st.sampled_from(["step"] * 4 + ["keep", "add", "look"])) if said else "add"
        if what == "add":
            rows = data.draw(st.integers(1, 4))
            histories.add(rows, max(map(len, said), default=0))
            said += [[] for _ in range(rows)]
        elif what == "look":
            count = data.draw(st.integers(0, 5))
            for tokens, last in zip(said, histories.last(count), strict=True):
                assert len(last) <= count
                assert last[max(0, len(last) - len(tokens)) :] == tokens[max(0, len(tokens) - count) :]
        else:
            rows = data.draw(st.lists(st.integers(0, len(said) - 1), min_size=1, max_size=8))
            if what == "keep":
                histories.keep(np.array(rows))
                said = [said[row] for row in rows]
            else:
                rows = (rows * len(said))[: len(said)]
                histories.go_on(np.array(rows), np.arange(len(rows)) + token)
                said = [[*said[row], number + token] for number, row in enumerate(rows)]
        for row, tokens in enumerate(said):
            assert histories.of(row, len(tokens)) == tokens
    assert BOS not in {token for tokens in said for token in tokens}
