// Loaded into the controller by `--import`: writes what each HTTP/2 stream of its servers carries to a file of its own in OSM_TEST_RECORD, before TLS encrypts it.
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync } from 'node:fs'
import http2 from 'node:http2'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'

const { OSM_TEST_RECORD: folder = '' } = process.env

function record(stream) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, randomUUID())
  for (const name of ['write', 'end']) {
    const original = stream[name]
    stream[name] = (chunk, ...others) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) appendFileSync(file, chunk)
      return original.call(stream, chunk, ...others)
    }
  }
}

for (const name of ['createServer', 'createSecureServer']) {
  const original = http2[name]
  http2[name] = (...options) => original(...options).prependListener('stream', record)
}
syncBuiltinESMExports()
