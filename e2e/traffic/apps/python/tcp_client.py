"""Does the exchanges of the TCP corpus with clients in Python.

Usage: tcp_client.py PACKAGE KEYS
"""

import sys

import exchanges
import tcp_brokers
import tcp_databases

flavours = vars(tcp_databases) | vars(tcp_brokers)
exchanges.run(flavours[f"with_{sys.argv[1]}"])
