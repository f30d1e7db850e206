"""Answers the exchanges of the HTTP corpus with servers in Python: http_server.py stdlib|aiohttp|uvicorn|hypercorn|gunicorn <port>"""

import asyncio
import gzip
import hashlib
import http.client
import http.server
import json
import sys
import time

http.client._MAXHEADERS = 1000
TEXT = b"hello from the corpus\n" * 20
COUNTED = bytes(i % 251 for i in range(10_000))
PACKED = gzip.compress(TEXT, mtime=0)
COOKIES = ["a=1; Path=/", "b=2; HttpOnly", "c=3; Expires=Wed, 21 Oct 2065 07:28:00 GMT"]
PLAIN = ("Content-Type", "text/plain")


def echo(method, url, version, headers, body):
    digest = hashlib.sha256(body).hexdigest()
    own = {"method": method, "url": url, "version": version, "headers": headers, "bytes": len(body), "sha256": digest}
    return 200, [("Content-Type", "application/json")], json.dumps({"seen": own}, separators=(",", ":")).encode()


def answer(path, header):
    """Status, headers and body of all that needs no stream."""
    if path.startswith("/status/"):
        code = int(path.rsplit("/", 1)[1])
        if code == 204:
            return code, [], b""
        if code == 304:
            return code, [("ETag", '"corpus"')], b""
        return code, [PLAIN], f"status {code}".encode()
    if path == "/redirect":
        return 302, [("Location", "/text")], b""
    if path == "/gzip":
        return 200, [PLAIN, ("Content-Encoding", "gzip")], PACKED
    if path == "/bytes":
        first, last = header("range").removeprefix("bytes=").split("-")
        part = COUNTED[int(first) : int(last) + 1]
        return 206, [PLAIN, ("Content-Range", f"bytes {first}-{last}/{len(COUNTED)}")], part
    if path == "/cookies":
        return 200, [PLAIN, *(("Set-Cookie", each) for each in COOKIES)], header("cookie").encode()
    if path == "/large-headers":
        return 200, [PLAIN, *((f"X-Large-{i}", "v" * 1_000) for i in range(40))], b"large"
    if path == "/close":
        return 200, [PLAIN, ("Connection", "close")], b"closed"
    return 200, [PLAIN, ("X-Mixed-Case", "Value"), ("ETag", '"corpus"')], TEXT


def events():
    return [f"id: {i}\ndata: event {i}\n\n".encode() for i in range(5)]


class Handler(http.server.BaseHTTPRequestHandler):
    """Speaks HTTP/1.0, as http.server does unless it is told otherwise."""

    def handle_any(self):
        path = self.path.split("?")[0]
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if path == "/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in events():
                self.wfile.write(event)
                time.sleep(0.02)
            return
        if path == "/slow":
            time.sleep(0.3)
        if path.startswith("/echo"):
            version = self.request_version.removeprefix("HTTP/")
            code, headers, content = echo(self.command, self.path, version, self.headers.items(), body)
        else:
            code, headers, content = answer(path, lambda name: self.headers.get(name, ""))
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        if code not in (204, 304):
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_OPTIONS = handle_any

    def log_message(self, *_):
        pass


def with_stdlib(port):
    http.server.ThreadingHTTPServer(("0.0.0.0", port), Handler).serve_forever()


def with_aiohttp(port):
    from aiohttp import web

    async def handle(request):
        path = request.rel_url.raw_path
        if path == "/events":
            stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await stream.prepare(request)
            for event in events():
                await stream.write(event)
                await asyncio.sleep(0.02)
            await stream.write_eof()
            return stream
        if path == "/slow":
            await asyncio.sleep(0.3)
        if path.startswith("/echo"):
            headers = [[k.decode("latin1"), v.decode("latin1")] for k, v in request.raw_headers]
            version = f"{request.version.major}.{request.version.minor}"
            code, own, content = echo(request.method, request.raw_path, version, headers, await request.read())
        else:
            code, own, content = answer(path, lambda name: request.headers.get(name, ""))
        from multidict import CIMultiDict

        return web.Response(status=code, headers=CIMultiDict(own), body=content)

    async def websocket(request):
        socket = web.WebSocketResponse(protocols=("chat",))
        await socket.prepare(request)
        async for message in socket:
            if message.data == "bye":
                await socket.close(code=4000, message=b"told to")
            elif message.type.name == "TEXT":
                await socket.send_str(message.data)
            else:
                await socket.send_bytes(message.data)
        return socket

    app = web.Application(client_max_size=4 * 1024 * 1024)
    app.router.add_get("/ws", websocket)
    app.router.add_route("*", "/{rest:.*}", handle)
    web.run_app(app, host="0.0.0.0", port=port, print=None, max_field_size=131_072, max_line_size=131_072)


async def asgi(scope, receive, send):
    if scope["type"] == "websocket":
        await asgi_websocket(receive, send)
        return
    if scope["type"] != "http":
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    path = scope["raw_path"].decode()
    query = scope["query_string"].decode()
    given = [[k.decode("latin1"), v.decode("latin1")] for k, v in scope["headers"]]
    if path == "/events":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for event in events():
            await send({"type": "http.response.body", "body": event, "more_body": True})
            await asyncio.sleep(0.02)
        await send({"type": "http.response.body", "body": b""})
        return
    if path == "/slow":
        await asyncio.sleep(0.3)
    if path.startswith("/echo"):
        code, own, content = echo(scope["method"], f"{path}?{query}" if query else path, scope["http_version"], given, body)
    else:
        code, own, content = answer(path, lambda name: "; ".join(v for k, v in given if k == name))
    own = [(k.lower().encode(), v.encode()) for k, v in own]
    if scope["http_version"] == "2":
        own = [(k, v) for k, v in own if k != b"connection"]
    if code not in (204, 304):
        own.append((b"content-length", str(len(content)).encode()))
    await send({"type": "http.response.start", "status": code, "headers": own})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else content})


async def asgi_websocket(receive, send):
    await receive()
    await send({"type": "websocket.accept", "subprotocol": "chat"})
    while (message := await receive())["type"] == "websocket.receive":
        if message.get("text") == "bye":
            await send({"type": "websocket.close", "code": 4000, "reason": "told to"})
            return
        kind = "bytes" if message.get("bytes") is not None else "text"
        await send({"type": "websocket.send", kind: message[kind]})


def with_uvicorn(port):
    import uvicorn

    uvicorn.run(asgi, host="0.0.0.0", port=port, log_level="error", h11_max_incomplete_event_size=262_144)


def with_hypercorn(port):
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    config = Config()
    config.bind = [f"0.0.0.0:{port}"]
    config.h11_max_incomplete_size = 262_144
    config.h2_max_header_list_size = 262_144
    asyncio.run(serve(asgi, config))


def wsgi(environ, start_response):
    method, path = environ["REQUEST_METHOD"], environ["RAW_URI"].split("?")[0]
    if path == "/events":
        start_response("200 OK", [("Content-Type", "text/event-stream")])
        return events()
    if path == "/slow":
        time.sleep(0.3)
    if path.startswith("/echo"):
        body = environ["wsgi.input"].read()
        # Names of headers in upper case are how WSGI shows them.
        names = [name for name in sorted(environ) if name.startswith("HTTP_")]
        headers = [[name[5:].replace("_", "-").title(), environ[name]] for name in names]
        headers += [["Content-Length", environ["CONTENT_LENGTH"]]] if environ.get("CONTENT_LENGTH") else []
        version = environ["SERVER_PROTOCOL"].removeprefix("HTTP/")
        code, own, content = echo(method, environ["RAW_URI"], version, headers, body)
    else:
        code, own, content = answer(path, lambda name: environ.get(f"HTTP_{name.upper()}", ""))
    # It has rules of its own for the headers of a connection.
    own = [(k, v) for k, v in own if k != "Connection"]
    if code not in (204, 304):
        own.append(("Content-Length", str(len(content))))
    start_response(f"{code} {http.client.responses[code]}", own)
    return [b"" if method == "HEAD" else content]


def with_gunicorn(port):
    from gunicorn.app.base import BaseApplication

    class Application(BaseApplication):
        def load_config(self):
            limits = {"limit_request_field_size": 0, "limit_request_fields": 1000, "limit_request_line": 0}
            settings = {"bind": f"0.0.0.0:{port}", "worker_class": "gthread", "threads": 8, "loglevel": "error", **limits}
            for name, value in settings.items():
                self.cfg.set(name, value)

        def load(self):
            return wsgi

    Application().run()


SERVERS = {
    "stdlib": with_stdlib,
    "aiohttp": with_aiohttp,
    "uvicorn": with_uvicorn,
    "hypercorn": with_hypercorn,
    "gunicorn": with_gunicorn,
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](int(sys.argv[2]))
