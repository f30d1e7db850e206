import type { KubernetesManifest } from '@osm-ts/kubernetes'

interface OldKind {
  readonly group: string
  readonly kind: string
  readonly plural: string
  readonly shortName: string
  /** Served versions; the first is stored. */
  readonly versions: readonly [string, ...string[]]
}

/** CRDs of Open Service Mesh 1.2, as far as tests of upgrades store objects of them. */
const oldKinds: readonly OldKind[] = [
  {
    group: 'config.openservicemesh.io',
    kind: 'MeshConfig',
    plural: 'meshconfigs',
    shortName: 'meshconfig',
    versions: ['v1alpha2', 'v1alpha1'],
  },
  {
    group: 'policy.openservicemesh.io',
    kind: 'IngressBackend',
    plural: 'ingressbackends',
    shortName: 'ingressbackend',
    versions: ['v1alpha1'],
  },
  {
    group: 'specs.smi-spec.io',
    kind: 'HTTPRouteGroup',
    plural: 'httproutegroups',
    shortName: 'htr',
    versions: ['v1alpha4'],
  },
  {
    group: 'access.smi-spec.io',
    kind: 'TrafficTarget',
    plural: 'traffictargets',
    shortName: 'tt',
    versions: ['v1alpha3'],
  },
  // The newer version came with osm-edge.
  {
    group: 'split.smi-spec.io',
    kind: 'TrafficSplit',
    plural: 'trafficsplits',
    shortName: 'ts',
    versions: ['v1alpha2'],
  },
]

/** The CRDs as an older bootstrap left them: anything may be in an object. */
export function previousCrds(): readonly KubernetesManifest[] {
  return oldKinds.map(({ group, kind, plural, shortName, versions }) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}`, labels: { 'app.kubernetes.io/name': 'openservicemesh.io' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List`, shortNames: [shortName] },
      conversion: { strategy: 'None' },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      })),
    },
  }))
}
