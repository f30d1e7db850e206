"""Clients in Python of brokers, and of mail."""

import asyncio
import smtplib
import ssl
import time

from tcp_common import CERTIFICATE, IDLE_SECONDS, LARGE_BYTES, OWN, digest, failure_of, in_threads


async def with_pika(target):
    import pika

    def connect(password="guest", heartbeat=60):
        return pika.BlockingConnection(
            pika.ConnectionParameters(target["host"], target["port"], credentials=pika.PlainCredentials("guest", password), heartbeat=heartbeat, connection_attempts=1)
        )

    def deliver(content):
        with connect() as connection:
            channel = connection.channel()
            queue = channel.queue_declare("", exclusive=True).method.queue
            channel.confirm_delivery()
            channel.basic_publish("", queue, content)
            for method, _, body in channel.consume(queue):
                channel.basic_ack(method.delivery_tag)
                return digest(body)

    def error():
        with connect() as connection:
            return failure_of(lambda: connection.channel().queue_declare(f"{OWN}_nothing", passive=True), pika.exceptions.ChannelClosed, lambda it: it.reply_code)

    def heartbeat():
        with connect(heartbeat=3) as connection:
            connection.sleep(10)
            connection.channel().queue_declare("", exclusive=True)
            return "open"

    return in_threads(
        {
            "message": lambda: deliver(b"hello"),
            "large": lambda: deliver(b"x" * LARGE_BYTES),
            "error": error,
            "wrong-password": lambda: failure_of(lambda: connect("wrong"), pika.exceptions.AMQPError, lambda it: type(it).__name__),
            "heartbeat": heartbeat,
        }
    )


async def with_nats(target):
    import nats

    def connect(password="corpus"):
        return nats.connect(f"nats://{target['host']}:{target['port']}", user="corpus", password=password, allow_reconnect=False, max_reconnect_attempts=1)

    async def publish(subject, content):
        it = await connect()
        subscription = await it.subscribe(subject)
        await it.publish(subject, content)
        message = await subscription.next_msg(timeout=60)
        await it.close()
        return digest(message.data)

    async def request():
        it = await connect()

        async def respond(message):
            await message.respond(b"answer to " + message.data)

        await it.subscribe(f"{OWN}.service", cb=respond)
        answer = await it.request(f"{OWN}.service", b"question", timeout=60)
        await it.close()
        return answer.data.decode()

    async def idle():
        it = await connect()
        await asyncio.sleep(IDLE_SECONDS)
        await it.flush()
        await it.close()
        return "open"

    return {
        "message": lambda: publish(f"{OWN}.small", b"hello"),
        "large": lambda: publish(f"{OWN}.large", b"x" * (LARGE_BYTES // 2)),
        "request": request,
        "idle": idle,
    }


async def with_paho(target):
    import queue

    import paho.mqtt.client as mqtt

    class Using:
        def __init__(self, keepalive=60):
            self.keepalive = keepalive

        def __enter__(self):
            self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
            self.client.inbox = queue.Queue()
            ready = queue.Queue()
            self.client.on_connect = lambda *_: ready.put("connected")
            self.client.on_subscribe = lambda *_: ready.put("subscribed")
            self.client.on_message = lambda _client, _data, message: self.client.inbox.put(message.payload)
            self.client.connect(target["host"], target["port"], self.keepalive)
            self.client.loop_start()
            ready.get(timeout=100)
            self.client.ready = ready
            return self.client

        def __exit__(self, *_):
            self.client.disconnect()
            self.client.loop_stop()

    def publish(topic, qos, content):
        with Using() as it:
            it.subscribe(topic, qos)
            it.ready.get(timeout=100)
            it.publish(topic, content, qos).wait_for_publish(100)
            return digest(it.inbox.get(timeout=100))

    def retained():
        with Using() as it:
            it.publish(f"{OWN}/retained", b"kept", 1, retain=True).wait_for_publish(100)
            it.subscribe(f"{OWN}/retained")
            return it.inbox.get(timeout=100).decode()

    def keepalive():
        with Using(keepalive=5) as it:
            time.sleep(12)
            return it.is_connected()

    return in_threads(
        {
            "at-most-once": lambda: publish(f"{OWN}/0", 0, b"hello"),
            "at-least-once": lambda: publish(f"{OWN}/1", 1, b"hello"),
            "exactly-once": lambda: publish(f"{OWN}/2", 2, b"hello"),
            "large": lambda: publish(f"{OWN}/large", 1, b"x" * LARGE_BYTES),
            "retained": retained,
            "keepalive": keepalive,
        }
    )


async def with_kafka(target):
    import kafka
    from kafka.admin import KafkaAdminClient, NewTopic

    servers = [f"{target['host']}:{target['port']}"]

    def deliver(name, values):
        topic = f"{OWN}_{name}"
        admin = KafkaAdminClient(bootstrap_servers=servers)
        admin.create_topics([NewTopic(topic, 1, 1)])
        admin.close()
        producer = kafka.KafkaProducer(bootstrap_servers=servers)
        for value in values:
            producer.send(topic, value).get(100)
        producer.close()
        consumer = kafka.KafkaConsumer(topic, bootstrap_servers=servers, group_id=None, auto_offset_reset="earliest")
        seen = [digest(next(consumer).value) for _ in values]
        consumer.close()
        return seen

    return in_threads({"messages": lambda: deliver("messages", [b"a", b"b", b"c"]), "large": lambda: deliver("large", [b"x" * 900_000])})


async def with_smtplib(target):
    def send(body, to="you@corpus.test", tls=False):
        with smtplib.SMTP(target["host"], target["port"]) as it:
            if tls:
                it.starttls(context=ssl.create_default_context(cafile=CERTIFICATE))
            it.ehlo("client")
            it.mail("me@corpus.test")
            code, answer = it.rcpt(to)
            if code != 250:
                return [code, answer.decode()]
            code, answer = it.data(f"Subject: corpus\r\n\r\n{body}")
            return [code, answer.decode()]

    return in_threads(
        {
            "mail": lambda: send("hello"),
            "large": lambda: send(("x" * 70 + "\r\n") * 15_000),
            "starttls": lambda: send("hello", tls=True),
            "refused": lambda: send("hello", to="nobody@corpus.test"),
        }
    )
