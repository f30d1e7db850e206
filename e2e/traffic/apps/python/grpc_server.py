"""A gRPC server of the traffic corpus: the service corpus.Echo as tools/traffic/go/grpc-server has it.

Usage: grpc_server.py PORT
"""

import asyncio
import base64
import collections
import json
import sys

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc


class Echo:
    def __init__(self):
        self.began = collections.Counter()
        self.ended = collections.Counter()
        self.barriers = {}

    async def unary(self, message, context):
        seen = collections.defaultdict(list)
        for name, value in context.invocation_metadata():
            text = base64.b64encode(value).decode() if name.endswith("-bin") else value
            # All of it must fit into the header of an answer.
            seen[name].append(text if len(text) <= 100 else f"{len(text)} characters")
        await context.send_initial_metadata((("seen-bin", json.dumps(seen).encode()), ("answer-text", "of the header")))
        context.set_trailing_metadata((("trailer-text", "of the trailer"), ("trailer-blob-bin", b"\x00\x01\xff")))
        return message

    async def fail(self, message, context):
        number, _, text = message.decode().partition(":")
        context.set_trailing_metadata((("detail-bin", f"details of {text}".encode()),))
        code = next(code for code in grpc.StatusCode if code.value[0] == int(number))
        await context.abort(code, text)

    async def wait(self, message, _context):
        key, _, milliseconds = message.decode().partition(":")
        self.began[key] += 1
        try:
            await asyncio.sleep(int(milliseconds) / 1000)
        except asyncio.CancelledError:
            self.ended[key] += 1
            raise
        return message

    async def counts(self, message, _context):
        key = message.decode()
        return f"{self.began[key]}:{self.ended[key]}".encode()

    async def barrier(self, message, _context):
        key, _, calls = message.decode().partition(":")
        missing, is_open = self.barriers.setdefault(key, [int(calls), asyncio.Event()])
        self.barriers[key][0] = missing - 1
        if missing == 1:
            is_open.set()
            del self.barriers[key]
        await is_open.wait()
        return message

    async def sum(self, messages, _context):
        number = length = 0
        async for message in messages:
            number += 1
            length += len(message)
        yield f"{number}:{length}".encode()

    async def count(self, messages, _context):
        first = await anext(messages)
        for i in range(int(first)):
            yield str(i).encode()

    async def chat(self, messages, context):
        await context.send_initial_metadata((("answer-text", "before any message"),))
        async for message in messages:
            yield message
        context.set_trailing_metadata((("trailer-text", "of the chat"),))

    async def reject(self, messages, context):
        await anext(messages)
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "enough")
        yield b""


async def main(port):
    server = grpc.aio.server(
        options=(
            ("grpc.http2.min_ping_interval_without_data_ms", 500),
            ("grpc.keepalive_permit_without_calls", 1),
        ),
        compression=grpc.Compression.Gzip,
    )
    echo = Echo()
    one = {name: grpc.unary_unary_rpc_method_handler(getattr(echo, name.lower())) for name in ("Unary", "Fail", "Wait", "Counts", "Barrier")}
    many = {name: grpc.stream_stream_rpc_method_handler(getattr(echo, name.lower())) for name in ("Sum", "Count", "Chat", "Reject")}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("corpus.Echo", one | many),))
    checks = health.aio.HealthServicer()
    await checks.set("corpus.Echo", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    server.add_insecure_port(f"0.0.0.0:{port}")
    await server.start()
    await server.wait_for_termination()


asyncio.run(main(sys.argv[1]))
