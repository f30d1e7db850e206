"""The program of the driver: `python3 main.py <socket>`. It ends when its standard input does, so that it never outlives anyone who started it."""

import asyncio
import os
import sys
import threading
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit(f"this driver needs Python 3.11 or newer; this is {sys.version.split()[0]}")
if len(sys.argv) != 2:
    sys.exit("usage: main.py <socket>")
# What build.py has put beside this file.
sys.path.insert(0, str(Path(__file__).parent / "lib"))

from osm_driver_python.service import serve  # noqa: E402, what it imports was not there before


def end_with_standard_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_standard_input, daemon=True).start()
asyncio.run(serve(sys.argv[1]))
