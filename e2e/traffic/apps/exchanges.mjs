// Runs what a client of the traffic corpus does with each of its servers.
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const EXCHANGE_MS = 120_000

/**
 * Reads targets from the standard input, runs all exchanges at once, and prints what they have seen as one JSON document.
 * @param {(target: { server: string, host: string, port: number }) => Record<string, () => Promise<unknown>>} connect
 */
export async function runExchanges(connect) {
  const { targets } = await json(process.stdin)
  const seen = await Promise.all(
    targets.map(async (target) => {
      const known = connect(target)
      const results = target.exchanges.map(async ({ name }) => [name, await resultOf(known[name], name)])
      return [target.server, Object.fromEntries(await Promise.all(results))]
    }),
  )
  // Clients may keep connections, which would keep the process.
  process.stdout.write(JSON.stringify(Object.fromEntries(seen)), () => process.exit())
}

async function resultOf(exchange, name) {
  try {
    if (exchange === undefined) throw new Error(`no exchange of this client is named ${name}`)
    // One that hangs must not hide the others.
    return await Promise.race([exchange(), sleep(EXCHANGE_MS, { error: 'did not end' })])
  } catch (error) {
    process.stderr.write(`${name}: ${error.stack}\n`)
    return { error: `${error.code ?? error.name}: ${error.message}` }
  }
}
