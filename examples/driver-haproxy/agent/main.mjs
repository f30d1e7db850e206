#!/usr/bin/env node
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Haproxy } from './haproxy.mjs'
import { follow } from './poll.mjs'

/** @param {string} name */
function required(name) {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set`)
  return value
}

const log = (/** @type {string} */ text) => console.error(`osm-haproxy-sidecar: ${text}`)
const stop = new AbortController()
// Named by the system, and readable by this user only.
const folder = await mkdtemp(join(process.env['OSM_HAPROXY_FOLDER'] ?? tmpdir(), 'osm-haproxy-'))
const haproxy = new Haproxy({
  binary: process.env['OSM_HAPROXY_BINARY'] ?? 'haproxy',
  folder,
  log,
  onEnd(words) {
    log(`HAProxy has ended: ${words}`)
    process.exitCode = 1
    stop.abort()
  },
})
process.once('SIGTERM', () => stop.abort())
process.once('SIGINT', () => stop.abort())
process.on(
  'SIGUSR1',
  () => void haproxy.drain().catch((/** @type {unknown} */ error) => log(`draining failed: ${String(error)}`)),
)

try {
  const server = {
    host: required('OSM_HAPROXY_SERVER_ADDRESS'),
    port: Number(required('OSM_HAPROXY_SERVER_PORT')),
    serverName: required('OSM_HAPROXY_SERVER_NAME'),
    certificate: required('OSM_HAPROXY_CERTIFICATE'),
    key: required('OSM_HAPROXY_KEY'),
    roots: required('OSM_HAPROXY_ROOTS'),
  }
  await follow(server, haproxy, log, stop.signal)
} finally {
  await haproxy.stop()
  await rm(folder, { recursive: true, force: true })
}
