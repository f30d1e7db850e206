import { type ControllerContext, type Driver, OsmError, type SidecarPatch } from '@osm-ts/driver-api'
import { afterAll, describe, expect, it } from '@jest/globals'

import { smallStandIn } from '../../test/small-documents.js'
import { smallDriver } from '../../test/small-driver.js'
import { type Check, runCheck } from './check.js'
import { level0 } from './level-0.js'

const good = smallDriver()
const patched = (change: (patch: SidecarPatch, context: Parameters<Driver['patch']>[0]) => SidecarPatch): Driver => ({
  ...good,
  patch: async (context) => change(await good.patch(context), context),
})
const declaring = (changes: Partial<Driver['capabilities']>): Driver => ({
  ...good,
  capabilities: { ...good.capabilities, ...changes },
})
const started = (before: (context: ControllerContext) => Promise<void> | void): Driver => ({
  ...good,
  start: async (context) => {
    await before(context)
    return good.start(context)
  },
})
const withArg = (arg: (context: Parameters<Driver['patch']>[0]) => string): Driver =>
  patched((patch, context) => ({
    ...patch,
    sidecar: { ...patch.sidecar, args: [...patch.sidecar.args, arg(context)] },
  }))
/** Says everything that it is told by the host, keys and all. */
const talkative = started(async (context) => {
  for await (const { credential } of context.proxyServiceCert.watch(context.signal)) {
    context.logger.info({ key: credential.privateKey.split('\n')[1] ?? '' }, 'certificate')
    return
  }
})

/** For each check a driver that does that one thing wrong. */
function broken(): Readonly<Record<string, Driver>> {
  const calls = { count: 0 }
  const starts = { count: 0 }
  const seen: { cancelled: boolean } = { cancelled: false }
  const reading = { count: 0 }
  return {
    'contract.shape': { ...good, name: 'Not a label!' },
    'contract.version': { ...good, contract: { min: 98, max: 99 } },
    'contract.capabilities': Object.defineProperty({ ...good }, 'capabilities', {
      get: () => ({ ...good.capabilities, drain: (reading.count += 1) % 2 === 0 }),
    }),
    'contract.config-schema': { ...good, configSchema: { type: 'object' } },
    'patch.explicit': patched((patch) => ({ ...patch, annotations: { 'of.somebody/else': '1' } })),
    'patch.transparent': patched(({ interception, ...patch }) =>
      interception === undefined ? patch : { ...patch, interception: { ...interception, proxyUid: 1 } },
    ),
    'patch.undeclared-mode': declaring({ modes: ['explicit'] }),
    'patch.operating-systems': declaring({ operatingSystems: ['linux', 'windows'] }),
    'patch.drain': declaring({ drain: true }),
    'patch.pure': withArg(() => `${(calls.count += 1)}`),
    'patch.order': withArg((context) => Object.keys(context.locality).join()),
    'patch.frozen': patched((patch, context) => {
      Object.assign(context.locality, { region: 'mine' })
      return patch
    }),
    'patch.cancelled': patched((patch, { signal }) => {
      seen.cancelled ||= signal.aborted
      return seen.cancelled ? { ...patch, annotations: { 'small.sidecar.openservicemesh.io/a': '1' } } : patch
    }),
    'patch.dry-run': withArg(({ dryRun }) => String(dryRun)),
    'patch.errors': {
      ...good,
      patch: async (context) => {
        if (context.listen.admin === undefined) throw new TypeError('admin is undefined')
        return good.patch(context)
      },
    },
    'patch.secrets': patched((patch, { pod }) => ({
      ...patch,
      annotations: { 'small.sidecar.openservicemesh.io/pod': JSON.stringify(pod) },
    })),
    'patch.user-text.pod': withArg(({ pod }) => JSON.stringify(pod['metadata'])),
    'patch.user-text.originalHealthProbes': patched((patch, { originalHealthProbes: [probe] }) => ({
      ...patch,
      ready: { ...patch.ready, http: { ...patch.ready.http, path: probe?.path ?? '/' } },
    })),
    'patch.user-text.locality': patched((patch, { locality }) => ({
      ...patch,
      files: [{ path: 'small.json', content: { text: `{"region":"${locality.region}"}` } }],
    })),
    'patch.user-text.networkInterfaceExclusionList': patched((patch, { networkInterfaceExclusionList: [name] }) => ({
      ...patch,
      files: [...patch.files, { path: 'small.conf', content: { text: `bind ${name ?? 'eth0'}\n` } }],
    })),
    'start.probes': {
      ...good,
      start: async (context) => {
        const { probes, stopped } = await good.start(context)
        const { liveness } = probes
        return { probes: liveness === undefined ? {} : { liveness: { ...liveness, path: '/elsewhere' } }, stopped }
      },
    },
    'start.stopped': {
      ...good,
      start: async (context) => ({ ...(await good.start(context)), stopped: Promise.resolve() }),
    },
    'start.abort': smallDriver({ leaks }),
    'start.again': started(() => {
      starts.count += 1
      if (starts.count > 1) throw new Error('already started')
    }),
    'start.port-in-use': {
      ...good,
      start: async (context) => good.start(context).catch(() => Promise.reject(new Error('EADDRINUSE'))),
    },
    'start.bad-certificate': {
      ...good,
      start: async (context) =>
        good.start(context).catch((error: unknown) => {
          throw /certificate/.test(String(error)) ? new TypeError('wrong tag') : error
        }),
    },
    'start.aborted-early': started(async () => new Promise<void>((resolve) => setTimeout(resolve, 20_000).unref())),
    'peers.mutual-tls': started(({ cancel }) => cancel(new Error('for no reason'))),
    'peers.no-certificate': smallDriver({ acceptsAnybody: true }),
    'peers.foreign-authority': smallDriver({ acceptsAnybody: true }),
    'peers.service-certificate': smallDriver({ acceptsAnybody: true }),
    'peers.expired-certificate': smallDriver({ acceptsExpired: true }),
    'rotation.server': smallDriver({ keepsFirstCertificate: true }),
    'rotation.client-roots': smallDriver({ keepsFirstRoots: true }),
    'updates.while-running': started(({ proxies, signal, cancel }) => {
      void (async () => {
        for await (const eviction of proxies.evictions(signal)) cancel(new Error(`who is ${eviction.session}?`))
      })()
    }),
    'secrets.said': talkative,
    'policy.applied': smallDriver({ reportsBeforehand: true }),
    'policy.not-applied': smallDriver({ callsRefusedApplied: true }),
    'policy.change': smallDriver({ offersOnce: true }),
    'policy.same': smallDriver({ numbersDocuments: true }),
    'policy.deterministic': smallDriver({ dependsOnOrder: true }),
    'policy.frozen': smallDriver({ writesToPolicies: true }),
    'policy.hostile-text.1': smallDriver({ breaksOn: '$(id)' }),
    'policy.hostile-text.2': smallDriver({ breaksOn: 'second: line' }),
    'policy.hostile-text.3': smallDriver({ breaksOn: '{{ .Values }}' }),
    'policy.hostile-text.4': smallDriver({ breaksOn: '\u202e' }),
    'policy.hostile-text.5': smallDriver({ breaksOn: '--kitmark' }),
    'policy.superseded': smallDriver({ ignoresEvictions: true }),
    'policy.stranger': smallDriver({ servesStrangers: true }),
    'policy.identity': smallDriver({ keepsFirstIdentity: true }),
    'policy.proxy-key': smallDriver({ asksForKeys: true }),
    'policy.lasting': smallDriver({ remembersWhatItSent: true }),
  }
}

const leaks: (() => void)[] = []

const run = async (check: Check, driver: Driver, settleMs?: number, timeoutMs?: number) =>
  runCheck(
    check,
    { driver, config: {}, standIn: smallStandIn, ...(settleMs && { settleMs }) },
    { signal: new AbortController().signal, ...(timeoutMs && { timeoutMs }) },
  )

describe('level 0 of the conformance suite', () => {
  afterAll(() => leaks.forEach((close) => close()))

  it('has a driver for each check that does not pass it', () => {
    expect(Object.keys(broken())).toEqual(level0.map(({ id }) => id))
  })

  it.each(level0)('$id: holds for the smallest driver', async (check) => {
    const result = await run(check, smallDriver())
    expect(result).toMatchObject({ outcome: 'passed', ...('reason' in result && { reason: undefined }) })
  })

  it.each(level0)('$id: fails with a driver that breaks it', async (check) => {
    const driver = broken()[check.id] ?? good
    expect(await run(check, driver, 500)).toMatchObject({
      outcome: 'failed',
      reason: expect.stringMatching(/\S/) as unknown,
    })
  })
})

describe('a check', () => {
  const [first] = level0 as readonly [Check]

  it('is not made of a driver that does not declare what it needs', async () => {
    const result = await run({ ...first, needs: ['ip-family:IPv6'] }, good)
    expect(result).toMatchObject({ outcome: 'not claimed', needs: 'ip-family:IPv6' })
  })

  it('is not made of a driver for whose proxies nothing speaks', async () => {
    const check = { ...first, needsStandIn: true }
    const result = await runCheck(check, { driver: good, config: {} }, { signal: new AbortController().signal })
    expect(result).toMatchObject({ outcome: 'not claimed', needs: 'stand-in' })
  })

  it('fails when the driver hangs', async () => {
    const hanging: Check = { ...first, prove: async () => new Promise<never>(() => {}) }
    expect(await run(hanging, good, undefined, 20)).toMatchObject({
      outcome: 'failed',
      reason: 'it did not end within 20 ms',
    })
  })

  it('says with which error the driver failed', async () => {
    const throwing: Check = { ...first, prove: async () => Promise.reject(new OsmError('OSM_DRIVER_PATCH', 'no')) }
    expect(await run(throwing, good)).toMatchObject({ reason: 'OsmError OSM_DRIVER_PATCH: no' })
  })
})
