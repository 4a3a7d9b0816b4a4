"""A Redis that executes commands, but whose reply is lost on the way back."""

from typing import Any

from redis.exceptions import ConnectionError as RedisConnectionError

from service.store.connection import RedisClient


class LossyRedis:
    """A client that loses one reply: that to the first call of any of the named commands."""

    def __init__(self, client: RedisClient, *names: str) -> None:
        self._client = client
        self._names = names
        self.lost = False

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)
        if name not in self._names or self.lost:
            return call

        async def lose(*args: Any, **named: Any) -> None:
            await call(*args, **named)
            self.lost = True
            raise RedisConnectionError("lost")

        return lose
