import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { kernelTestObstacle } from '../../dataplane/support/kernel.js'
import { compareObservations, type Difference, formatDifference, type Observations } from './compare.js'
import { type CorpusMesh, type CorpusRules, type Place, startCorpusMesh } from './corpus-mesh.js'
import { compareExplanations, comparePairs } from './page.js'
import type { Corpus, Explanation, SidecarClass, TrafficClient, TrafficPair } from './types.js'

/** Clients that run at once: they wait for servers half of the time. */
const CLIENTS_AT_ONCE = 3
const TIMEOUT_MS = 600_000

/** What a client has printed, by server, or why it has not. */
type ClientResult = Readonly<Record<string, Observations>> | Error
type Results = ReadonlyMap<TrafficClient, ClientResult>

/**
 * Tests of a corpus: no pair differs in a way that no explanation covers. The page says what was seen in permissive mode.
 *
 * @param rules - what lets the clients in
 */
export function describeCorpus(corpus: Corpus, sidecarClass: SidecarClass, rules: CorpusRules = 'permissive'): void {
  describe(`traffic of ${corpus.name} with sidecars of class ${sidecarClass}, by ${rules} rules`, () => {
    let mesh: CorpusMesh
    let results: Readonly<Record<Place, Results>>

    beforeAll(async () => {
      expect(kernelTestObstacle()).toBeUndefined()
      mesh = await startCorpusMesh(corpus.servers, sidecarClass, rules)
      results = await runAll(mesh, corpus.pairs)
    }, TIMEOUT_MS)
    afterAll(async () => {
      await mesh.stop()
    }, 120_000)

    const differencesOf = (pair: TrafficPair): readonly Difference[] =>
      compareObservations(observed('beside', pair), observed('through', pair))
    const observed = (place: Place, { client, server, exchanges }: TrafficPair): Observations => {
      const result = results[place].get(client)
      if (result === undefined || result instanceof Error)
        throw new Error(`${place} the mesh: no result`, { cause: result })
      const seen = result[server.name] ?? {}
      const names = exchanges.map(({ name }) => name).filter((name) => Object.hasOwn(seen, name))
      return Object.fromEntries(names.map((name) => [name, corpus.canonical(seen[name] ?? null)]))
    }
    const explanationOf = (difference: Difference, pair: TrafficPair): Explanation | undefined =>
      corpus.explanations.find(({ explains }) => explains(difference, pair, sidecarClass))

    it('keeps all servers running', () => {
      expect(mesh.failure()).toBeUndefined()
    })

    it.each(corpus.pairs.map((pair) => [pair.client.title, pair.server.title, pair.protocol, pair] as const))(
      '%s sees the same of %s over %s as without a mesh, but for what is explained',
      (_client, _server, _protocol, pair) => {
        expect(Object.keys(observed('beside', pair))).toEqual(pair.exchanges.map(({ name }) => name))
        const unexplained = differencesOf(pair).filter((difference) => explanationOf(difference, pair) === undefined)
        expect(unexplained.map(formatDifference)).toEqual([])
      },
    )

    if (rules !== 'permissive') return
    it('is what the page says', () => {
      const rows = corpus.pairs.map((pair) => {
        const used = new Set(
          differencesOf(pair).map((difference) => explanationOf(difference, pair)?.id ?? 'unexplained'),
        )
        const ids = corpus.explanations
          .filter(({ id, varies }) => used.has(id) || varies?.(sidecarClass) === true)
          .map(({ id }) => id)
        return {
          client: pair.client.title,
          server: pair.server.title,
          protocol: pair.protocol,
          exchanges: pair.exchanges.length,
          cell: used.has('unexplained') ? 'unexplained' : ids.length === 0 ? 'same' : ids.join(', '),
        }
      })
      const pairs = comparePairs(corpus.name, sidecarClass, rows)
      expect(pairs.found).toEqual(pairs.expected)
      const explanations = compareExplanations(
        corpus.name,
        corpus.explanations.map((each) => [each.id, each.what, each.reason, each.switch]),
      )
      expect(explanations.found).toEqual(explanations.expected)
    })
  })
}

async function runAll(mesh: CorpusMesh, pairs: readonly TrafficPair[]): Promise<Readonly<Record<Place, Results>>> {
  const clients = [...new Set(pairs.map(({ client }) => client))]
  const work = clients.flatMap((client) => (['beside', 'through'] as const).map((place) => ({ client, place })))
  const results = { beside: new Map<TrafficClient, ClientResult>(), through: new Map<TrafficClient, ClientResult>() }
  const worker = async (): Promise<void> => {
    // Without servers each exchange would take as long as it may.
    for (let next = work.shift(); next !== undefined && mesh.failure() === undefined; next = work.shift()) {
      const { client, place } = next
      const targets = pairs
        .filter((pair) => pair.client === client)
        .map(({ server, exchanges }) => ({ server: server.name, port: server.port, exchanges }))
      // The tests of its pairs fail, and no others.
      const failed = (error: unknown): Error => new Error(`${client.name} failed`, { cause: error })
      results[place].set(client, await mesh.run(place, client, targets).catch(failed))
    }
  }
  await Promise.all(Array.from({ length: CLIENTS_AT_ONCE }, worker))
  return results
}
