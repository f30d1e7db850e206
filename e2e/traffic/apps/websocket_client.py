"""Does the exchanges of the WebSocket corpus: websocket_client.py websockets|aiohttp"""

import asyncio
import hashlib
import json
import sys
import time

TIMEOUT = 30


def parts(exchange):
    return [b"b" * each["bytes"] if each.get("binary") else "t" * each["bytes"] for each in exchange["send"]]


def message_of(data):
    raw = data if isinstance(data, bytes) else data.encode()
    return {"isBinary": isinstance(data, bytes), "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}


async def by_websockets(url, exchange):
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    messages = []
    async with connect(url, subprotocols=exchange.get("subprotocols"), open_timeout=TIMEOUT, proxy=None) as socket:
        for part in parts(exchange):
            await socket.send(part)
            messages.append(message_of(await socket.recv()))
        await (await socket.ping())
        if exchange["closes"] == "client":
            await socket.close(1000, "done")
        else:
            await socket.send("bye")
            try:
                await socket.recv()
            except ConnectionClosed:
                pass
        extensions = [each.name for each in socket.protocol.extensions]
        return {
            "messages": messages,
            "code": socket.close_code,
            "reason": socket.close_reason,
            "subprotocol": socket.subprotocol or "",
            "extensions": extensions,
        }


async def by_aiohttp(url, exchange):
    import aiohttp

    messages = []
    async with aiohttp.ClientSession() as session:
        protocols = exchange.get("subprotocols", [])
        async with session.ws_connect(url, protocols=protocols, compress=15, receive_timeout=TIMEOUT) as socket:
            for part in parts(exchange):
                await (socket.send_bytes(part) if isinstance(part, bytes) else socket.send_str(part))
                messages.append(message_of((await socket.receive()).data))
            if exchange["closes"] == "client":
                await socket.close(code=1000, message=b"done")
                reason = ""
            else:
                await socket.send_str("bye")
                reason = (await socket.receive()).extra
            return {
                "messages": messages,
                "code": socket.close_code,
                "reason": reason,
                "subprotocol": socket.protocol or "",
                "compress": socket.compress,
            }


async def main(ask, targets):
    seen = {}
    for target in targets:
        own = {}
        for exchange in target["exchanges"]:
            url = f"ws://{target['host']}:{target['port']}{exchange['path']}"
            try:
                start = time.monotonic()
                seen_now = await asyncio.wait_for(ask(url, exchange), TIMEOUT)
                # Clients wait 10 seconds for the end of a connection that has been closed.
                own[exchange["name"]] = {**seen_now, "ends": time.monotonic() - start < 8}
            except Exception as error:
                own[exchange["name"]] = {"error": type(error).__name__}
        seen[target["server"]] = own
    return seen


if __name__ == "__main__":
    flavour = {"websockets": by_websockets, "aiohttp": by_aiohttp}[sys.argv[1]]
    print(json.dumps(asyncio.run(main(flavour, json.load(sys.stdin)["targets"]))))
