"""Clients in Python of databases and caches."""

import asyncio
import contextlib
import ssl
import time

from tcp_common import CERTIFICATE, IDLE_SECONDS, LARGE_BYTES, OWN, digest, failure_of, in_threads


async def with_asyncpg(target):
    import asyncpg

    class Using:
        def __init__(self, **more):
            self.settings = {"host": target["host"], "port": target["port"], "user": "corpus", "password": "corpus", "database": "postgres", "ssl": False} | more

        async def __aenter__(self):
            self.connection = await asyncpg.connect(**self.settings)
            return self.connection

        async def __aexit__(self, *_):
            await self.connection.close()

    async def query():
        async with Using() as it:
            return [await it.fetchval("select 1 + 1"), await it.fetchval("select version()")]

    async def prepared():
        async with Using() as it:
            twice = await it.prepare("select $1::text || $1")
            return [await twice.fetchval(text) for text in ("a", "b")]

    async def many_rows():
        async with Using() as it, it.transaction():
            return len([row async for row in it.cursor("select i from generate_series(1, 5000) i", prefetch=100)])

    async def large():
        async with Using() as it:
            return digest(await it.fetchval(f"select repeat('x', {LARGE_BYTES})"))

    async def error():
        async with Using() as it:
            try:
                await it.fetchval("select 1 / 0")
            except asyncpg.PostgresError as failure:
                return {"code": failure.sqlstate, "message": str(failure)}

    async def wrong_password():
        try:
            async with Using(password="wrong"):
                return "none"
        except asyncpg.PostgresError as failure:
            return {"code": failure.sqlstate, "message": str(failure)}

    async def idle():
        async with Using() as it:
            await asyncio.sleep(IDLE_SECONDS)
            return await it.fetchval("select 2")

    async def tls():
        context = ssl.create_default_context(cafile=CERTIFICATE)
        async with Using(ssl=context) as it:
            return dict(await it.fetchrow("select ssl, version from pg_stat_ssl where pid = pg_backend_pid()"))

    async def notification():
        news = asyncio.get_running_loop().create_future()
        async with Using() as it, Using() as other:
            await it.add_listener(OWN, lambda *details: news.set_result(details[3]))
            await other.execute(f"notify {OWN}, 'news'")
            return await news

    async def cancel():
        async with Using() as it:
            try:
                await it.fetchval("select pg_sleep(100)", timeout=2)
            except TimeoutError:
                # It asked on a second connection to end the query: this one goes on.
                return await it.fetchval("select 3")

    async def copy():
        async with Using() as it:
            await it.execute("create temporary table things (n int, t text)")
            await it.copy_records_to_table("things", records=((i, "x" * 100) for i in range(5000)))
            return dict(await it.fetchrow("select count(*), sum(length(t)) as length from things"))

    return {"query": query, "prepared": prepared, "many-rows": many_rows, "large": large, "error": error, "wrong-password": wrong_password, "idle": idle, "tls": tls, "notification": notification, "cancel": cancel, "copy": copy}


async def with_pymysql(target):
    import pymysql

    def rows(query, arguments=None, pause=0, **more):
        settings = {"host": target["host"], "port": target["port"], "user": "corpus", "password": "corpus", "database": "corpus"} | more
        with pymysql.connect(**settings) as connection, connection.cursor() as cursor:
            time.sleep(pause)
            cursor.execute(query, arguments)
            return cursor.fetchall()

    def code(error):
        return error.args[0]

    return in_threads(
        {
            "query": lambda: rows("select 1 + 1, version()"),
            "many-rows": lambda: len(rows("select seq from seq_1_to_5000")),
            "large": lambda: digest(rows(f"select repeat('x', {LARGE_BYTES})")[0][0]),
            "error": lambda: failure_of(lambda: rows("select nothing from nowhere"), pymysql.Error, code),
            "wrong-password": lambda: failure_of(lambda: rows("select 1", password="wrong"), pymysql.Error, code),
            "idle": lambda: rows("select 2", pause=IDLE_SECONDS),
            "tls": lambda: rows("show status like 'Ssl_version'", ssl={"ca": CERTIFICATE, "check_hostname": False}),
        }
    )


async def with_redis(target):
    import redis

    def client(password="corpus"):
        return redis.Redis(target["host"], target["port"], password=password, decode_responses=True)

    def large():
        with client() as it:
            it.set(f"{OWN}:large", "x" * LARGE_BYTES)
            return digest(it.get(f"{OWN}:large"))

    def pipeline():
        with client() as it, it.pipeline(transaction=False) as commands:
            for _ in range(1000):
                commands.incr(f"{OWN}:count")
            return commands.execute()[-1]

    def transaction():
        with client() as it, it.pipeline() as commands:
            return commands.set(f"{OWN}:t", "1").incr(f"{OWN}:t").execute()

    def subscription():
        with client() as it, it.pubsub() as subscriber:
            subscriber.subscribe(OWN)
            messages = subscriber.listen()
            next(messages)
            it.publish(OWN, "news")
            return next(messages)["data"]

    def error():
        with client() as it:
            it.set(f"{OWN}:text", "a")
            return failure_of(lambda: it.lpush(f"{OWN}:text", "b"), redis.RedisError, str)

    return in_threads(
        {
            "ping": lambda: client().ping(),
            "large": large,
            "pipeline": pipeline,
            "transaction": transaction,
            "subscription": subscription,
            "blocking": lambda: client().blpop(f"{OWN}:nothing", timeout=2),
            "error": error,
            "wrong-password": lambda: failure_of(client("wrong").ping, redis.RedisError, str),
        }
    )


async def with_pymemcache(target):
    from pymemcache.client.base import Client

    def using(work):
        with contextlib.closing(Client((target["host"], target["port"]))) as it:
            return work(it)

    def large(it):
        it.set(f"{OWN}_large", b"x" * 1_000_000, noreply=False)
        return digest(it.get(f"{OWN}_large"))

    def count(it):
        it.set(f"{OWN}_count", b"1", noreply=False)
        return [it.incr(f"{OWN}_count", 1) for _ in range(100)][-1]

    def many(it):
        it.set_many({f"{OWN}_{i}": str(i) for i in range(500)}, noreply=True)
        return len(it.get_many([f"{OWN}_{i}" for i in range(500)]))

    def idle(it):
        it.get("nothing")
        time.sleep(IDLE_SECONDS)
        return it.get("nothing")

    return in_threads({"large": lambda: using(large), "count": lambda: using(count), "many": lambda: using(many), "idle": lambda: using(idle)})


async def with_pymongo(target):
    import pymongo
    import pymongo.errors

    # Exchanges run at the same time: each has a collection.
    def using(work):
        with pymongo.MongoClient(target["host"], target["port"]) as client:
            return work(client["corpus"][f"{OWN}_{work.__name__}"])

    def code(error):
        return error.code

    def query(it):
        it.insert_many([{"_id": "a", "n": 1}, {"_id": "b", "n": 2}])
        it.update_one({"_id": "b"}, {"$inc": {"n": 5}})
        return list(it.find({"n": {"$gt": 0}}, sort=[("_id", 1)]))

    def many_rows(it):
        it.insert_many([{"kind": "row", "n": n} for n in range(5000)])
        return len(list(it.find({"kind": "row"}, batch_size=100)))

    def large(it):
        it.insert_one({"_id": "large", "large": "x" * LARGE_BYTES})
        return digest(it.find_one({"_id": "large"})["large"])

    def error(it):
        it.insert_one({"_id": "twice"})
        return failure_of(lambda: it.insert_one({"_id": "twice"}), pymongo.errors.PyMongoError, code)

    def idle(it):
        it.find_one({})
        time.sleep(IDLE_SECONDS)
        return it.count_documents({"_id": "nothing"})

    exchanges = {"query": query, "many-rows": many_rows, "large": large, "error": error, "idle": idle}
    return in_threads({name: lambda work=work: using(work) for name, work in exchanges.items()})
