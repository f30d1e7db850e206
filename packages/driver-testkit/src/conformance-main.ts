#!/usr/bin/env node
import { runConformance } from './cli/run-conformance.js'

const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
process.once('SIGTERM', () => stop.abort())

const code = await runConformance(process.argv.slice(2), {
  folder: process.cwd(),
  environment: process.env,
  node: process.version,
  platform: `${process.platform} ${process.arch}`,
  signal: stop.signal,
  mayIntercept: process.platform === 'linux' && process.getuid?.() === 0,
  now: () => new Date(),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
})
// A driver that leaves something open keeps the process alive, which its report has said by now.
process.stdout.write('', () => process.exit(code))
