import { readFileSync } from 'node:fs'

import { describe, expect, it } from '@jest/globals'
import { hashPart, type ProxyPolicy } from '@osm-ts/driver-api/policy'

import { literalDocuments } from '../../test/mesh.js'
import { RepoFixture, until } from '../../test/repo-fixture.js'
import { type DocumentMaker, documentMaker } from '../document.js'

/** How often documents were made, and encoded for somebody. */
interface Counts {
  made: number
  encoded: number
}

function counted(counts: Counts): DocumentMaker {
  return (proxy, parts) => {
    counts.made += 1
    const document = literalDocuments(proxy, parts)
    return {
      ...document,
      with: (credential, further) => {
        counts.encoded += 1
        return document.with(credential, further)
      },
    }
  }
}

/** What a change of one policy costs where so many other workers wait. */
async function costBeside(bystanders: number): Promise<Readonly<Record<string, number>>> {
  const counts: Counts = { made: 0, encoded: 0 }
  const repo = new RepoFixture({ make: counted(counts) })
  await repo.start()
  try {
    const workers = Array.from({ length: bystanders + 1 }, () => {
      const admitted = repo.host.admitted()
      return { ...admitted, stand: repo.worker(admitted, { periodMs: 60_000 }) }
    })
    // All have what they should, have been reported, and wait for more.
    await until('every worker', () => {
      const sessions = [...repo.server.sessions]
      const isAtRest = sessions.every(({ waiting }) => waiting === 1)
      return isAtRest && sessions.length === bystanders + 1 && repo.host.reports.length === bystanders + 1
    })
    const answered = (): number => repo.host.metrics.get('osm_pipy_repo_request_count config 200') ?? 0
    await until('every first answer', () => answered() === bystanders + 1)
    const before = {
      ...counts,
      answered: answered(),
      reports: repo.host.reports.length,
      steps: repo.host.observations.length,
    }
    const [changed] = workers
    const step = repo.host.say(changed?.uuid ?? '', 'something else')
    await until('the acknowledgement', () =>
      repo.host.reports.some(({ revision, complete }) => complete && revision === step),
    )
    return {
      made: counts.made - before.made,
      encoded: counts.encoded - before.encoded,
      answered: answered() - before.answered,
      reports: repo.host.reports.length - before.reports,
      observations: repo.host.observations.length - before.steps,
    }
  } finally {
    await repo.stop()
  }
}

describe('a change that one worker sees', () => {
  it('is one document, one answer and one report, however many others there are', async () => {
    const alone = await costBeside(0)
    expect(alone).toEqual({ made: 1, encoded: 1, answered: 1, reports: 1, observations: 0 })
    expect(await costBeside(40)).toEqual(alone)
  })
})

describe('two replicas', () => {
  it('have the same bytes for the same policy, and one sends nothing that the other has sent', async () => {
    const policy = JSON.parse(
      readFileSync(new URL('../../../driver-envoy/src/testdata/in/smi-http-split.json', import.meta.url), 'utf8'),
    ) as ProxyPolicy
    const first = new RepoFixture({ make: documentMaker() })
    const second = new RepoFixture({
      make: documentMaker(),
      timing: { pollTimeoutMs: 100, writeTimeoutMs: 1_000, sweepMs: 20 },
    })
    await Promise.all([first.start(), second.start()])
    try {
      const uuid = 'c0ffee00-0000-4000-8000-000000000001'
      const parts = Object.values(policy.parts)
      const ask = async (repo: RepoFixture, has = '') => {
        const { credential } = repo.host.admit(uuid)
        // Both replicas have the certificate from the one authority of the mesh.
        repo.host.giveIdentity('bookbuyer.default', shared)
        // What was computed elsewhere comes in another order.
        const ordered = repo === first ? parts : [...parts].reverse()
        repo.host.publishPolicy(uuid, policy.proxy, ordered)
        return repo.client(credential).get(`/config?rev=${has}`)
      }
      const shared = first.host.services.issue('bookbuyer.default.cluster.local')
      const [one, other] = [await ask(first), await ask(second)]
      expect(parts.every((part) => policy.parts[hashPart(part)] !== undefined)).toBe(true)
      expect(one.status).toBe(200)
      expect(one.body).toContain('PRIVATE KEY')
      expect(other.body).toBe(one.body)
      const revision = String(one.headers['osm-revision'])
      expect(other.headers['osm-revision']).toBe(revision)
      expect((await ask(second, revision)).status).toBe(204)
    } finally {
      await Promise.all([first.stop(), second.stop()])
    }
  })
})
