import { Ajv, type ValidateFunction } from 'ajv'
import { Type } from '@sinclair/typebox'
import {
  type InstanceProbeBinding,
  isSidecarPort,
  kubernetesKeywords,
  ProbeBindingSchema,
  probePorts,
} from '@osm-ts/core'

/**
 * Annotation in which the injector leaves the probes that it rewrote: a JSON list of {@link InstanceProbeBinding}. The
 * pod itself holds the rewritten ones only, so that without it no one would know what to ask of the workload.
 */
export const probeBindingsAnnotation = 'openservicemesh.io/probe-bindings'

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

/**
 * Reads the annotation. Users can write annotations too, so that nothing in it is believed before it was checked. What it opens is reached without a
 * certificate: each binding answers one path, and none aims at the sidecar itself.
 */
export class ProbeBindingsReader {
  /** Compiled when first needed: many meshes have no such pod. */
  #validate: ValidateFunction | undefined

  /** @param ownPorts - ports that the sidecar of the pod declares, beside those that all sidecars have */
  read(text: string, ownPorts: ReadonlySet<number> = NO_PORTS): ProbeBindingsReading {
    if (text.length > MAX_LENGTH) return refused(`is longer than ${MAX_LENGTH} characters`)
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return refused('is not JSON')
    }
    const validate = (this.#validate ??= compileSchema())
    if (!validate(value)) {
      const [error] = validate.errors ?? []
      const { instancePath = '', message = '' } = error ?? {}
      return refused(`is not a list of probe bindings: ${labelAt(value, instancePath)}${instancePath} ${message}`)
    }
    // The schema was just checked, and it is what the type is made from.
    const bindings = value as readonly InstanceProbeBinding[]
    const taken = new Set<string>()
    for (const binding of bindings) {
      const { port, path, target } = binding
      const label = labelOf(binding)
      if (isSidecarPort(target.port) || ownPorts.has(target.port))
        return refused(`aims the ${label} at port ${target.port} (target.port), which is one of the sidecar itself`)
      if (port < probePorts.first || port > probePorts.last)
        return refused(
          `names port ${port} for the ${label}; probes are answered on ${probePorts.first} to ${probePorts.last}`,
        )
      if (taken.has(`${port} ${path}`))
        return refused(`names port ${port} and path ${JSON.stringify(path)} twice, the second time for the ${label}`)
      taken.add(`${port} ${path}`)
    }
    return { bindings }
  }
}

const NO_PORTS: ReadonlySet<number> = new Set()

/** Names of containers may be long, and what did not pass the schema anything. */
function labelOf({ probe, container }: { readonly probe: unknown; readonly container: unknown }): string {
  return `${String(probe).slice(0, 16)} probe of container ${String(container).slice(0, 64)}`
}

/** Which binding of a value that is not a list of them a JSON pointer leads into, for messages. */
function labelAt(value: unknown, pointer: string): string {
  const [, index] = /^\/([0-9]+)\//.exec(pointer) ?? []
  const found: unknown = Array.isArray(value) && index !== undefined ? value[Number(index)] : undefined
  return typeof found === 'object' && found !== null && 'probe' in found && 'container' in found
    ? `${labelOf(found)}, `
    : ''
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
