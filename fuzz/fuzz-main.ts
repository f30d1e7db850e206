import { parseArgs } from 'node:util'

import { runFuzz } from './program/run-fuzz.js'
import { runWorker } from './program/worker.js'

const usage = `Usage: npm run fuzz -- [target…] [options]

Searches for inputs that break an invariant of a fuzz target, guided by coverage. Without targets: all of them, one after the other.
Each finding is written to fuzz/findings. Inputs that reach something new are kept in .cache/fuzz for the next run.

Options:
  --seconds <n>   seconds for each target (default 60)
  --seed <n>      seed of the first round (default: from the clock; printed)
  --list          list the targets and what each is about
  -o, --output <text|json>
  -h, --help

Exit codes: 0 nothing was found, 1 a target has a finding, 2 wrong usage.
`

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000_000) },
      list: { type: 'boolean', default: false },
      output: { type: 'string', short: 'o', default: 'text' },
      help: { type: 'boolean', short: 'h', default: false },
      worker: { type: 'string' },
    },
  })
  if (values.help) process.stdout.write(usage)
  else if (values.worker !== undefined) await runWorker(values.worker, Number(values.seconds), Number(values.seed))
  else process.exitCode = await runFuzz({ ...values, targets: positionals })
} catch (error) {
  if (!(error instanceof TypeError) || !('code' in error)) throw error
  process.stderr.write(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
