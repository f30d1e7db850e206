"""Runs what a client of the traffic corpus does with each of its servers."""

import asyncio
import json
import sys
import traceback

EXCHANGE_SECONDS = 120


def run(connect):
    """Runs all exchanges at once and prints what they have seen as one JSON document.

    `connect` takes a target and answers with coroutine functions by the names of exchanges.
    """
    asyncio.run(_run(connect, json.load(sys.stdin)["targets"]))


async def _run(connect, targets):
    seen = dict(zip((target["server"] for target in targets), await asyncio.gather(*(_of_server(connect, target) for target in targets))))
    json.dump(seen, sys.stdout)


async def _of_server(connect, target):
    known = await connect(target)
    names = [exchange["name"] for exchange in target["exchanges"]]
    return dict(zip(names, await asyncio.gather(*(_result(known, name) for name in names))))


async def _result(known, name):
    if name not in known:
        return {"error": f"no exchange of this client is named {name}"}
    try:
        # One that hangs must not hide the others.
        return await asyncio.wait_for(known[name](), EXCHANGE_SECONDS)
    except Exception as error:  # noqa: BLE001: what a client throws is what it has seen.
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}
