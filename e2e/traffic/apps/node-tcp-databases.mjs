// Clients in Node of databases.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { digest, failureOf, IDLE_MS, LARGE_BYTES, large, own } from './node-tcp-common.mjs'

/** By package. */
export const databases = (keys) => ({
  pg: async () => {
    const { Client } = await import('pg').then((it) => it.default)
    return ({ host, port }) => {
      const settings = { host, port, user: 'corpus', password: 'corpus', database: 'postgres' }
      const using = async (work, more = {}) => {
        const client = new Client({ ...settings, ...more })
        await client.connect()
        try {
          return await work(client)
        } finally {
          await client.end()
        }
      }
      return {
        query: () => using(async (it) => (await it.query('select 1 + 1 as sum, version() as version')).rows),
        prepared: () =>
          using(async (it) => {
            const rows = []
            for (const text of ['a', 'b']) {
              const values = [text]
              rows.push(
                (await it.query({ name: 'twice', text: 'select $1::text || $1 as twice', values })).rows[0].twice,
              )
            }
            return rows
          }),
        'many-rows': () =>
          using(async (it) => (await it.query('select i from generate_series(1, 5000) i')).rows.length),
        large: () =>
          using(async (it) => digest((await it.query(`select repeat('x', ${LARGE_BYTES}) as large`)).rows[0].large)),
        transaction: () =>
          using(async (it) => {
            await it.query('begin')
            await it.query('create temporary table things (n int)')
            await it.query('insert into things select 1')
            await it.query('rollback')
            return failureOf(it.query('select * from things'), ({ code }) => code)
          }),
        error: () => using((it) => failureOf(it.query('select 1 / 0'), ({ code, message }) => ({ code, message }))),
        'wrong-password': () =>
          failureOf(
            using(() => undefined, { password: 'wrong' }),
            ({ code, message }) => ({ code, message }),
          ),
        notification: () =>
          using(async (it) => {
            await it.query(`listen ${own}`)
            const notified = once(it, 'notification')
            await using((other) => other.query(`notify ${own}, 'news'`))
            return (await notified)[0].payload
          }),
        idle: () =>
          using(async (it) => {
            await sleep(IDLE_MS)
            return (await it.query('select 2 as two')).rows
          }),
        tls: () =>
          using(
            async (it) => (await it.query('select ssl, version from pg_stat_ssl where pid = pg_backend_pid()')).rows,
            {
              ssl: { ca: readFileSync(join(keys, 'tls.crt')) },
            },
          ),
      }
    }
  },
  mysql2: async () => {
    const { createConnection } = await import('mysql2/promise')
    return ({ host, port }) => {
      const using = async (work, more = {}) => {
        const connection = await createConnection({
          host,
          port,
          user: 'corpus',
          password: 'corpus',
          database: 'corpus',
          ...more,
        })
        try {
          return await work(connection)
        } finally {
          await connection.end()
        }
      }
      const rows = async (connection, sql) => (await connection.query(sql))[0]
      return {
        query: () => using((it) => rows(it, 'select 1 + 1 as sum, version() as version')),
        prepared: () =>
          using(async (it) => [await it.execute('select concat(?, ?) as twice', ['a', 'a'])].map(([found]) => found)),
        'many-rows': () => using(async (it) => (await rows(it, 'select seq from seq_1_to_5000')).length),
        large: () =>
          using(async (it) => digest((await rows(it, `select repeat('x', ${LARGE_BYTES}) as large`))[0].large)),
        error: () =>
          using((it) =>
            failureOf(it.query('select nothing from nowhere'), ({ errno, sqlState }) => ({ errno, sqlState })),
          ),
        'wrong-password': () =>
          failureOf(
            using(() => undefined, { password: 'wrong' }),
            ({ errno, sqlState }) => ({ errno, sqlState }),
          ),
        idle: () =>
          using(async (it) => {
            await sleep(IDLE_MS)
            return rows(it, 'select 2 as two')
          }),
        tls: () =>
          using((it) => rows(it, "show status like 'Ssl_version'"), {
            ssl: { ca: readFileSync(join(keys, 'tls.crt')) },
          }),
      }
    }
  },
  ioredis: async () => {
    const { Redis } = await import('ioredis')
    return ({ host, port }) => {
      const using = async (work, more = {}) => {
        const client = new Redis({ host, port, password: 'corpus', lazyConnect: true, retryStrategy: null, ...more })
        client.on('error', () => undefined)
        try {
          await client.connect()
          return await work(client)
        } finally {
          client.disconnect()
        }
      }
      return {
        ping: () => using((it) => it.ping()),
        large: () =>
          using(async (it) => {
            await it.set(`${own}:large`, large)
            return digest(await it.get(`${own}:large`))
          }),
        pipeline: () =>
          using(async (it) => {
            const pipeline = it.pipeline()
            for (let i = 0; i < 1000; i += 1) pipeline.incr(`${own}:count`)
            return (await pipeline.exec()).at(-1)
          }),
        transaction: () => using((it) => it.multi().set(`${own}:t`, '1').incr(`${own}:t`).exec()),
        subscription: () =>
          using(async (it) => {
            await it.subscribe(own)
            const message = once(it, 'message')
            await using((other) => other.publish(own, 'news'))
            return (await message)[1]
          }),
        blocking: () => using((it) => it.blpop(`${own}:nothing`, 2)),
        error: () =>
          using(async (it) => {
            await it.set(`${own}:text`, 'a')
            return failureOf(it.lpush(`${own}:text`, 'b'), ({ message }) => message)
          }),
        'wrong-password': () =>
          failureOf(
            using((it) => it.ping(), { password: 'wrong' }),
            ({ message }) => message,
          ),
      }
    }
  },
  mongodb: async () => {
    const { MongoClient } = await import('mongodb')
    return ({ host, port }) => {
      // Exchanges run at the same time: each has a collection.
      const using = async (name, work) => {
        const client = new MongoClient(`mongodb://${host}:${port}/`)
        try {
          return await work(client.db('corpus').collection(`${own}_${name}`))
        } finally {
          await client.close()
        }
      }
      return {
        query: () =>
          using('query', async (it) => {
            await it.insertMany([
              { _id: 'a', n: 1 },
              { _id: 'b', n: 2 },
            ])
            await it.updateOne({ _id: 'b' }, { $inc: { n: 5 } })
            return it.find({ n: { $gt: 0 } }, { sort: { _id: 1 } }).toArray()
          }),
        'many-rows': () =>
          using('many_rows', async (it) => {
            await it.insertMany(Array.from({ length: 5000 }, (_, n) => ({ kind: 'row', n })))
            return (await it.find({ kind: 'row' }, { batchSize: 100 }).toArray()).length
          }),
        large: () =>
          using('large', async (it) => {
            await it.insertOne({ _id: 'large', large })
            return digest((await it.findOne({ _id: 'large' })).large)
          }),
        error: () =>
          using('error', async (it) => {
            await it.insertOne({ _id: 'twice' })
            return failureOf(it.insertOne({ _id: 'twice' }), ({ code }) => code)
          }),
        idle: () =>
          using('idle', async (it) => {
            await it.findOne({})
            await sleep(IDLE_MS)
            return it.countDocuments({ _id: 'nothing' })
          }),
      }
    }
  },
})
