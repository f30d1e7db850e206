import { type Injection, jsonPatch, type JsonObject, type OfflineInjector, type PatchOperation } from '@osm-ts/injector'

import { likelyTemplate, podTemplate, titleOf } from './pod-templates.js'

/** Labels and annotations of namespaces, by name. */
export type NamespaceTexts = ReadonlyMap<
  string,
  { readonly labels: Readonly<Record<string, string>>; readonly annotations: Readonly<Record<string, string>> }
>

/** What becomes of an object. */
export interface InjectedObject {
  /** With its sidecar, if it gets one. */
  readonly object: JsonObject
  /** Absent for objects without a pod template. */
  readonly pod?: PodOutcome
  /** Present for objects that are passed over. */
  readonly passedOver?: PassedOver
}

/** An object without a pod template at a known place. */
export interface PassedOver {
  readonly title: string
  /** Where it seems to have a pod template all the same. */
  readonly likelyTemplate: string | undefined
}

/** What becomes of the pods of an object, and why. */
export interface PodOutcome {
  readonly title: string
  readonly outcome: Injection['outcome']
  /** Word for it: the reason of a skip, or the code of a refusal. */
  readonly reason: string
  readonly message: string
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
  /** Changes of the object. */
  readonly operations: readonly PatchOperation[]
}

/** Shows every object that makes pods to the injector. Namespaces that nothing is known of count as those that take part. */
export async function injectObjects(
  objects: readonly JsonObject[],
  options: {
    readonly injector: OfflineInjector
    readonly namespaces: NamespaceTexts
    readonly meshName: string
    readonly defaultNamespace: string
    /** Where templates of other kinds are; undefined for the known places only. */
    readonly templatePath: readonly string[] | undefined
    readonly signal: AbortSignal
  },
): Promise<readonly InjectedObject[]> {
  const { injector, namespaces, meshName, defaultNamespace, templatePath, signal } = options
  const assumed = {
    labels: { 'openservicemesh.io/monitored-by': meshName },
    annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
  }
  return Promise.all(
    objects.map(async (object): Promise<InjectedObject> => {
      const template = podTemplate(object, defaultNamespace, templatePath)
      if (template === undefined)
        return {
          object,
          passedOver: { title: titleOf(object, defaultNamespace), likelyTemplate: likelyTemplate(object) },
        }
      const { namespace: name } = template
      const known = namespaces.get(name)
      const injection = await injector.inject(template.pod, { name, ...(known ?? assumed) }, signal)
      const { title } = template
      const nothing = { title, notes: [], warnings: [], operations: [] }
      switch (injection.outcome) {
        case 'skipped':
          return {
            object,
            pod: { ...nothing, outcome: 'skipped', reason: injection.reason, message: injection.message },
          }
        case 'refused': {
          const { code, message } = injection.error
          return { object, pod: { ...nothing, outcome: 'refused', reason: code, message } }
        }
        case 'injected': {
          const next = template.templateOf(injection.pod)
          const operations = jsonPatch(template.template, next).map((operation) => ({
            ...operation,
            path: `${template.at}${operation.path}`,
          }))
          return {
            object: template.withTemplate(next),
            pod: {
              title,
              outcome: 'injected',
              reason: injection.sidecarClass,
              message:
                known === undefined
                  ? `namespace ${name} is not in the config and is treated as part of the mesh with injection enabled`
                  : injection.message,
              notes: injection.notes.slice(1),
              warnings: injection.warnings,
              operations,
            },
          }
        }
      }
    }),
  )
}
