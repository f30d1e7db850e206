import type { CustomResource, JsonObject, ProviderContext, ResourceKind } from '@osm-ts/endpoints-api'

/** A service in the settings of a provider: the spec of a custom resource and its namespace. */
export type ConfiguredService = JsonObject & { readonly namespace: string }

/** JSON Schema of services in settings: entries have the fields of `spec`, and a namespace. */
export function servicesSchema({ kind, specSchema }: ResourceKind): JsonObject {
  const { properties, required } = specSchema as {
    readonly properties: JsonObject
    readonly required: readonly string[]
  }
  return {
    type: 'array',
    maxItems: 1000,
    description: `Services in the form of the spec of ${kind}, for meshes that have no objects of this kind.`,
    items: {
      type: 'object',
      required: ['namespace', ...required],
      additionalProperties: false,
      properties: { namespace: { type: 'string', minLength: 1, maxLength: 63 }, ...properties },
    },
  }
}

/** A context whose objects are those of its settings and then its own. What is wrong with the former goes to the log: they have no status. */
export function withServices(
  context: ProviderContext,
  { kind }: ResourceKind,
  services: readonly ConfiguredService[] = [],
): ProviderContext {
  const configured = services.map(({ namespace, ...spec }, index): CustomResource => ({
    kind,
    namespace,
    name: `services[${index}]`,
    labels: {},
    generation: 1,
    spec,
  }))
  const names = new Set(configured.map(({ name }) => name))
  const told = new Map<string, string>()
  return {
    ...context,
    resources: {
      list: () => [...configured, ...context.resources.list()],
      subscribe: (listener) => context.resources.subscribe(listener),
    },
    publish: (answer) => {
      context.publish(answer)
    },
    report: (health) => {
      context.report(health)
    },
    countCall: (operation, outcome) => {
      context.countCall(operation, outcome)
    },
    reportStatus: (ref, status) => {
      if (!names.has(ref.name)) {
        context.reportStatus(ref, status)
        return
      }
      const [condition] = status?.conditions ?? []
      if (condition === undefined || told.get(ref.name) === condition.reason) return
      told.set(ref.name, condition.reason)
      const fields = { service: `settings.${ref.name}`, reason: condition.reason }
      if (condition.status === 'True') context.log.info(condition.message, fields)
      else context.log.warn(condition.message, fields)
    },
  }
}
