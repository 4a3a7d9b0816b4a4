"""A bundle root for the stand-in runtime, and replicas whose models an administrator may change."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx
import redis

from tests.support.servers import ROOT, RedisServer, bundle

QUICK = {"models_refresh_seconds": "0.05"}


def make_root(folder: Path) -> Path:
    """Make a folder of bundles.

    `one` and `two` are versions of the same model, told apart by their accents; `german` is for another language pair.
    `in-turn` reads translations, so that it is given a document one sentence at a time. `wrong` fails its self-test and
    `damaged` cannot be loaded; both would replace the model of `one`.
    """
    bundle(folder / "one")
    bundle(folder / "two", accent=" two")
    bundle(folder / "in-turn", accent=" in turn", reads_target_context=True)
    bundle(folder / "german", name="german", source="en", target="de", accent=" german")
    for name in ("wrong", "damaged"):
        (bundle(folder / name, accent=f" {name}") / name).touch()
    return folder


def fresh_database(server: RedisServer, number: int) -> str:
    """The URL of a database that is emptied of any record of models; each test file uses a number of its own."""
    with redis.Redis(port=server.port, db=number) as client:
        client.flushdb()
    return f"{server.url}/{number}"


def load(client: httpx.Client, name: str) -> httpx.Response:
    """Request that a bundle be loaded, by the name of its folder."""
    return client.post("/v1/models", json={"bundle": name})


def loaded(client: httpx.Client) -> dict[str, str]:
    """The models of the replica that answers, with the first digits of their fingerprints."""
    return {model["name"]: model["fingerprint"][:12] for model in client.get("/v1/models").json()["models"]}


def make_key(keys: Mapping[str, str], scope: str) -> str:
    """Make a key with that scope by the command; `keys` are the service's settings that say where keys are kept."""
    settings = {f"ANTECEDENT_{name.upper()}": value for name, value in keys.items()}
    command = [sys.executable, "-m", "service.keys", "create", "--tenant", "somebody", "--scope", scope]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | settings, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()
