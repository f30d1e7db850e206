// Runs what a client of the traffic corpus does with each of its servers.
import { createHash } from 'node:crypto'
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

/**
 * Reads targets from the standard input, and gives what exchanges with them have seen, one after the other.
 * @param {(target: { server: string, host: string, port: number }, exchange: { name: string }) => Promise<unknown>} ask
 */
export async function seenInTurns(ask) {
  const { targets } = await json(process.stdin)
  const seen = {}
  for (const target of targets) {
    const own = {}
    for (const exchange of target.exchanges) own[exchange.name] = await ask(target, exchange)
    seen[target.server] = own
  }
  return seen
}

export const digest = (content) => ({
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
})

/** The same; what a server says that it has seen is kept as text, too. */
export function digestOfAnswer(content) {
  const isSeen = content.subarray(0, 8).toString() === '{"seen":'
  return { ...digest(content), ...(isSeen && { text: content.toString() }) }
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
