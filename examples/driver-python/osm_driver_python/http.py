"""As much of HTTP/1.1 as a control plane and its probes need: one request for each connection, without a body."""

import asyncio

REASONS = {200: "OK", 403: "Forbidden", 404: "Not Found", 503: "Service Unavailable"}


async def read_target(reader: asyncio.StreamReader) -> str:
    """The path of a GET request. Raises ValueError for anything else, EOFError when the peer goes before."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    except asyncio.LimitOverrunError as error:
        raise ValueError("the head of a request is too long") from error
    method, target, _version = head.split("\r\n", 1)[0].split(" ")
    if method != "GET":
        raise ValueError("only GET is understood")
    return target


async def respond(writer: asyncio.StreamWriter, status: int, content_type: str, body: str) -> None:
    content = body.encode()
    head = f"HTTP/1.1 {status} {REASONS[status]}\r\ncontent-type: {content_type}\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode() + content)
    await writer.drain()
