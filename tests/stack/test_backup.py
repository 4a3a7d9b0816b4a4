"""A Redis restored from a copy of another one's snapshot, as docs/operations.md describes."""

import shutil
from pathlib import Path

from redis import Redis

from tests.support.client import SENTENCES, begin, say
from tests.support.servers import RedisServer, Replicas, eventually


def test_sessions_go_on_from_a_back_up(tmp_path: Path, mortal_redis: RedisServer, replicas: Replicas) -> None:
    """Restored sentences are there, are not appended again, and are in the new append-only file too."""
    with replicas.new(redis_url=mortal_redis.url).start().client() as client:
        session = begin(client)
        said = [say(client, session, text, at).json() for at, text in enumerate(SENTENCES[:3])]
    folder = tmp_path / "restored"
    folder.mkdir()
    with Redis(port=mortal_redis.port) as admin:
        admin.bgsave()
        eventually(lambda: not admin.info("persistence")["rdb_bgsave_in_progress"], "the snapshot is written")
        shutil.copy(Path(str(admin.config_get("dir")["dir"])) / "dump.rdb", folder)
    mortal_redis.kill()

    restored = RedisServer(folder, "--appendonly", "no")
    with restored, Redis(port=restored.port) as admin:
        admin.config_set("appendonly", "yes")
        eventually(lambda: not admin.info("persistence")["aof_rewrite_in_progress"], "the append-only file is written")
        with replicas.new(redis_url=restored.url).start().client() as client:
            assert say(client, session, SENTENCES[2], 2).json() == said[2]
            assert say(client, session, SENTENCES[3], 3).json()["context_size"] == 2
        restored.kill()
        again = RedisServer(folder)
        with again, replicas.new(redis_url=again.url).start().client() as client:
            assert client.get(session).json()["next_position"] == 4
