import { execFile } from 'node:child_process'
import type { RunningPod } from './running-pod.js'

/** What returned: an answer, or why none came. */
export interface Answer {
  readonly status: number
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly error?: string
}

const applicationUser = 1000
const timeoutMs = 10_000

const program = `
const [url, method, headers] = process.argv.slice(1)
const options = { method, headers: JSON.parse(headers), timeout: ${String(timeoutMs - 2_000)} }
const request = require('node:http').request(url, options, (response) => {
  let body = ''
  response.setEncoding('utf8').on('data', (text) => { body += text })
  response.on('end', () => console.log(JSON.stringify({ status: response.statusCode, headers: response.headers, body })))
})
const fail = (error) => { console.log(JSON.stringify({ status: 0, headers: {}, body: '', error: error.code ?? error.message })) }
request.on('timeout', () => request.destroy(new Error('no answer in time'))).on('error', fail).end()`

/** Sends a request as the application of a pod would: from its network namespace, and not as the sidecar's user. */
export function requestFrom(
  pod: RunningPod,
  url: string,
  {
    method = 'GET',
    headers = {},
  }: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  if (pod.workload === undefined) throw new Error(`pod ${pod.name} has no network yet`)
  const argv = [process.execPath, '-e', program, url, method, JSON.stringify(headers)] as const
  const { file, args } = pod.workload.command([...argv], { uid: applicationUser })
  return new Promise((resolve, reject) => {
    execFile(
      file,
      args,
      { timeout: timeoutMs, cwd: '/', env: { PATH: process.env.PATH ?? '' } },
      (error, stdout, stderr) => {
        if (error === null) resolve(JSON.parse(stdout) as Answer)
        else reject(new Error(`no request was sent from pod ${pod.name}: ${stderr}`, { cause: error }))
      },
    )
  })
}
