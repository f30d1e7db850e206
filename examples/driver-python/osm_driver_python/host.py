"""The host of a started driver: its ControllerContext, behind a socket."""

import json
from collections.abc import AsyncIterator
from typing import Any

import grpc
from osm.driver.v1 import driver_pb2, driver_pb2_grpc


class Host:
    """Asks the host. What it refuses is a grpc.aio.AioRpcError."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = driver_pb2_grpc.HostStub(channel)

    async def authenticate(self, certificate: bytes) -> driver_pb2.ProxyRef:
        """The proxy whose certificate (DER) that is, with the session by which it is known from now on."""
        return await self._stub.Authenticate(driver_pb2.AuthenticateRequest(certificate=certificate))

    async def disconnected(self, session: str) -> None:
        await self._stub.Disconnected(driver_pb2.SessionRequest(session=session))

    async def part(self, part_hash: str) -> dict[str, Any]:
        return json.loads((await self._stub.GetPart(driver_pb2.PartRequest(hash=part_hash))).part)

    async def warn(self, fields: dict[str, str], message: str) -> None:
        """A line in the log of the host. It must not hold keys."""
        entry = driver_pb2.LogEntry(level=driver_pb2.LOG_LEVEL_WARN, fields=json.dumps(fields), message=message)
        await self._stub.Log(driver_pb2.LogEntries(entries=[entry]))

    async def watch(self, call: str, **request: str) -> AsyncIterator[Any]:
        """Follows something, such as "WatchPolicies" of a session. The next item is asked for when the one before was dealt with."""
        stream = getattr(self._stub, call)()
        try:
            while True:
                await stream.write(driver_pb2.WatchRequest(**request))
                item = await stream.read()
                if item is grpc.aio.EOF:
                    return
                yield item
        finally:
            stream.cancel()
