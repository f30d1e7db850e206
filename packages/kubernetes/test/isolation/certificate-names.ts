import { SnapshotBuilder } from '@osm-ts/core'
import { specRules } from './observe.js'
import { ManifestReader } from './manifest.js'
import { accounts, GATEWAY_NAME, services } from './names.js'
import type { Scenario } from './scenario.js'

const DOMAIN = 'cluster.local'

/** Looks for names of others in the certificates that AccessCerts get. */
export class CertificateNames {
  readonly #reader = new ManifestReader()
  readonly #rules = specRules()

  /** What the attacker gets certificates for although others are known by it, in words. */
  faults({ attacker, mesh, attack }: Scenario): readonly string[] {
    const others = this.#reader.read(mesh)
    const builder = new SnapshotBuilder(['test'])
    builder.apply([{ source: 'test', upserts: [...others, ...this.#reader.read(attack)], deletes: [] }])
    const { snapshot } = builder
    const namespaces = new Set(others.map(({ metadata }) => metadata.namespace).filter((name) => name !== ''))
    const trusted = others.flatMap((object) =>
      object.kind === 'IngressBackend' || object.kind === 'AccessControl'
        ? object.spec.sources.flatMap(({ kind, name }) => (kind === 'AuthenticatedPrincipal' ? [name] : []))
        : [],
    )
    const taken = new Set([
      GATEWAY_NAME,
      ...trusted,
      ...[...namespaces].flatMap((namespace) => [
        ...accounts.map((name) => `${name}.${namespace}.${DOMAIN}`),
        ...services.map((name) => `${name}.${namespace}.svc.${DOMAIN}`),
      ]),
    ])
    return snapshot
      .byNamespace('AccessCert', attacker)
      .filter((cert) => this.#rules.check(cert, snapshot).every(({ severity }) => severity !== 'error'))
      .flatMap(({ metadata, spec }) =>
        spec.subjectAltNames
          .filter((name) => taken.has(name))
          .map((name) => `AccessCert ${attacker}/${metadata.name} gets a certificate for ${name}`),
      )
  }
}
