// Clients in Node of brokers.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { digest, failureOf, IDLE_MS, LARGE_BYTES, large, own } from './node-tcp-common.mjs'

/** By package. */
export const brokers = {
  amqplib: async () => {
    const { connect } = await import('amqplib').then((it) => it.default)
    return ({ host, port }) => {
      const using = async (work, { heartbeat = 60, password = 'guest' } = {}) => {
        const connection = await connect(`amqp://guest:${password}@${host}:${port}?heartbeat=${heartbeat}`)
        connection.on('error', () => undefined)
        try {
          return await work(connection)
        } finally {
          await connection.close()
        }
      }
      const deliver = (content) =>
        using(async (connection) => {
          const channel = await connection.createConfirmChannel()
          const { queue } = await channel.assertQueue('', { exclusive: true })
          const delivered = new Promise((resolve) => void channel.consume(queue, resolve))
          channel.sendToQueue(queue, Buffer.from(content))
          await channel.waitForConfirms()
          const message = await delivered
          channel.ack(message)
          return digest(message.content)
        })
      return {
        message: () => deliver('hello'),
        large: () => deliver(large),
        error: () =>
          using(async (connection) => {
            const channel = await connection.createChannel()
            channel.on('error', () => undefined)
            return failureOf(channel.checkQueue(`${own}_nothing`), ({ code }) => code)
          }),
        'wrong-password': () =>
          failureOf(
            using(() => undefined, { password: 'wrong' }),
            ({ message }) => message.includes('403'),
          ),
        heartbeat: () =>
          using(
            async (connection) => {
              await sleep(10_000)
              const channel = await connection.createChannel()
              await channel.assertQueue('', { exclusive: true })
              return 'open'
            },
            { heartbeat: 3 },
          ),
      }
    }
  },
  nats: async () => {
    const { connect } = await import('nats')
    return ({ host, port }) => {
      const using = async (work, pass = 'corpus') => {
        const connection = await connect({ servers: `${host}:${port}`, user: 'corpus', pass, reconnect: false })
        try {
          return await work(connection)
        } finally {
          await connection.close()
        }
      }
      const publish = (subject, content) =>
        using(async (it) => {
          const subscription = it.subscribe(subject, { max: 1 })
          await it.flush()
          it.publish(subject, Buffer.from(content))
          for await (const { data } of subscription) return digest(data)
          return 'nothing'
        })
      return {
        message: () => publish(`${own}.small`, 'hello'),
        large: () => publish(`${own}.large`, 'x'.repeat(LARGE_BYTES / 2)),
        request: () =>
          using(async (it) => {
            it.subscribe(`${own}.service`, {
              callback: (_error, message) => message.respond(`answer to ${message.string()}`),
            })
            await it.flush()
            return (await it.request(`${own}.service`, 'question', { timeout: 60_000 })).string()
          }),
        idle: () =>
          using(async (it) => {
            await sleep(IDLE_MS)
            await it.flush()
            return 'open'
          }),
      }
    }
  },
  mqtt: async () => {
    const { connectAsync } = await import('mqtt').then((it) => it.default)
    return ({ host, port }) => {
      const using = async (work, more = {}) => {
        const client = await connectAsync(`mqtt://${host}:${port}`, { reconnectPeriod: 0, ...more })
        try {
          return await work(client)
        } finally {
          await client.endAsync()
        }
      }
      const publish = (topic, qos, content) =>
        using(async (it) => {
          await it.subscribeAsync(topic, { qos })
          const message = once(it, 'message')
          await it.publishAsync(topic, content, { qos })
          return digest((await message)[1])
        })
      return {
        'at-most-once': () => publish(`${own}/0`, 0, 'hello'),
        'at-least-once': () => publish(`${own}/1`, 1, 'hello'),
        'exactly-once': () => publish(`${own}/2`, 2, 'hello'),
        large: () => publish(`${own}/large`, 1, large),
        retained: () =>
          using(async (it) => {
            await it.publishAsync(`${own}/retained`, 'kept', { qos: 1, retain: true })
            const message = once(it, 'message')
            await it.subscribeAsync(`${own}/retained`)
            return (await message)[1].toString()
          }),
        keepalive: () =>
          using(
            async (it) => {
              await sleep(12_000)
              return it.connected
            },
            { keepalive: 5 },
          ),
      }
    }
  },
  kafkajs: async () => {
    const { Kafka, logLevel } = await import('kafkajs').then((it) => it.default)
    return ({ host, port }) => {
      const kafka = new Kafka({ clientId: own, brokers: [`${host}:${port}`], logLevel: logLevel.NOTHING })
      const withTopic = async (name, work) => {
        const topic = `${own}_${name}`
        const admin = kafka.admin()
        await admin.connect()
        await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false })
        await admin.disconnect()
        return work(topic)
      }
      const produce = async (topic, values) => {
        const producer = kafka.producer()
        await producer.connect()
        await producer.send({ topic, messages: values.map((value) => ({ value })) })
        await producer.disconnect()
      }
      const consume = async (topic, count) => {
        const consumer = kafka.consumer({ groupId: topic })
        await consumer.connect()
        await consumer.subscribe({ topic, fromBeginning: true })
        const values = []
        await new Promise((resolve) => {
          const eachMessage = async ({ message }) => {
            if (values.push(message.value) === count) resolve()
          }
          void consumer.run({ eachMessage })
        })
        await consumer.disconnect()
        return values
      }
      return {
        messages: () =>
          withTopic('messages', async (topic) => {
            await produce(topic, ['a', 'b', 'c'])
            return (await consume(topic, 3)).map(String)
          }),
        large: () =>
          withTopic('large', async (topic) => {
            await produce(topic, ['x'.repeat(900_000)])
            return (await consume(topic, 1)).map(digest)
          }),
      }
    }
  },
}
