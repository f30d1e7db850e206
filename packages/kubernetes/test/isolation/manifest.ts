import { Deduplicator } from '../../src/source/deduplicator.js'
import { PodReader } from '../../src/source/pod.js'
import { ProbeBindingsReader } from '../../src/source/probe-annotation.js'
import { type MeshObject, ObjectDecoder } from '@osm-ts/core'

/** A Kubernetes object as somebody writes it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: unknown
  readonly [member: string]: unknown
}

/** `Kind/namespace/name`. */
function manifestKey({ kind, metadata }: Manifest): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name}`
}

/** The last manifest of each name. */
export function withoutDoubles(manifests: readonly Manifest[]): readonly Manifest[] {
  return [...new Map(manifests.map((manifest) => [manifestKey(manifest), manifest])).values()]
}

/** Reads manifests as the sources of the control plane do: pods as a cluster has them, the rest as users write it. */
export class ManifestReader {
  readonly #decoder = new ObjectDecoder('user')
  readonly #pods = new PodReader(new Deduplicator(), new ProbeBindingsReader())

  /** What of it can be used. */
  read(manifests: readonly Manifest[]): readonly MeshObject[] {
    return manifests.flatMap((manifest) => this.#object(manifest) ?? [])
  }

  #object(manifest: Manifest): MeshObject | undefined {
    if (manifest.kind === 'Pod') return this.#pods.read(manifest)?.instance
    const origin = { kind: 'file', file: 'mesh.yaml', line: 1, column: 1 } as const
    // As it comes out of a parser.
    const written: unknown = JSON.parse(JSON.stringify(manifest))
    return this.#decoder.decode(written, {
      origin,
      defaultNamespace: 'default',
      locate: () => origin,
      sourceText: () => undefined,
    }).object
  }
}
