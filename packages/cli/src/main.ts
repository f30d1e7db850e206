#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

import { isRecord } from '@osm-ts/driver-api/toolkit'

import { runCli } from './run-cli.js'

/** How long what is left may take after a command is done, before the program ends anyway. */
const lingerMs = 3000
const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

const ending = new AbortController()
for (const [name, code] of Object.entries(signals))
  process.on(name, () => {
    // A second signal skips the clean shutdown.
    if (ending.signal.aborted) process.exit(code)
    ending.abort(new Error(`ended by ${name}`))
  })

// A reader that closes the pipe, such as head, ends the program without an error.
process.stdout.on('error', () => ending.abort(new Error('standard output was closed')))
process.stderr.on('error', () => undefined)

process.exitCode = await runCli(process.argv.slice(2), {
  stdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  cwd: process.cwd(),
  variables: process.env,
  signal: ending.signal,
  programFolder: dirname(fileURLToPath(import.meta.url)),
  nodeProgram: process.execPath,
  version: ownVersion(),
})
setTimeout(() => process.exit(), lingerMs).unref()

/** Source and bundle lie equally deep in the package. */
function ownVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const version = isRecord(manifest) ? manifest['version'] : undefined
  return typeof version === 'string' ? version : 'unknown'
}
