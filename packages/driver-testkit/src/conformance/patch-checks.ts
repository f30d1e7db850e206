import { setTimeout as delay } from 'node:timers/promises'

import { type InjectorContext, type SidecarPatch, validateSidecarPatch } from '@osm-ts/driver-api'
import { checkSidecarPatch, declares } from '@osm-ts/driver-api/host'
import { canonicalJson } from '@osm-ts/driver-api/policy'

import { type Check, codeOf, expect, expectNone, reasonOf, type Subject } from './check.js'
import { deepFrozen, type Mode, PatchContexts, reordered, WORKLOAD_SECRET } from './patch-contexts.js'

const REPEATS = 20
/** An admission request that is over waits for no one. */
const CANCELLED_MS = 2_000
const modes: readonly Mode[] = ['explicit', 'transparent']
const systems: readonly InjectorContext['podOS'][] = ['linux', 'windows', 'darwin']

/** What the injector asks of a driver. */
export const patchChecks: readonly Check[] = [
  ...modes.map((mode): Check => ({
    id: `patch.${mode}`,
    proves: `patch serves a workload in ${mode} mode: what it returns fits the schema and the host's allow-list`,
    needs: [`mode:${mode}`],
    prove: async (subject) => {
      const context = new PatchContexts(subject).of(mode)
      const patch = await subject.driver.patch(context)
      expectNone('the patch does not fit its schema', validateSidecarPatch(patch))
      checkSidecarPatch(patch, subject.driver.name)
      expectInterception(patch, context, declares(subject.driver.capabilities, 'ip-family:IPv6'))
    },
  })),
  {
    id: 'patch.undeclared-mode',
    proves: 'patch refuses a mode that the driver does not declare, with OSM_DRIVER_PATCH',
    prove: async (subject) => {
      const contexts = new PatchContexts(subject)
      for (const mode of modes.filter((name) => !subject.driver.capabilities.modes.includes(name)))
        await expectRefusal(subject, contexts.of(mode), `mode ${mode}, which the driver does not declare`)
    },
  },
  {
    id: 'patch.operating-systems',
    proves: 'patch serves each operating system that the driver declares, and refuses the others with OSM_DRIVER_PATCH',
    prove: async (subject) => {
      const contexts = new PatchContexts(subject)
      for (const podOS of systems) {
        const declared = subject.driver.capabilities.operatingSystems.includes(podOS)
        const asked = contexts.declared({ podOS })
        if (declared) await expectOneServed(subject, asked, podOS)
        else for (const context of asked) await expectRefusal(subject, context, `${podOS}, which is not declared`)
      }
    },
  },
  {
    id: 'patch.drain',
    proves: 'the patch says how to drain if, and only if, the driver declares that its sidecar can',
    prove: async (subject) => {
      const { drain: declared } = subject.driver.capabilities
      for (const { drain } of await patches(subject)) {
        expect((drain !== undefined) === declared, `capabilities.drain is ${declared}; the patch says otherwise`)
        expect(drain === undefined || drain.minMs <= drain.maxMs, 'drain.minMs is greater than drain.maxMs')
      }
    },
  },
  {
    id: 'patch.pure',
    proves: `the same context gives the same patch byte for byte, ${REPEATS} times, at once and between other workloads`,
    prove: async (subject) => {
      const contexts = new PatchContexts(subject)
      for (const [index, mode] of subject.driver.capabilities.modes.entries()) {
        const context = contexts.of(mode)
        const first = canonicalJson(await subject.driver.patch(context))
        const other = contexts.of(mode, { meshName: `other-${index}`, podNamespace: 'other', logLevel: 'debug' })
        const calls = Array.from({ length: REPEATS }, async (_, call) =>
          canonicalJson(await subject.driver.patch(call % 2 === 0 ? context : other)),
        )
        const again = (await Promise.all(calls)).filter((_, call) => call % 2 === 0)
        again.push(canonicalJson(await subject.driver.patch(context)))
        for (const text of again)
          expect(text === first, `the patch differs in ${mode} mode: ${firstDifference(first, text)}`)
      }
    },
  },
  {
    id: 'patch.order',
    proves: 'the order of members in the context means nothing',
    prove: async (subject) => {
      for (const context of new PatchContexts(subject).declared()) {
        const first = canonicalJson(await subject.driver.patch(context))
        const shuffled = canonicalJson(await subject.driver.patch(reordered(context)))
        expect(first === shuffled, `the patch differs: ${firstDifference(first, shuffled)}`)
      }
    },
  },
  {
    id: 'patch.frozen',
    proves: 'patch changes nothing in its context, and works with a frozen one',
    prove: async (subject) => {
      for (const context of new PatchContexts(subject).declared()) {
        const { signal: _, ...data } = context
        const before = canonicalJson(data)
        await subject.driver.patch(context)
        expect(canonicalJson(data) === before, 'patch has changed its context')
        await subject.driver.patch(deepFrozen(context))
      }
    },
  },
  {
    id: 'patch.cancelled',
    proves: 'a call whose request is over ends at once, and the next one is served',
    prove: async (subject, signal) => {
      for (const context of new PatchContexts(subject).declared()) {
        const before = canonicalJson(await subject.driver.patch(context))
        const cancelled = subject.driver.patch({ ...context, signal: AbortSignal.abort() })
        const ended = cancelled.then(
          () => true,
          () => true,
        )
        const late = new AbortController()
        const inTime = await Promise.race([
          ended,
          delay(CANCELLED_MS, false, { signal: AbortSignal.any([signal, late.signal]) }),
        ])
        late.abort()
        expect(inTime, `patch with an aborted signal took longer than ${CANCELLED_MS} ms`)
        expect(
          canonicalJson(await subject.driver.patch(context)) === before,
          'the patch after a cancelled call differs',
        )
      }
    },
  },
  {
    id: 'patch.dry-run',
    proves: 'a dry run gives the patch of a real one',
    prove: async (subject) => {
      const contexts = new PatchContexts(subject)
      const [real, dry] = [contexts.declared(), contexts.declared({ dryRun: true })]
      for (const [index, context] of real.entries()) {
        const first = canonicalJson(await subject.driver.patch(context))
        const second = canonicalJson(await subject.driver.patch(dry[index] ?? context))
        expect(first === second, `the patch of a dry run differs: ${firstDifference(first, second)}`)
      }
    },
  },
  {
    id: 'patch.errors',
    proves: 'a context that cannot be served is refused with OSM_DRIVER_PATCH, not with an accident',
    prove: async (subject) => {
      // The types of branded names leave no room for such a one; a host with a fault does.
      const stranger = 'somebody.else' as InjectorContext['proxyCommonName']
      for (const changes of [{ listen: {} }, { proxyCommonName: stranger }, { sidecarImage: '' }])
        for (const context of new PatchContexts(subject).declared(changes))
          await patchOrRefusal(subject, context, JSON.stringify(changes))
    },
  },
  {
    id: 'patch.secrets',
    proves: 'no key and no variable of the workload is in a patch; keys are references',
    prove: async (subject) => {
      for (const patch of await patches(subject)) {
        const text = canonicalJson(patch)
        expect(!text.includes('PRIVATE KEY'), 'the patch holds a private key')
        expect(!text.includes(WORKLOAD_SECRET), 'the patch repeats an environment variable of the workload')
      }
    },
  },
]

/**
 * The patch, or undefined if the driver refuses in the way of the contract.
 *
 * @param what - that the context has, for people
 */
export async function patchOrRefusal(
  { driver }: Subject,
  context: InjectorContext,
  what: string,
): Promise<SidecarPatch | undefined> {
  try {
    return await driver.patch(context)
  } catch (error) {
    expect(
      codeOf(error) === 'OSM_DRIVER_PATCH',
      `${what}: expected a patch or OSM_DRIVER_PATCH, got ${reasonOf(error)}`,
    )
    return undefined
  }
}

async function expectRefusal(subject: Subject, context: InjectorContext, what: string): Promise<void> {
  const patch = await patchOrRefusal(subject, context, what)
  expect(patch === undefined, `patch serves ${what}; refuse it with OSM_DRIVER_PATCH`)
}

async function expectOneServed(subject: Subject, contexts: readonly InjectorContext[], system: string): Promise<void> {
  const served = await Promise.all(contexts.map((context) => patchOrRefusal(subject, context, system)))
  expect(
    served.some((patch) => patch !== undefined),
    `${system} is declared, and patch refuses it in every declared mode`,
  )
}

function patches(subject: Subject): Promise<readonly SidecarPatch[]> {
  return Promise.all(new PatchContexts(subject).declared().map((context) => subject.driver.patch(context)))
}

function expectInterception({ interception, sidecar }: SidecarPatch, context: InjectorContext, ipv6: boolean): void {
  if (context.interceptionMode === 'none') {
    expect(interception === undefined, 'interception is asked for where there is none')
    return
  }
  expect(interception !== undefined, 'the patch does not say where redirected connections go (interception)')
  const { inbound, outbound } = context.listen
  expect(interception.inboundPort === inbound?.port, 'interception.inboundPort is not that of listen.inbound')
  expect(interception.outboundPort === outbound?.port, 'interception.outboundPort is not that of listen.outbound')
  expect(
    interception.proxyUid === sidecar.security.runAsUser,
    'interception.proxyUid is not the user that the sidecar runs as: its own traffic would come back to it',
  )
  expect(
    interception.ipv6 === ipv6,
    `interception.ipv6 is ${interception.ipv6}; ipFamilies of the capabilities say ${ipv6}`,
  )
}

/** Where two texts part, with a little of each. */
function firstDifference(one: string, other: string): string {
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  const from = Math.max(0, at - 20)
  return `${JSON.stringify(one.slice(from, from + 60))} and ${JSON.stringify(other.slice(from, from + 60))}`
}
