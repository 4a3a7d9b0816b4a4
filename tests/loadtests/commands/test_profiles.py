import random
from collections.abc import Callable
from inspect import signature
from pathlib import Path

import pytest

from loadtests.commands import profiles
from loadtests.documents import made_up
from loadtests.scenario import Kind, Open, Scenario
from loadtests.stage.stage import ALL_KINDS
from loadtests.users.arrivals import arrivals
from tests.support.client import PAIR


@pytest.mark.parametrize("profile", [profiles.smoke, profiles.soak, profiles.faults, profiles.rolling])
def test_every_kind_of_user_comes_by_default(profile: Callable[..., None]) -> None:
    """With any seed: a kind of which no user came would count as one that was never answered in time."""
    by_default = {name: option.default for name, option in signature(profile).parameters.items()}
    load = Open(rate=by_default["rate"], seconds=by_default.get("seconds") or 60 * by_default["minutes"])
    for seed in range(1, 21):
        scenario = Scenario(
            urls=("http://nowhere",),
            pair=PAIR,
            documents=made_up(random.Random(seed), by_default["documents"]),
            expected=(),
            load=load,
            shares=dict(ALL_KINDS),
            seed=seed,
            outcomes=Path("nowhere"),
        )
        rng = random.Random(seed)
        assert [kind for kind in Kind if not arrivals(kind, load, scenario, rng)] == []
