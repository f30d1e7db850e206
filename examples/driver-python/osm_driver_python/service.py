"""osm.driver.v1.Driver: what the host calls."""

import asyncio
import json
import os

import grpc
from osm.driver.v1 import driver_pb2, driver_pb2_grpc

from . import declaration
from .health import serve_health
from .host import Host
from .policy_server import PolicyServer
from .refusal import Refusal, tell

VERSION = "0.1.0"
MAX_MESSAGE_BYTES = 64 << 20
OPTIONS = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
)


class Service(driver_pb2_grpc.DriverServicer):
    def __init__(self) -> None:
        self._started: grpc.aio.ServicerContext | None = None
        self._one_at_a_time = asyncio.Lock()

    async def Describe(self, request, context):
        return driver_pb2.Declaration(
            name=declaration.NAME,
            contract=driver_pb2.ContractRange(min=declaration.CONTRACTS[0], max=declaration.CONTRACTS[1]),
            capabilities=declaration.CAPABILITIES,
            config_schema=json.dumps(declaration.CONFIG_SCHEMA),
            version=VERSION,
        )

    async def Patch(self, request, context):
        try:
            return driver_pb2.PatchResponse(patch=json.dumps(declaration.patch(json.loads(request.context))))
        except Refusal as refusal:
            await tell(context, refusal)

    async def Start(self, request, context):
        if self._started is not None and not self._started.cancelled():
            await tell(context, Refusal("OSM_DRIVER_START", "the driver was started already"))
        self._started = context
        # What was told to stop has the time to.
        async with self._one_at_a_time:
            try:
                async with grpc.aio.insecure_channel(f"unix:{request.host_socket}", options=OPTIONS) as channel:
                    await run(Host(channel), request.context, context)
            except Refusal as refusal:
                await tell(context, refusal)
            finally:
                if self._started is context:
                    self._started = None

    async def Debug(self, request, context):
        # This driver mounts no page.
        return driver_pb2.DebugResponse(status=404, content_type="text/plain", body="not found\n")

    async def Ping(self, request, context):
        return driver_pb2.Empty()


async def run(host: Host, start: driver_pb2.StartContext, context: grpc.aio.ServicerContext) -> None:
    """Runs the control plane until the call is cancelled, and then closes what it has opened. Raises Refusal with OSM_DRIVER_START."""
    address, port = start.proxy_server_address, start.proxy_server_port
    server = PolicyServer(host)
    health: asyncio.Server | None = None
    try:
        async for trust in host.watch("WatchServerCredential"):
            if health is None:
                await server.listen(address, port, trust)
                health, probes = await serve_health(address, port)
                await context.write(driver_pb2.StartEvent(probes=probes))
            else:
                server.use(trust)
    finally:
        await server.close()
        if health is not None:
            health.close()


async def serve(socket: str) -> None:
    """Serves the driver on that unix socket, which no one else may use, until the process is ended."""
    os.umask(0o077)
    server = grpc.aio.server(options=OPTIONS)
    driver_pb2_grpc.add_DriverServicer_to_server(Service(), server)
    server.add_insecure_port(f"unix:{socket}")
    await server.start()
    await server.wait_for_termination()
