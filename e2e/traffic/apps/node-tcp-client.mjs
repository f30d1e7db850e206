// Does the exchanges of the TCP corpus with clients of npm packages: node-tcp-client.mjs PACKAGE KEYS
import { runExchanges } from './exchanges.mjs'
import { brokers } from './node-tcp-brokers.mjs'
import { databases } from './node-tcp-databases.mjs'
import { others } from './node-tcp-others.mjs'

const [, , flavour, keys] = process.argv
const flavours = { ...databases(keys), ...brokers, ...others(keys) }
await runExchanges(await flavours[flavour]())
