import { Ajv, type ValidateFunction } from 'ajv'
import { Type } from '@sinclair/typebox'

import { kubernetesKeywords } from '../../spec/schema/common.js'
import { ProbeBindingSchema, type InstanceProbeBinding } from '../../spec/schema/workload.js'

/**
 * Annotation in which the injector leaves the probes that it rewrote: a JSON list of {@link InstanceProbeBinding}. The
 * pod itself holds the rewritten ones only, so that without it nobody would know what to ask of the workload.
 */
export const probeBindingsAnnotation = 'openservicemesh.io/probe-bindings'

/** Ports on which a sidecar may answer probes. Others belong to its listeners, or to the workload. */
export const probePorts = Object.freeze({ first: 15901, last: 15999 })

/** What an annotation holds. */
export interface ProbeBindingsReading {
  readonly bindings: readonly InstanceProbeBinding[]
  /** Why the annotation is not read, if it is not. */
  readonly fault?: string
}

/** The text of the annotation. */
export function formatProbeBindings(bindings: readonly InstanceProbeBinding[]): string {
  return JSON.stringify(bindings)
}

/** Reads the annotation. Users can write annotations too, so that nothing in it is believed before it was checked. */
export class ProbeBindingsReader {
  /** Compiled when first needed: many meshes have no such pod. */
  #validate: ValidateFunction | undefined

  read(text: string): ProbeBindingsReading {
    if (text.length > MAX_LENGTH) return refused(`is longer than ${MAX_LENGTH} characters`)
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return refused('is no JSON')
    }
    const validate = (this.#validate ??= compileSchema())
    if (!validate(value)) {
      const [error] = validate.errors ?? []
      return refused(`is no list of probe bindings: ${error?.instancePath ?? ''} ${error?.message ?? ''}`)
    }
    // The schema was just checked, and it is what the type is made from.
    const bindings = value as readonly InstanceProbeBinding[]
    const taken = new Set<string>()
    const tunnels = new Map<number, number>()
    for (const { port, path } of bindings) {
      if (port < probePorts.first || port > probePorts.last)
        return refused(`names port ${port}; probes are answered on ${probePorts.first} to ${probePorts.last}`)
      if (taken.has(`${port} ${path}`)) return refused(`names port ${port} and path ${JSON.stringify(path)} twice`)
      taken.add(`${port} ${path}`)
      tunnels.set(port, (tunnels.get(port) ?? 0) + (path === '' ? 1 : 0))
    }
    for (const [port, count] of tunnels)
      if (count > 0 && bindings.filter((binding) => binding.port === port).length > 1)
        return refused(`passes connections on port ${port} on and answers requests there too`)
    return { bindings }
  }
}

/** Enough for any pod; a bound, because the text is a user's. */
const MAX_BINDINGS = 300
const MAX_LENGTH = 256 * 1024

/** How all annotations are checked. The schema is ours, and a test holds it against the schema of schemas. */
export const probeBindingsSchema = Type.Array(ProbeBindingSchema, { maxItems: MAX_BINDINGS })

function compileSchema(): ValidateFunction {
  const ajv = new Ajv({
    allErrors: false,
    useDefaults: true,
    strict: true,
    removeAdditional: false,
    validateSchema: false,
  })
  for (const keyword of kubernetesKeywords) ajv.addKeyword(keyword)
  return ajv.compile(probeBindingsSchema)
}

function refused(fault: string): ProbeBindingsReading {
  return { bindings: [], fault }
}
