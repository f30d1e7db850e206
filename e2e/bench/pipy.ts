import { RepoFixture, until } from '../../packages/driver-pipy/test/repo-fixture.js'
import { type Summary, summarize } from './statistics.js'

/** From a policy to its acknowledgement. */
export interface PipyAcknowledgement {
  readonly workers: number
  /** Milliseconds from a change that all workers see until the host knows that one of them has it; of every worker in every round. */
  readonly everyone: Summary
  /** Milliseconds of a change that one worker sees. */
  readonly one: Summary
}

/** Measures {@link PipyAcknowledgement} with stand-ins of workers that speak to the repo server over mutual TLS. */
export async function measurePipy(options: {
  readonly workers: number
  readonly rounds: number
}): Promise<PipyAcknowledgement> {
  const repo = new RepoFixture()
  await repo.start()
  try {
    const admitted = Array.from({ length: options.workers }, () => repo.host.admitted())
    for (const worker of admitted) repo.worker(worker, { periodMs: 5_000 })
    const acknowledged = (step: number) =>
      repo.host.reports.some(({ revision, complete }) => complete && revision === step)
    await until('every worker', () => admitted.every((_, index) => acknowledged(index + 1)))
    const everyone: number[] = []
    const one: number[] = []
    for (let turn = 0; turn < options.rounds; turn += 1) {
      everyone.push(
        ...(await measure(
          admitted.map(({ uuid }) => uuid),
          turn,
        )),
      )
      const [first] = admitted
      if (first !== undefined) one.push(...(await measure([first.uuid], turn + options.rounds)))
    }
    return { workers: options.workers, everyone: summarize(everyone), one: summarize(one) }
  } finally {
    await repo.stop()
  }

  /** Milliseconds until each of these has another policy. */
  async function measure(uuids: readonly string[], turn: number): Promise<number[]> {
    const start = performance.now()
    const pending = new Set(uuids.map((uuid) => repo.host.say(uuid, `turn ${turn}`)))
    const times: number[] = []
    let seen = repo.host.reports.length
    await until('an acknowledgement of each', () => {
      for (; seen < repo.host.reports.length; seen += 1) {
        const report = repo.host.reports[seen]
        if (report?.complete === true && pending.delete(report.revision)) times.push(performance.now() - start)
      }
      return pending.size === 0
    })
    return times
  }
}
