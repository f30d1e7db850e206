"""The proxy control plane: HTTPS that only proxies of the mesh can reach. `GET /policy` answers with the policy in force and its parts."""

import asyncio
import json
import ssl
import tempfile

import grpc
from osm.driver.v1 import driver_pb2

from .host import Host
from .http import read_target, respond
from .refusal import Refusal, code_of

HANDSHAKE_SECONDS = 10
REQUEST_SECONDS = 30
# More than the proxies of a large mesh, and a bound for anyone who connects without being one.
MAX_CONNECTIONS = 4096


class PolicyServer:
    def __init__(self, host: Host) -> None:
        self._host = host
        self._tls: ssl.SSLContext | None = None
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def listen(self, address: str, port: int, trust: driver_pb2.ServerTrust) -> None:
        """Raises Refusal with OSM_DRIVER_START."""
        self.use(trust)
        try:
            self._server = await asyncio.start_server(self._serve, address, port)
        except OSError as error:
            raise Refusal("OSM_DRIVER_START", f"the policy server cannot listen on {address}:{port}: {error.strerror}") from error

    def use(self, trust: driver_pb2.ServerTrust) -> None:
        """Certificates are short-lived: new connections get each that replaces the one before. Raises Refusal with OSM_DRIVER_START."""
        credential = trust.credential
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.minimum_version = ssl.TLSVersion.TLSv1_2
        tls.verify_mode = ssl.CERT_REQUIRED
        # What was resumed would not be verified by the roots of now.
        tls.num_tickets = 0
        tls.options |= ssl.OP_NO_TICKET
        try:
            tls.load_verify_locations(cadata="\n".join(trust.client_roots.certificates))
            # The module reads keys from files only. No one else may read this one, and it is gone at once.
            with tempfile.NamedTemporaryFile("w") as file:
                file.write(f"{credential.chain}\n{credential.private_key}")
                file.flush()
                tls.load_cert_chain(file.name)
        except (ssl.SSLError, ValueError) as error:
            raise Refusal("OSM_DRIVER_START", "the control-plane certificate cannot be used") from error
        self._tls = tls

    async def close(self) -> None:
        """Ends every connection."""
        if self._server is not None:
            self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._writers) >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            # With the certificate of now, not that of the time at which the server began to listen.
            await writer.start_tls(self._tls, ssl_handshake_timeout=HANDSHAKE_SECONDS)
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._answer(await read_target(reader), writer)
        except (ssl.SSLError, OSError, EOFError, TimeoutError, ValueError):
            pass  # the peer is not a proxy of the mesh, speaks something else, or has gone
        finally:
            self._writers.discard(writer)
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _answer(self, target: str, writer: asyncio.StreamWriter) -> None:
        if target != "/policy":
            await respond(writer, 404, "text/plain", "not found\n")
            return
        # Nothing else says who the peer is: no header, no path.
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        session = ""
        try:
            session = (await self._host.authenticate(certificate)).session
            async for update in self._host.watch("WatchPolicies", session=session):
                parts = [await self._host.part(added.hash) for added in update.added]
                policy = {"revision": update.revision, "proxy": json.loads(update.proxy), "parts": parts}
                await respond(writer, 200, "application/json", json.dumps(policy))
                break
        except grpc.aio.AioRpcError as error:
            await self._host.warn({"code": code_of(error)}, "a proxy was refused")
            await respond(writer, 403, "text/plain", "refused\n")
        finally:
            if session != "":
                await self._host.disconnected(session)
