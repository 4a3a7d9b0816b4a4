"""redis-py's client of a Redis Cluster, with what it lacks while a Cluster is made, mended or grows, or loses a master.

There it looks up what it does not know, and an error of Python's own comes out, which nobody takes for an outage; or it
closes the connections of every master because one cannot serve.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redis.asyncio import RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.cluster import PRIMARY
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import SlotNotCoveredError


class Cluster(RedisCluster):
    """Tells of slots without a master, finds masters without a slot, and cuts off nobody who uses another master."""

    _under_way = 0
    """How many commands have begun and not ended."""

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - what Redis answers
        """See `RedisCluster.execute_command`.

        Raises:
            SlotNotCoveredError: the slot of the key has no master, or no slot has one yet.
        """
        self._under_way += 1
        try:
            with _in_words_of_redis():
                await self.initialize()  # else a command before it goes to any master, whichever its key
                return await super().execute_command(*args, **kwargs)
        except SlotNotCoveredError:
            self._initialize = True  # what is known of the slots holds until a master is lost, and none was
            raise
        finally:
            self._under_way -= 1

    async def aclose(self) -> None:
        """Close the connections, unless commands are under way: redis-py does this where one master is down.

        Then only what is known of the slots is forgotten, and the commands on other masters go on.
        """
        self._initialize = True
        if not self._under_way:
            await self.nodes_manager.aclose()
            await self.nodes_manager.aclose("startup_nodes")

    async def look_again(self, last_failed_node_name: str) -> None:
        """Find out which master has which slot; the one that has failed is asked last.

        Raises:
            SlotNotCoveredError: none has any.
        """
        with _in_words_of_redis():
            await self.nodes_manager.initialize(last_failed_node_name=last_failed_node_name)

    def get_node(
        self, host: str | None = None, port: int | None = None, node_name: str | None = None
    ) -> ClusterNode | None:
        """See `RedisCluster.get_node`; by its name also a new master, to which its first slot is on its way."""
        node = super().get_node(host, port, node_name)
        if node is None and node_name is not None:
            new_host, _, new_port = node_name.rpartition(":")
            node = ClusterNode(new_host, int(new_port), PRIMARY, **self.nodes_manager.connection_kwargs)
            self.nodes_manager.set_nodes(self.nodes_manager.nodes_cache, {node.name: node})
        return node


@contextmanager
def _in_words_of_redis() -> Iterator[None]:
    try:
        yield
    except LookupError as error:  # of a slot among those that are known, or of the first of no masters
        raise SlotNotCoveredError("no master has the slot") from error
    except AttributeError as error:  # of a connection that another call, which has failed, has closed meanwhile
        raise RedisConnectionError("closed by another call") from error
