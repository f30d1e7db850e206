/**
 * The application of the pods that tests make. `serve` plays a workload, `call` makes one request and prints what came of it, `calls`
 * makes those that it reads; see docs/guides/cluster.md. `echo` and `client` are the server and the client of the Gateway API's conformance suite.
 */
import { call } from './call.js'
import { answerCalls } from '@osm-ts/driver-testkit/testing'
import { callEcho, serveEcho } from './echo.js'
import { serve } from './serve.js'

const [command, ...args] = process.argv.slice(2)
switch (command) {
  case 'serve':
    await serve(args, process.env)
    break
  case 'call':
    process.exitCode = await call(args)
    break
  case 'calls':
    await answerCalls(process.stdin, process.stdout)
    break
  case 'echo':
    await serveEcho(args, process.env)
    break
  case 'client':
    process.exitCode = await callEcho(args)
    break
  default:
    process.stderr.write(`expected serve, call, calls, echo or client, not ${String(command)}\n`)
    process.exitCode = 2
}
