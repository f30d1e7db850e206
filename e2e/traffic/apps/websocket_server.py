"""Echoes messages with websockets (PyPI), and closes when it is told to: websocket_server.py <port>"""

import asyncio
import sys

from websockets.asyncio.server import serve


async def echo(socket):
    async for message in socket:
        if message == "bye":
            await socket.close(4000, "told to")
        else:
            await socket.send(message)


async def main(port):
    async with serve(echo, "0.0.0.0", port, subprotocols=["chat"]) as server:
        await server.serve_forever()


asyncio.run(main(int(sys.argv[1])))
