import { describe, expect, it } from '@jest/globals'
import { customResourceDefinitions } from '@osm-ts/kubernetes'
import { cases, valuesFile } from './chart/cases.js'
import { containerOf, find, podOf, title, type Manifest, type Rule } from './chart/manifest.js'
import { render, template } from './chart/render.js'

/** Each role of each set of values, with one rule. */
interface PlacedRule {
  readonly where: string
  readonly role: Manifest
  readonly rule: Rule
}

const manifests = new Map(cases.map((name) => [name, render(valuesFile(name))]))
const all = cases.flatMap((name) => (manifests.get(name) ?? []).map((manifest) => ({ name, manifest })))
const rules: readonly PlacedRule[] = all.flatMap(({ name, manifest: role }) =>
  (role.rules ?? []).map((rule) => ({ where: `${name}: ${title(role)}`, role, rule })),
)
/** Secrets of the control plane's namespace that the leading controller issues certificates of ingress gateways into. */
const gatewayCertificates = ['osm-contour-envoy-client-cert', 'osm-ingress-client-cert', 'osm-nginx-client-cert']
/** Roles for Secrets that the leading controller binds in namespaces of the mesh, with the verbs of each. */
const secretRoles: Readonly<Record<string, readonly string[]>> = {
  'bootstrap-secrets': ['create', 'patch', 'update'],
  'certificate-secrets': ['get', 'create', 'update'],
  'egress-secrets': ['list', 'watch'],
  'owned-secrets': ['get', 'list', 'patch', 'delete'],
}
const meshOf = (name: string): string => (name === 'another-mesh' ? 'second' : 'osm')
const touches = (rule: Rule, resource: string): boolean =>
  rule.resources.some((name) => name.split('/')[0] === resource)

describe('the rights of the chart', () => {
  it('are given by each set of values', () => {
    expect(rules.length).toBeGreaterThan(40 * cases.length)
  })

  it('hold no wildcard', () => {
    const wild = rules.filter(({ rule }) =>
      [...rule.apiGroups, ...rule.resources, ...rule.verbs].some((word) => word.includes('*')),
    )
    expect(wild.map(({ where }) => where)).toEqual([])
  })

  it('let no one raise his own', () => {
    const raising = rules.flatMap(({ where, rule }) => {
      const verbs = rule.verbs.filter((verb) => ['escalate', 'impersonate', 'bind', 'sign', 'approve'].includes(verb))
      return verbs.map((verb) => `${where}: ${verb} ${rule.resources.join()} ${rule.resourceNames?.join() ?? 'any'}`)
    })
    const bindable = (mesh: string): string =>
      ['bootstrap', 'owned', 'egress', 'certificate'].map((task) => `osm-${mesh}-${task}-secrets`).join()
    const expected = cases.map((name) => {
      const mesh = meshOf(name)
      return `${name}: ClusterRole osm-${mesh}-controller: bind clusterroles ${bindable(mesh)}`
    })
    expect(raising.sort()).toEqual(expected.sort())
  })

  it('touch Secrets outside the control plane by roles that the chart binds nowhere, each with the verbs of one task', () => {
    const roles = rules.filter(({ role, rule }) => role.kind === 'ClusterRole' && touches(rule, 'secrets'))
    const found = roles.map(({ role, rule }) => [role.metadata.name, rule.verbs])
    const expected = cases.flatMap((name) =>
      Object.entries(secretRoles).map(([role, verbs]) => [`osm-${meshOf(name)}-${role}`, verbs]),
    )
    expect(found.map((it) => JSON.stringify(it)).sort()).toEqual(expected.map((it) => JSON.stringify(it)).sort())
    const bound = all.filter(({ manifest: { roleRef } }) =>
      Object.keys(secretRoles).some((role) => roleRef?.name.endsWith(role) === true),
    )
    expect(bound).toEqual([])
  })

  it('are narrowed by admission policies where the cluster serves them', () => {
    const policies = (version: string): readonly string[] =>
      render({}, '--kube-version', version)
        .filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'))
        .map(title)
        .sort()
    const names = ['controller-rolebindings', 'controller-secrets', 'injector-secrets']
    expect(policies('1.30.0')).toEqual(
      ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'].flatMap((kind) =>
        names.map((name) => `${kind} osm-osm-${name}`),
      ),
    )
    expect(policies('1.29.9')).toEqual([])
  })

  it('let programs read no Secret of the control plane but the roots that they need', () => {
    const reading = rules.filter(
      ({ role, rule }) => role.kind === 'Role' && touches(rule, 'secrets') && rule.verbs.join() !== 'create',
    )
    for (const { where, rule } of reading) expect([where, rule.resourceNames]).toEqual([where, expect.any(Array)])
    const names = (role: string) =>
      find(manifests.get('default') ?? [], 'Role', role).rules?.find(
        (rule) => touches(rule, 'secrets') && rule.verbs.includes('get'),
      )?.resourceNames
    expect(names('osm-injector')).toEqual(['osm-ca-bundle-control-plane'])
    expect(names('osm-controller')).toEqual(['osm-ca-bundle', 'osm-ca-bundle-control-plane'])
    expect(names('osm-preinstall')).toBeUndefined()
    expect(names('osm-cleanup')).toBeUndefined()
  })

  it('let programs change no Secret of the control plane but certificates of ingress gateways', () => {
    const writing = rules.filter(
      ({ role, rule }) =>
        role.kind === 'Role' &&
        touches(rule, 'secrets') &&
        rule.verbs.some((verb) => ['update', 'patch'].includes(verb)),
    )
    expect(writing.map(({ role, rule }) => [role.metadata.name, rule.resourceNames])).toEqual(
      cases.map(() => ['osm-controller', gatewayCertificates]),
    )
  })

  it('let no one but bootstrap and its hooks write what the whole cluster obeys', () => {
    const clusterWide = [
      'customresourcedefinitions',
      'mutatingwebhookconfigurations',
      'validatingwebhookconfigurations',
    ]
    const writing = rules.filter(
      ({ rule }) =>
        clusterWide.some((resource) => touches(rule, resource)) &&
        rule.verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)),
    )
    const accounts = new Set(writing.map(({ role }) => role.metadata.name.replace(/^osm-(osm|second)-/, '')))
    expect([...accounts].sort()).toEqual(['bootstrap', 'cleanup'])
    // Whatever is changed or deleted is named.
    const unnamed = writing.filter(({ rule }) => rule.resourceNames === undefined)
    expect(
      unnamed.flatMap(({ rule }) => rule.verbs.filter((verb) => !['create', 'list', 'watch'].includes(verb))),
    ).toEqual([])
  })

  it('name the definitions that bootstrap brings', () => {
    const { rules: own = [] } = find(manifests.get('default') ?? [], 'ClusterRole', 'osm-osm-bootstrap')
    const named = own.find((rule) => touches(rule, 'customresourcedefinitions') && rule.resourceNames !== undefined)
    expect(named?.resourceNames).toEqual(
      customResourceDefinitions()
        .map(({ metadata }) => metadata.name)
        .sort(),
    )
  })

  it.each(cases)('are bound to the accounts that run the programs, with values %s', (name) => {
    const rendered = manifests.get(name) ?? []
    const accounts = rendered.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata)
    const known = new Set(accounts.map((metadata) => `${metadata.namespace ?? ''}/${metadata.name}`))
    for (const { kind, roleRef, subjects = [] } of rendered) {
      if (roleRef === undefined) continue
      expect(rendered.some((role) => role.kind === roleRef.kind && role.metadata.name === roleRef.name)).toBe(true)
      expect(kind).toBe(`${roleRef.kind}Binding`)
      for (const subject of subjects) expect(known).toContain(`${subject.namespace}/${subject.name}`)
    }
    const used = rendered.flatMap((manifest) => podOf(manifest)?.serviceAccountName ?? [])
    expect(new Set(used)).toEqual(new Set(accounts.map((metadata) => metadata.name)))
  })
})

describe('the pods of the chart', () => {
  const logForwarder = 'fluentbit-logger'
  const pods = all.flatMap(({ name, manifest }) => {
    const pod = podOf(manifest)
    return pod === undefined ? [] : [{ where: `${name}: ${title(manifest)}`, manifest, pod }]
  })

  it.each(pods)('$where runs without rights over its node', ({ pod }) => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
    for (const field of ['hostNetwork', 'hostPID', 'hostIPC']) expect(pod).not.toHaveProperty(field)
    for (const { name, securityContext, resources } of pod.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
        // Logs of pods belong to root on their node.
        ...(name === logForwarder ? { runAsNonRoot: false, runAsUser: 0 } : {}),
      })
      expect(resources).toMatchObject({
        limits: { memory: expect.anything() },
        requests: { memory: expect.anything() },
      })
    }
  })

  it.each(pods.filter(({ pod }) => pod.serviceAccountName === undefined))('$where has no token', ({ pod }) => {
    expect(pod.automountServiceAccountToken).toBe(false)
  })

  it.each(pods.filter(({ manifest }) => manifest.kind === 'Deployment'))('$where is probed', ({ pod }) => {
    const probed = pod.containers.filter(({ name }) => name !== logForwarder)
    expect(probed).not.toHaveLength(0)
    for (const { readinessProbe } of probed) expect(readinessProbe).toBeDefined()
  })

  it('give the controller’s token to no other container', () => {
    const controller = podOf(find(manifests.get('add-ons') ?? [], 'Deployment', 'osm-controller'))
    const others = controller?.containers.filter(({ name }) => name !== 'osm-controller') ?? []
    expect(others.map(({ name }) => name)).toEqual([logForwarder])
    for (const { volumeMounts } of others)
      expect(volumeMounts).toContainEqual(
        expect.objectContaining({ name: 'no-token', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' }),
      )
  })

  it.each(pods.filter(({ pod }) => pod.containers.some(({ name }) => name.startsWith('osm-'))))(
    '$where has no secret in its arguments or environment',
    ({ pod }) => {
      const text = JSON.stringify(pod.containers.map(({ args, env }) => [args, env]))
      expect(text).not.toMatch(/token|password|authorization/i)
    },
  )
})

describe('the network policies of the chart', () => {
  it.each(['osm-controller', 'osm-injector', 'osm-bootstrap'])('open the ports of %s that others use', (name) => {
    const rendered = manifests.get('default') ?? []
    const policy = find(rendered, 'NetworkPolicy', name)
    const [{ ports }] = policy.spec?.ingress as [{ ports: readonly { port: number }[] }]
    const services = rendered.filter(
      ({ kind, spec }) => kind === 'Service' && (spec?.selector as { app?: string } | undefined)?.app === name,
    )
    const served = services.flatMap(({ spec }) => (spec?.ports as { port: number }[]).map(({ port }) => port))
    // Debug pages answer on loopback only.
    expect(ports.map(({ port }) => port).sort()).toEqual(served.filter((port) => port !== 9092).sort())
  })

  it('let controllers alone reach the port by which they report to each other', () => {
    const { spec } = find(manifests.get('default') ?? [], 'NetworkPolicy', 'osm-controller')
    const rules = spec?.ingress as readonly { readonly from?: unknown; readonly ports: readonly { port: number }[] }[]
    expect(rules.filter(({ ports }) => ports.some(({ port }) => port === 9094))).toEqual([
      { from: [{ podSelector: { matchLabels: { app: 'osm-controller' } } }], ports: [{ protocol: 'TCP', port: 9094 }] },
    ])
  })

  it('are left out when asked to', () => {
    expect((manifests.get('another-mesh') ?? []).filter(({ kind }) => kind === 'NetworkPolicy')).toEqual([])
  })
})

describe('the repo of class pipy', () => {
  const rendered = manifests.get('class-pipy') ?? []

  it('is osm-controller alone: nothing else listens at its port', () => {
    const listening = rendered.filter(({ kind, spec }) => kind === 'Service' && JSON.stringify(spec).includes('6060'))
    expect(listening.map(title)).toEqual(['Service osm-controller'])
    expect(listening[0]?.spec?.selector).toMatchObject({ app: 'osm-controller' })
    const images = rendered.flatMap((manifest) =>
      (podOf(manifest)?.containers ?? []).map(({ image }) => image).filter((image) => image.includes('pipy')),
    )
    expect(images).toEqual([])
    expect(podOf(find(rendered, 'Deployment', 'osm-controller'))?.containers).toHaveLength(1)
  })

  it('is asked by nothing over plain HTTP', () => {
    const text = JSON.stringify(rendered)
    expect(text).toContain('pipy-admin-port')
    expect(text).not.toMatch(/http:[^"]*(:6060|\/repo)/)
    const { livenessProbe, readinessProbe } = containerOf(find(rendered, 'Deployment', 'osm-controller'))
    expect(JSON.stringify([livenessProbe, readinessProbe])).not.toMatch(/6060|pipy-admin-port/)
  })

  it('has sidecars of 1.5 only', () => {
    const old = { osm: { sidecarClass: 'pipy', sidecarImage: 'flomesh/pipy:0.90.3-38' } }
    expect(template(old)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('osm.sidecarImage is "flomesh/pipy:0.90.3-38": class pipy needs version 1.5'),
    })
  })
})
