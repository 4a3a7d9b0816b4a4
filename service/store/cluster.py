"""redis-py's client for Redis Cluster, made fit for one that is being set up, repaired or resized, or loses a master.

In these states redis-py looks up what it does not know and raises a built-in error of Python, which would not be taken
for an outage; or it closes the connections to all masters because one cannot serve.
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
    """Reports slots without a master, finds masters without a slot, and leaves calls to other masters connected."""

    _under_way = 0
    """How many commands are running."""

    async def execute_command(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - what Redis answers
        """See `RedisCluster.execute_command`.

        Raises:
            SlotNotCoveredError: the slot of the key has no master, or no slot has one yet.
        """
        self._under_way += 1
        try:
            with _in_words_of_redis():
                await self.initialize()  # else a first command would go to any master, whatever its key
                return await super().execute_command(*args, **kwargs)
        except SlotNotCoveredError:
            self._initialize = True  # redis-py looks slots up again only when it loses a master, and it has lost none
            raise
        finally:
            self._under_way -= 1

    async def aclose(self) -> None:
        """Close the connections, unless commands are running: redis-py calls this when one master is down.

        While commands run, only forget what is known of the slots, so that those on other masters go on.
        """
        self._initialize = True
        if not self._under_way:
            await self.nodes_manager.aclose()
            await self.nodes_manager.aclose("startup_nodes")

    async def look_again(self, last_failed_node_name: str) -> None:
        """Find out again which master has which slot; the node that has failed is asked last.

        Raises:
            SlotNotCoveredError: no master has any.
        """
        with _in_words_of_redis():
            await self.nodes_manager.initialize(last_failed_node_name=last_failed_node_name)

    def get_node(
        self, host: str | None = None, port: int | None = None, node_name: str | None = None
    ) -> ClusterNode | None:
        """See `RedisCluster.get_node`; by name, it also finds a new master whose first slot is still on its way."""
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
    except LookupError as error:  # an unknown slot, or the first master of an empty list
        raise SlotNotCoveredError("no master has the slot") from error
    except AttributeError as error:  # a connection that another, failed call has closed meanwhile
        raise RedisConnectionError("closed by another call") from error
