import { setTimeout as sleep } from 'node:timers/promises'

import type { CustomResource, EndpointsPlugin, JsonObject } from '@osm-ts/endpoints-api'

import { answerFaults, declarationFaults, schemaFaults, statusFaults } from './contract-form.js'
import { RecordingHost } from './recording-host.js'

/** A provider to check, and what there is for it to find. */
export interface ProviderSubject {
  readonly plugin: EndpointsPlugin
  /** Settings with which it finds at least one instance. */
  readonly settings: JsonObject
  /** Replaces members of the settings when the provider is started, whatever its schema says: intervals shorter than an operator may choose. */
  readonly overrides?: JsonObject
  /** Objects of its kinds, each of which selects something. Empty or absent for a provider that is configured by its settings alone. */
  readonly objects?: readonly CustomResource[]
  /** Makes everything that the provider asks fail, and work again. Absent: what it does then is not checked. */
  readonly outage?: { begin(): Promise<void>; end(): Promise<void> }
  /** Milliseconds for which a check waits for the provider; 120,000 if absent. */
  readonly timeoutMs?: number
  /** Credentials of the provider: it must not tell them to anyone. */
  readonly secrets?: readonly string[]
}

/** Something that a provider has to hold. */
export interface ProviderCheck {
  /** Stable, such as `stop.silent`. */
  readonly id: string
  /** The one line that it proves. */
  readonly proves: string
  /** What the subject must have; the check is not made otherwise. */
  readonly needs?: 'objects' | 'outage'
  /** Resolves to what is wrong, in words for the author; empty if it holds. */
  readonly faults: (subject: ProviderSubject) => Promise<readonly string[]>
}

/** Milliseconds in which a provider ends that is told to. */
const STOP_MS = 5_000
/** Milliseconds after its end in which a provider must stay silent. */
const SILENCE_MS = 300

/** All checks, in the order in which they are made. */
export const providerChecks: readonly ProviderCheck[] = [
  {
    id: 'declaration.form',
    proves: 'name, contract version, kinds and schemas have the form that the contract asks for',
    faults: async ({ plugin }) => declarationFaults(plugin),
  },
  {
    id: 'declaration.schemas',
    proves: 'the given settings and objects conform to its schemas',
    faults: async ({ plugin, settings, objects = [] }) => [
      ...schemaFaults(plugin.settingsSchema, settings, 'settings'),
      ...objects.flatMap(({ kind, name, spec }) => {
        const of = plugin.resourceKinds.find((each) => each.kind === kind)
        return of === undefined
          ? [`${name} is of kind ${kind}, which the provider does not declare`]
          : schemaFaults(of.specSchema, spec, `${name}.spec`)
      }),
    ],
  },
  {
    id: 'answer.form',
    proves: 'what it publishes has the form of an answer, and at least one instance',
    faults: (subject) =>
      running(subject, async (host) => {
        await host.untilInstances()
        const faults = host.answers.flatMap(answerFaults)
        return faults.slice(0, 20)
      }),
  },
  {
    id: 'answer.repeatable',
    proves: 'two copies of it find the same and do not disturb each other: nothing is kept in the module',
    faults: (subject) =>
      running(subject, async (first) =>
        running(subject, async (second) => {
          await Promise.all([first.untilInstances(), second.untilInstances()])
          const [one, other] = [first, second].map((host) => JSON.stringify(host.idsByService()))
          return one === other ? [] : [`one copy found ${one}, the other one ${other}`]
        }),
      ),
  },
  {
    id: 'answer.namespaces',
    proves: 'an object adds instances to Services of its own namespace only',
    needs: 'objects',
    faults: (subject) =>
      running(subject, async (host) => {
        await host.untilInstances()
        const allowed = new Set((subject.objects ?? []).map(({ namespace }) => namespace))
        return host.answers
          .flatMap(({ services }) => services.map(({ service }) => service))
          .filter(({ namespace }) => !allowed.has(namespace))
          .map(({ namespace, name }) => `it publishes ${namespace}/${name}, and no object is in namespace ${namespace}`)
      }),
  },
  {
    id: 'status.form',
    proves: 'it reports the status of each object, for the generation that it has seen',
    needs: 'objects',
    faults: (subject) =>
      running(subject, async (host) => {
        const { objects = [] } = subject
        await host.until('a status of each object', () => objects.every((each) => host.statuses.has(keyOf(each))))
        return objects.flatMap((each) => {
          const status = host.statuses.get(keyOf(each))
          const isSeen = status?.observedGeneration === each.generation
          return [
            ...statusFaults(status).map((fault) => `${keyOf(each)}: ${fault}`),
            ...(isSeen ? [] : [`${keyOf(each)}: observedGeneration must be ${each.generation}`]),
          ]
        })
      }),
  },
  {
    id: 'objects.removed',
    proves: 'instances and status of an object that is deleted go with it',
    needs: 'objects',
    faults: (subject) =>
      running(subject, async (host) => {
        await host.untilInstances()
        host.setObjects()
        await host.until('an answer without instances', () => host.instanceCount() === 0)
        await host.until('the end of each status', () => host.statuses.size === 0)
        return []
      }),
  },
  {
    id: 'outage.keeps',
    proves: 'while what it asks is unavailable, it keeps its last good instances, says that it fails, and recovers',
    needs: 'outage',
    faults: async ({ outage, ...subject }) =>
      running(subject, async (host) => {
        await host.untilInstances()
        const before = JSON.stringify(host.idsByService())
        await outage?.begin()
        try {
          await host.until('word that it fails', () => host.isFailing())
          const during = JSON.stringify(host.idsByService())
          if (during !== before) return [`it had ${before}, and publishes ${during} while its source is unavailable`]
        } finally {
          await outage?.end()
        }
        await host.until('word that it works again', () => !host.isFailing())
        return []
      }),
  },
  {
    id: 'secrets.hidden',
    proves: 'no answer, status, report or line of its log holds one of its secrets',
    faults: (subject) =>
      running(subject, async (host) => {
        await host.untilInstances()
        const told = host.everything()
        return (subject.secrets ?? []).some((secret) => told.includes(secret)) ? ['it tells one of its secrets'] : []
      }),
  },
  {
    id: 'stop.ends',
    proves: `it ends within ${STOP_MS / 1000} s of its signal`,
    faults: async (subject) => {
      const host = await started(subject)
      const end = host.close()
      const late = sleep(STOP_MS, 'late', { ref: false })
      return (await Promise.race([end, late])) === 'late' ? [`stopped did not resolve within ${STOP_MS / 1000} s`] : []
    },
  },
  {
    id: 'stop.silent',
    proves: 'after its end it publishes and reports nothing',
    faults: async (subject) => {
      const host = await started(subject)
      await host.untilInstances()
      await host.close()
      const count = host.toldCount()
      host.setObjects(...(subject.objects ?? []))
      await sleep(SILENCE_MS)
      return host.toldCount() === count ? [] : ['it has told something after stopped resolved']
    },
  },
]

function keyOf({ kind, namespace, name }: CustomResource): string {
  return `${kind}/${namespace}/${name}`
}

async function started({
  plugin,
  settings,
  overrides = {},
  objects = [],
  timeoutMs,
}: ProviderSubject): Promise<RecordingHost> {
  const host = new RecordingHost(timeoutMs)
  host.setObjects(...objects)
  await host.start(plugin, { ...settings, ...overrides })
  return host
}

/** Lets a fresh copy of the provider run while something is checked. */
async function running<T>(subject: ProviderSubject, work: (host: RecordingHost) => Promise<T>): Promise<T> {
  const host = await started(subject)
  try {
    return await work(host)
  } finally {
    await host.close()
  }
}
