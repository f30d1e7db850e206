"""Does the exchanges of the HTTP corpus with clients in Python: http_client.py stdlib|requests|urllib3|aiohttp|httpx|httpx2"""

import asyncio
import hashlib
import http.client
import json
import sys

# The limit of http.client on what it reads, which urllib3 and requests have too.
http.client._MAXHEADERS = 1000
TIMEOUT = 30


def body_of(exchange):
    return b"b" * exchange["body"]["bytes"] if "body" in exchange else None


def is_chunked(exchange):
    return exchange.get("body", {}).get("framing") == "chunked"


def thirds(body):
    third = -(-len(body) // 3)
    return [body[i : i + third] for i in range(0, len(body), third)]


def headers_of(exchange):
    headers = dict(exchange.get("headers", []))
    if "host" in exchange:
        headers["Host"] = exchange["host"]
    return headers


def url_of(target, exchange):
    host = target["address"] if exchange.get("byAddress") else target["host"]
    return f"http://{host}:{target['port']}{exchange['path']}"


def seen_of(status, headers, content, **rest):
    text = {"text": content.decode()} if content.startswith(b'{"seen":') else {}
    digest = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return {"status": status, "headers": [[k, v] for k, v in headers], **digest, **text, **rest}


class Stdlib:
    def __init__(self, target):
        self.target = target
        self.connections = {}

    def ask(self, exchange):
        host = self.target["address"] if exchange.get("byAddress") else self.target["host"]
        # One connection an exchange: it would send the next on one that a server is closing.
        key = (host, exchange["name"])
        kept = self.connections.setdefault(key, http.client.HTTPConnection(host, self.target["port"], timeout=TIMEOUT))
        reused = kept.sock is not None
        body, headers = body_of(exchange), headers_of(exchange)
        try:
            chunked = is_chunked(exchange)
            if chunked:
                headers["Transfer-Encoding"] = "chunked"
            sent = iter(thirds(body)) if chunked else body
            kept.request(exchange["method"], exchange["path"], sent, headers, encode_chunked=chunked)
            answer = kept.getresponse()
            content = answer.read()
        except Exception as error:
            kept.close()
            return {"error": type(error).__name__}
        version = {10: "1.0", 11: "1.1"}[answer.version]
        return seen_of(answer.status, answer.getheaders(), content, reason=answer.reason, version=version, reused=reused)


class Requests:
    def __init__(self, target):
        import requests

        self.target = target
        self.session = requests.Session()

    def ask(self, exchange):
        body = body_of(exchange)
        sent = iter(thirds(body)) if is_chunked(exchange) else body
        # What a test sends is in the exchange.
        self.session.cookies.clear()
        try:
            answer = self.session.request(
                exchange["method"],
                url_of(self.target, exchange),
                data=sent,
                headers=headers_of(exchange),
                timeout=TIMEOUT,
                allow_redirects=False,
                stream=True,
            )
            content = answer.raw.read(decode_content=False)
        except Exception as error:
            return {"error": type(error).__name__}
        return seen_of(answer.status_code, answer.raw.headers.items(), content, reason=answer.reason)


class Urllib3:
    def __init__(self, target):
        import urllib3

        self.target = target
        self.pool = urllib3.PoolManager(retries=False, timeout=TIMEOUT)

    def ask(self, exchange):
        body = body_of(exchange)
        sent = iter(thirds(body)) if is_chunked(exchange) else body
        try:
            answer = self.pool.request(
                exchange["method"],
                url_of(self.target, exchange),
                body=sent,
                headers=headers_of(exchange),
                redirect=False,
                decode_content=False,
            )
        except Exception as error:
            return {"error": type(error).__name__}
        return seen_of(answer.status, answer.headers.items(), answer.data, reason=answer.reason)


class Httpx:
    def __init__(self, target, http2=False):
        import httpx

        self.target = target
        self.client = httpx.Client(http1=not http2, http2=http2, timeout=TIMEOUT, trust_env=False)

    def ask(self, exchange):
        body = body_of(exchange)
        sent = iter(thirds(body)) if is_chunked(exchange) else body
        self.client.cookies.clear()
        try:
            request = self.client.build_request(
                exchange["method"], url_of(self.target, exchange), content=sent, headers=headers_of(exchange)
            )
            answer = self.client.send(request, stream=True)
            content = b"".join(answer.iter_raw())
        except Exception as error:
            return {"error": type(error).__name__}
        headers = [(k.decode("latin1"), v.decode("latin1")) for k, v in answer.headers.raw]
        return seen_of(answer.status_code, headers, content, reason=answer.reason_phrase, version=answer.http_version)


async def with_aiohttp(targets):
    import aiohttp
    from yarl import URL

    def answers(session, target):
        async def ask(exchange):
            body = body_of(exchange)

            async def pieces():
                for piece in thirds(body):
                    yield piece

            try:
                async with session.request(
                    exchange["method"],
                    URL(url_of(target, exchange), encoded=True),
                    data=pieces() if is_chunked(exchange) else body,
                    headers=headers_of(exchange),
                    allow_redirects=False,
                    expect100=exchange.get("expectsContinue", False),
                ) as answer:
                    content = await answer.read()
            except Exception as error:
                return {"error": type(error).__name__}
            headers = [(k.decode("latin1"), v.decode("latin1")) for k, v in answer.raw_headers]
            version = f"{answer.version.major}.{answer.version.minor}"
            return seen_of(answer.status, headers, content, reason=answer.reason, version=version)

        return ask

    all_seen = {}
    for target in targets:
        async with aiohttp.ClientSession(
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT),
            max_field_size=131_072,
        ) as session:
            ask = answers(session, target)
            own = {}
            for exchange in target["exchanges"]:
                times = exchange.get("times", 1)
                seen = [await ask(exchange) for _ in range(times)]
                own[exchange["name"]] = seen[0] if times == 1 else seen
            all_seen[target["server"]] = own
    return all_seen


def with_blocking(make, targets):
    all_seen = {}
    for target in targets:
        client = make(target)
        own = {}
        for exchange in target["exchanges"]:
            times = exchange.get("times", 1)
            seen = [client.ask(exchange) for _ in range(times)]
            own[exchange["name"]] = seen[0] if times == 1 else seen
        all_seen[target["server"]] = own
    return all_seen


BLOCKING = {
    "stdlib": Stdlib,
    "requests": Requests,
    "urllib3": Urllib3,
    "httpx": Httpx,
    "httpx2": lambda target: Httpx(target, http2=True),
}

if __name__ == "__main__":
    flavour = sys.argv[1]
    given = json.load(sys.stdin)["targets"]
    if flavour == "aiohttp":
        print(json.dumps(asyncio.run(with_aiohttp(given))))
    else:
        print(json.dumps(with_blocking(BLOCKING[flavour], given)))
