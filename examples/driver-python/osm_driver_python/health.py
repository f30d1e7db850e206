"""Answers on loopback whether the policy server takes connections, by making one."""

import asyncio
from osm.driver.v1 import driver_pb2

from .http import read_target, respond

PATH = "/healthz"
TIMEOUT_MS = 2000
CONNECT_SECONDS = 1


async def serve_health(address: str, port: int) -> tuple[asyncio.Server, driver_pb2.HealthProbes]:
    """The server, which the caller closes, and HealthProbes."""
    target = "127.0.0.1" if address == "0.0.0.0" else address

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_MS / 1000):
                if await read_target(reader) != PATH:
                    await respond(writer, 404, "text/plain", "not found\n")
                elif await _accepts(target, port):
                    await respond(writer, 200, "text/plain", "ok\n")
                else:
                    await respond(writer, 503, "text/plain", "the policy server takes no connection\n")
        except (OSError, EOFError, TimeoutError, ValueError):
            pass  # anyone who asked has gone, or speaks something else
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    own = server.sockets[0].getsockname()[1]
    probe = driver_pb2.HealthProbe(path=PATH, port=own, http=True, timeout_ms=TIMEOUT_MS)
    return server, driver_pb2.HealthProbes(liveness=probe, readiness=probe, startup=probe)


async def _accepts(address: str, port: int) -> bool:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _reader, writer = await asyncio.open_connection(address, port)
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True
