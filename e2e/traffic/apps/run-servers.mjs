// Runs the servers that SERVERS lists, a JSON list of `{ name, argv, env }`, and ends when one of them does.
import { spawn } from 'node:child_process'

const { SERVERS = '[]', ...inherited } = process.env
const children = JSON.parse(SERVERS).map(({ name, argv: [file, ...args], env }) => {
  const child = spawn(file, args, { env: { ...inherited, ...env }, stdio: ['ignore', 'inherit', 'inherit'] })
  const end = (why) => {
    process.stderr.write(`${name}: ${why}\n`)
    stop(1)
  }
  child.once('error', (error) => end(error.message))
  child.once('exit', (code, signal) => end(`ended with ${signal ?? code}`))
  return child
})

function stop(code) {
  for (const child of children) child.removeAllListeners('exit').kill()
  process.exit(code)
}
process.on('SIGTERM', () => stop(0))
