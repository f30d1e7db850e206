"""What clients in Python of the TCP corpus have in common."""

import asyncio
import hashlib
import os
import pathlib
import sys
import time

LARGE_BYTES = 1 << 20
IDLE_SECONDS = 2
# Clients beside the mesh and through it use one server at the same time: what they make there has a name of its own.
OWN = f"python_{os.getpid()}_{time.time_ns()}"
CERTIFICATE = str(pathlib.Path(sys.argv[2], "tls.crt"))


def digest(content):
    content = content.encode() if isinstance(content, str) else content
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def failure_of(work, kinds, key_of):
    try:
        work()
    except kinds as error:
        return key_of(error)
    return "none"


def in_threads(known):
    """Libraries that block run in threads."""

    def threaded(work):
        async def run():
            return await asyncio.to_thread(work)

        return run

    return {name: threaded(work) for name, work in known.items()}
