"""Does the exchanges of the gRPC corpus with grpcio."""

import asyncio
import base64
import hashlib
import json
import os
import time

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

import exchanges

LARGE_BYTES = 3 << 20
CONCURRENT_CALLS = 150
KEEPALIVE_MS = 1_000
IDLE_SECONDS = 12
COUNT_SECONDS = 100
BARRIER_SECONDS = 60


class Caller:
    def __init__(self, target):
        # Several clients may ask one server.
        self.key = f"python-{os.getpid()}-{time.time_ns()}"
        self.channel = grpc.aio.insecure_channel(
            f"dns:///{target['host']}:{target['port']}",
            options=(
                ("grpc.keepalive_time_ms", KEEPALIVE_MS),
                ("grpc.keepalive_timeout_ms", 60_000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.max_pings_without_data", 0),
                # By default, channels to one address share a connection.
                ("grpc.use_local_subchannel_pool", 1),
            ),
        )

    def call(self, method, message, **options):
        return self.channel.unary_unary(f"/corpus.Echo/{method}")(message, wait_for_ready=True, **options)

    def stream(self, method):
        return self.channel.stream_stream(f"/corpus.Echo/{method}")(wait_for_ready=True)

    async def unary(self):
        metadata = (("text", "plain value"), ("list", "a"), ("list", "b"), ("blob-bin", b"\x00\x01\xfe\xff"), ("long", "x" * 6000))
        call = self.call("Unary", b"hello", metadata=metadata)
        message = await call
        header, trailer = await call.initial_metadata(), await call.trailing_metadata()
        return {
            "message": message.decode(),
            "metadata": json.loads(first(header, "seen-bin")),
            "header": first(header, "answer-text"),
            "trailer": first(trailer, "trailer-text"),
            "trailerBlob": base64.b64encode(first(trailer, "trailer-blob-bin")).decode(),
        }

    async def empty_message(self):
        return {"bytes": len(await self.call("Unary", b""))}

    async def large_message(self):
        return digest(await self.call("Unary", b"large" * (LARGE_BYTES // 5)))

    async def gzip(self):
        return digest(await self.call("Unary", b"small " * 50_000, compression=grpc.Compression.Gzip))

    async def failure(self):
        error = await failure_of(self.call("Fail", "7:Grüße, 100 % sure\nof it".encode()))
        return {"code": error.code().value[0], "message": error.details(), "details": first(error.trailing_metadata(), "detail-bin").decode()}

    async def unimplemented(self):
        error = await failure_of(self.call("Missing", b""))
        return {"code": error.code().value[0], "message": error.details()}

    async def client_stream(self):
        stream = self.stream("Sum")
        for _ in range(100):
            await stream.write(bytes(1024))
        await stream.done_writing()
        return {"answers": [answer.decode() async for answer in stream]}

    async def server_stream(self):
        stream = self.stream("Count")
        await stream.write(b"500")
        await stream.done_writing()
        messages = [message async for message in stream]
        return {"messages": len(messages), "inOrder": messages == [str(i).encode() for i in range(500)]}

    async def bidi_stream(self):
        stream = self.stream("Chat")
        header = await stream.initial_metadata()
        same = 0
        for i in range(20):
            same += await ask(stream, str(i)) == str(i)
        await stream.done_writing()
        rest = 0 if await stream.read() is grpc.aio.EOF else 1
        trailer = await stream.trailing_metadata()
        return {"header": first(header, "answer-text"), "answers": same, "rest": rest, "trailer": first(trailer, "trailer-text")}

    async def early_end(self):
        stream = self.stream("Reject")
        await stream.write(b"first")
        error = await failure_of(stream.read())
        return {"code": error.code().value[0], "message": error.details()}

    async def deadline(self):
        key = f"{self.key}-deadline"
        # The time is not for making the connection.
        await self.call("Unary", b"")
        error = await failure_of(self.call("Wait", f"{key}:60000".encode(), timeout=4))
        # A server that is faster than the client resets the stream, and a sidecar says UNAVAILABLE then.
        is_over = error.code().value[0] in (1, 4, 14)
        return {"isOver": is_over, "endedAtServer": await self.until_counted(key, b"1:1")}

    async def cancellation(self):
        key = f"{self.key}-cancellation"
        call = self.call("Wait", f"{key}:60000".encode())
        began = await self.until_counted(key, b"1:0")
        call.cancel()
        return {"began": began, "code": (await call.code()).value[0], "endedAtServer": await self.until_counted(key, b"1:1")}

    async def until_counted(self, key, counts):
        """Waits until a server has counted so many calls that began and that callers ended."""
        end = time.monotonic() + COUNT_SECONDS
        while time.monotonic() < end:
            if await self.call("Counts", key.encode()) == counts:
                return True
            await asyncio.sleep(0.05)
        return False

    async def concurrent(self):
        message = f"{self.key}:{CONCURRENT_CALLS}".encode()
        calls = [self.call("Barrier", message, timeout=BARRIER_SECONDS) for _ in range(CONCURRENT_CALLS)]
        by_code = {}
        for call in calls:
            code = str((await call.code()).value[0])
            by_code[code] = by_code.get(code, 0) + 1
        return {"callsByCode": by_code}

    async def keepalive(self):
        stream = self.stream("Chat")
        before = await ask(stream, "before")
        await asyncio.sleep(IDLE_SECONDS)
        after = await ask(stream, "after")
        await stream.done_writing()
        return {"before": before, "after": after}

    async def health(self):
        stub = health_pb2_grpc.HealthStub(self.channel)
        known = await stub.Check(health_pb2.HealthCheckRequest(service="corpus.Echo"), wait_for_ready=True)
        unknown = await failure_of(stub.Check(health_pb2.HealthCheckRequest(service="corpus.Nothing")))
        return {"known": health_pb2.HealthCheckResponse.ServingStatus.Name(known.status), "unknown": unknown.code().value[0]}


async def ask(stream, message):
    await stream.write(message.encode())
    return (await stream.read()).decode()


async def failure_of(call):
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return error
    raise AssertionError("the call succeeded")


def first(metadata, name):
    return next((value for key, value in metadata if key == name), None)


def digest(message):
    return {"bytes": len(message), "sha256": hashlib.sha256(message).hexdigest()}


async def connect(target):
    caller = Caller(target)
    return {
        "unary": caller.unary,
        "empty-message": caller.empty_message,
        "large-message": caller.large_message,
        "gzip": caller.gzip,
        "failure": caller.failure,
        "unimplemented": caller.unimplemented,
        "client-stream": caller.client_stream,
        "server-stream": caller.server_stream,
        "bidi-stream": caller.bidi_stream,
        "early-end": caller.early_end,
        "deadline": caller.deadline,
        "cancellation": caller.cancellation,
        "concurrent": caller.concurrent,
        "keepalive": caller.keepalive,
        "health": caller.health,
    }


exchanges.run(connect)
