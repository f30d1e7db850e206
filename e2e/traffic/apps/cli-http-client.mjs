// Does the exchanges of the HTTP corpus with programs of the command line: cli-http-client.mjs curl <path> 1.0|1.1|2 | wget <path> | ab <path>
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer, text } from 'node:stream/consumers'
import { digestOfAnswer, seenInTurns } from './exchanges.mjs'

const [, , tool, path, version] = process.argv
const folder = mkdtempSync(join(tmpdir(), 'osm-traffic-'))
const file = (name) => join(folder, name)

async function run(args, input) {
  const child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const code = new Promise((resolve) => child.once('close', resolve))
  const [stdout, stderr] = await Promise.all([buffer(child.stdout), text(child.stderr)])
  return { code: await code, stdout, stderr }
}

const body = ({ bytes }) => Buffer.alloc(bytes, 'b')
const urlOf = ({ host, address, port }, { path: own, byAddress }) =>
  `http://${byAddress ? address : host}:${port}${own}`

/** Blocks of status line and headers, as they came. */
function parseHeads(heads) {
  return heads
    .split(/\r?\n\r?\n/)
    .filter((block) => block.trim() !== '')
    .map((block) =>
      block
        .split(/\r?\n/)
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    )
}

function seenOf(lines) {
  const [first = '', ...rest] = lines
  const [, spoken, status, reason] = /^(\S+) (\d+) ?(.*)$/.exec(first) ?? []
  const headers = rest.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
  return { version: spoken, status: Number(status), reason, headers }
}

async function curl(target, exchange) {
  const { method, headers = [], body: sent, host, expectsContinue, times = 1 } = exchange
  const flags = { '1.0': '--http1.0', 1.1: '--http1.1', 2: '--http2-prior-knowledge' }
  const own = headers.flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  if (host !== undefined) own.push('-H', `Host: ${host}`)
  // Otherwise curl decides by the length of the body.
  own.push('-H', expectsContinue ? 'Expect: 100-continue' : 'Expect:')
  if (sent?.framing === 'chunked') own.push('-H', 'Transfer-Encoding: chunked')
  if (sent !== undefined) own.push('-H', 'Content-Type: application/octet-stream')
  const data = sent === undefined ? [] : ['--data-binary', '@-']
  const verb = method === 'HEAD' ? ['--head'] : ['-X', method]
  const urls = Array.from({ length: times }, (_, i) => ['-o', file(`body-${i}`), urlOf(target, exchange)]).flat()
  for (let i = 0; i < times; i++) writeFileSync(file(`body-${i}`), '')
  const common = ['-sS', '--path-as-is', '-m', '30', '-D', file('heads'), '-w', '%{num_connects} ']
  writeFileSync(file('heads'), '')
  const { code, stdout } = await run([...common, flags[version], ...verb, ...own, ...data, ...urls], sent && body(sent))
  if (code !== 0) return { error: `exit code ${code}` }
  const blocks = parseHeads(readFileSync(file('heads'), 'latin1'))
  const finals = blocks.filter(([first]) => / [2-5]\d\d/.test(first))
  // curl writes trailers to the same file: blocks without a status line.
  const trailers = blocks
    .filter(([first]) => !first.startsWith('HTTP/'))
    .flat()
    .map((line) => line.split(/: */, 2))
  const connections = stdout.toString().trim().split(' ')
  const answers = finals.map((block, i) => ({
    ...seenOf(block),
    trailers,
    ...(method === 'HEAD' ? {} : digestOfAnswer(readFileSync(file(`body-${i}`)))),
    connections: connections[i],
    ...(expectsContinue && { continued: blocks.some(([first]) => / 100/.test(first)) }),
  }))
  return times === 1 ? answers[0] : answers
}

async function wget(target, exchange) {
  const { method, headers = [], body: sent, host } = exchange
  const own = headers.map(([name, value]) => `--header=${name}: ${value}`)
  if (host !== undefined) own.push(`--header=Host: ${host}`)
  if (sent !== undefined) writeFileSync(file('sent'), body(sent))
  const data = sent === undefined ? [] : [`--body-file=${file('sent')}`]
  writeFileSync(file('body'), '')
  const common = [
    '-nv',
    '-S',
    '--tries=1',
    '--timeout=30',
    '--max-redirect=0',
    '--content-on-error',
    '-O',
    file('body'),
  ]
  // It waits for the body of an answer to HEAD, unless it is a spider.
  const verb = method === 'HEAD' ? '--spider' : `--method=${method}`
  const { code, stderr } = await run([...common, verb, ...own, ...data, urlOf(target, exchange)])
  const lines = stderr
    .split('\n')
    .filter((line) => line.startsWith('  '))
    .map((line) => line.trim())
  if (lines.length === 0) return { error: `exit code ${code}` }
  return { code, ...seenOf(lines), ...digestOfAnswer(readFileSync(file('body'))) }
}

async function ab(target, exchange) {
  const { body: sent, times = 1 } = exchange
  if (sent !== undefined) writeFileSync(file('sent'), body(sent))
  const data = sent === undefined ? [] : [exchange.method === 'PUT' ? '-u' : '-p', file('sent')]
  const verb = exchange.method === 'HEAD' ? ['-i'] : []
  const own = (exchange.headers ?? []).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const kept = times > 1 ? ['-k'] : []
  const { code, stdout } = await run([
    '-q',
    '-n',
    String(10 * times),
    '-c',
    '2',
    '-s',
    '30',
    ...verb,
    ...kept,
    ...own,
    ...data,
    urlOf(target, exchange),
  ])
  if (code !== 0) return { error: `exit code ${code}` }
  const report = stdout.toString()
  const counts = [
    'Document Length',
    'Complete requests',
    'Failed requests',
    'Non-2xx responses',
    'Keep-Alive requests',
    'Server Software',
  ]
  return Object.fromEntries(counts.map((name) => [name, new RegExp(`^${name}: *(.*?)$`, 'm').exec(report)?.[1] ?? '']))
}

const tools = { curl, wget, ab }

try {
  console.log(JSON.stringify(await seenInTurns(tools[tool])))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
