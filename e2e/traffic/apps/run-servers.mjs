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

/** Servers remove their folders when they end. They must do so first: what still runs after this program is killed. */
function stop(code) {
  const running = new Set(children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null))
  if (running.size === 0) process.exit(code)
  for (const child of running) {
    child.removeAllListeners('exit').once('exit', () => {
      running.delete(child)
      if (running.size === 0) process.exit(code)
    })
    child.kill()
  }
}
process.on('SIGTERM', () => stop(0))
