/**
 * The application of the pods that tests make. `serve` plays a workload, `call` makes one request and prints what came of it; see
 * docs/guides/cluster.md.
 */
import { call } from './call.js'
import { serve } from './serve.js'

const [command, ...args] = process.argv.slice(2)
switch (command) {
  case 'serve':
    await serve(args, process.env)
    break
  case 'call':
    process.exitCode = await call(args)
    break
  default:
    process.stderr.write(`expected serve or call, not ${String(command)}\n`)
    process.exitCode = 2
}
