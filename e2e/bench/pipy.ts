import type { PolicyPart } from '@osm-ts/core'
import { decodeManifests } from '@osm-ts/core/testing'
import type { Part, PartHash } from '@osm-ts/driver-api/policy'

import { documentMaker, RepoFixture, until } from '@osm-ts/driver-pipy/testing'
import { ComputedPolicies } from './computed-policies.js'
import { generateHubMesh, hubAnnouncement, type HubMeshProxy } from './mesh.js'
import { round, type Summary, summarize } from './statistics.js'

/** From a change of the mesh to its acknowledgement. */
export interface PipyAcknowledgement {
  readonly workers: number
  /** Bytes of the document of one worker. */
  readonly octetsPerWorker: Summary
  /** Milliseconds from a change that all workers see until the host knows that one of them has it; of every worker in every round. */
  readonly everyone: Summary
  /** Milliseconds of these that are spent on computing policies, before the driver hears of them. */
  readonly computation: Summary
  /** Milliseconds of a change that one worker sees. */
  readonly one: Summary
}

/** The mesh of one measurement, with stand-ins of workers that speak to the repo server over mutual TLS. */
class MeasuredMesh {
  readonly repo = new RepoFixture({ make: documentMaker() })
  readonly computation: number[] = []
  readonly #policies = new ComputedPolicies()
  readonly #given = new Set<PartHash>()
  readonly #mesh
  readonly #reach: readonly HubMeshProxy[]
  #address = 0

  /** @param everyone - every worker may call the service whose endpoint moves; else one of them */
  constructor(workers: number, everyone: boolean) {
    this.#mesh = generateHubMesh({
      services: workers,
      proxies: workers,
      everyoneCallsHub: everyone,
      sidecarClass: 'pipy',
    })
    const { proxies } = this.#mesh
    this.#reach = everyone ? proxies : proxies.slice(0, 1)
  }

  /** Resolves with bytes of documents once every worker has its policy. */
  async start(): Promise<readonly number[]> {
    const { policy, instances, movable, proxies } = this.#mesh
    await this.repo.start()
    this.#policies.start(decodeManifests([...policy, movable(0), ...instances]))
    const steps = proxies.map((proxy) => {
      const { uuid, account } = proxy
      const identity = `${account.name}.${account.namespace}`
      const { credential } = this.repo.host.admit(uuid, identity)
      this.repo.worker({ uuid, credential }, { identity, periodMs: 5_000 })
      return this.#publish(proxy)
    })
    await this.#acknowledged(steps, () => undefined)
    return [...this.repo.server.sessions].map((session) => session.plainDocument()?.body.length ?? 0)
  }

  /** Moves the endpoint. Milliseconds until each worker that sees it has the new policy. */
  async change(): Promise<readonly number[]> {
    this.#address += 1
    const upserts = decodeManifests([this.#mesh.movable(this.#address)])
    const start = performance.now()
    const changed = this.#policies.change(upserts, hubAnnouncement).map(({ proxy }) => proxy)
    this.computation.push(performance.now() - start)
    const expected = this.#reach.filter(({ key }) => changed.includes(key))
    if (expected.length !== this.#reach.length || changed.length !== this.#reach.length)
      throw new Error(`${changed.length} policies changed where ${this.#reach.length} should`)
    const times: number[] = []
    await this.#acknowledged(
      this.#reach.map((proxy) => this.#publish(proxy)),
      () => times.push(performance.now() - start),
    )
    return times
  }

  #publish({ uuid, key }: HubMeshProxy): number {
    const policy = this.#policies.policyOf(key)
    return this.repo.host.publishPolicy(uuid, policy.part, this.#newParts(policy))
  }

  /** Parts below a policy that the host has not got yet. */
  #newParts({ children }: PolicyPart): readonly Part[] {
    return children.flatMap((child) => {
      if (this.#given.has(child.hash)) return []
      this.#given.add(child.hash)
      return [child.part, ...this.#newParts(child)]
    })
  }

  async #acknowledged(steps: readonly number[], onEach: () => void): Promise<void> {
    const { reports } = this.repo.host
    const pending = new Set(steps)
    let seen = 0
    await until('an acknowledgement of each', () => {
      for (; seen < reports.length; seen += 1) {
        const report = reports[seen]
        if (report?.complete === true && pending.delete(report.revision)) onEach()
      }
      return pending.size === 0
    })
    reports.splice(0)
  }
}

/** Measures {@link PipyAcknowledgement}. */
export async function measurePipy(options: {
  readonly workers: number
  readonly rounds: number
}): Promise<PipyAcknowledgement> {
  const measure = async (everyone: boolean) => {
    const mesh = new MeasuredMesh(options.workers, everyone)
    try {
      const octets = await mesh.start()
      const times: number[] = []
      for (let turn = 0; turn < options.rounds; turn += 1) times.push(...(await mesh.change()))
      return { octets, times, computation: mesh.computation }
    } finally {
      await mesh.repo.stop()
    }
  }
  const all = await measure(true)
  const single = await measure(false)
  return {
    workers: options.workers,
    octetsPerWorker: summarize(all.octets),
    everyone: summarize(all.times),
    computation: summarize(all.computation.map(round)),
    one: summarize(single.times),
  }
}
