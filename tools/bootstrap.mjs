/**
 * The start of every root script: `node tools/bootstrap.mjs <task> [arguments]`. It uses nothing but Node, brings the
 * checkout to the state the task needs, and runs the task. This file stays readable for old versions of Node, so that
 * they can say what is wrong; the rest is imported afterwards.
 */
import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const [needMajor = 0, needMinor = 0] = manifest.engines.node.match(/\d+/g).map(Number)
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major < needMajor || (major === needMajor && minor < needMinor)) {
  process.stderr.write(`osm-ts needs Node ${needMajor}.${needMinor} or newer; this is ${process.version}.\n`)
  process.exitCode = 1
} else {
  const { runTask } = await import('./run-task.mjs')
  process.exitCode = await runTask(process.argv.slice(2))
}
