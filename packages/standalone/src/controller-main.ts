import { isOsmError } from '@osm-ts/driver-api'
import { errorMessage } from '@osm-ts/driver-api/toolkit'

import { parseControllerInput, readControllerConfig } from './controller/controller-config.js'
import { runController } from './controller/run-controller.js'
import { readLines } from './process/read-lines.js'

/** Version of this program. */
const packageVersion = '0.1.0'

/** The controller as a process: `node controller.mjs <config.json>`. It ends when its standard input does, so that it never outlives its supervisor. */
async function main(): Promise<void> {
  const [path] = process.argv.slice(2)
  if (path === undefined) throw new Error('the path of a configuration is expected as the only argument')
  const ending = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => ending.abort())
  process.stdin.once('close', () => ending.abort())
  const host = { version: packageVersion, programFolder: import.meta.dirname, environment: process.env }
  const run = await runController(readControllerConfig(path), host, ending.signal)
  readLines(process.stdin, (line) => {
    const input = parseControllerInput(line)
    if (input !== undefined) run.accept(input)
  })
  process.stdout.write(`${JSON.stringify(run.ready)}\n`)
  await run.stopped
}

main().then(
  // Connections that peers keep open must not hold the process.
  () => process.exit(0),
  (error: unknown) => {
    const text = errorMessage(error)
    const code = isOsmError(error) ? ` [${error.code}]` : ''
    process.stderr.write(`${text}${code}\n`, () => process.exit(1))
  },
)
