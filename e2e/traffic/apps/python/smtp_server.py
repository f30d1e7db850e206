"""An SMTP server of the traffic corpus, on aiosmtpd: it says in its answers how long mails are.

Usage: smtp_server.py PORT KEYS
"""

import asyncio
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP


class Handler:
    async def handle_RCPT(self, _server, _session, envelope, address, _options):
        if address.startswith("nobody@"):
            return "550 5.1.1 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server, session, envelope):
        return f"250 took {len(envelope.content)} bytes, TLS: {session.ssl is not None}"


async def main(port, keys):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pathlib.Path(keys, "tls.crt"), pathlib.Path(keys, "tls.key"))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Handler(), hostname="corpus", tls_context=context), "0.0.0.0", port)
    await server.serve_forever()


asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
