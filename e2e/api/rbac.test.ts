import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connectKubernetes, resourceTypes } from '@osm-ts/core'
import { eventually } from '../dataplane/support/wait.js'
import { sharedApiServer, type ApiServer, type AuditEvent } from './harness/index.js'
import { ClusterStandIn, InstalledMesh, clientPod, prepareImages, type Pod } from './stand-in/index.js'

const signal = AbortSignal.timeout(300_000)
const monitored = 'rbac-monitored'
const unmonitored = 'rbac-unmonitored'
const unbound = 'rbac-unbound'
const programs = ['osm-controller', 'osm-injector', 'osm-bootstrap'] as const
const secretVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const

describe('what the programs may do', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  /** Whether the API server would let the account of a program do something with Secrets; in no namespace: in all of them. */
  async function maySecrets(program: string, verb: string, namespace?: string): Promise<boolean> {
    const kubeconfig = await server.kubeconfigFor({ namespace: mesh.namespace, name: program })
    const api = await connectKubernetes({ kubeconfig, userAgent: 'rbac-test' })
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb, resource: 'secrets', ...(namespace !== undefined && { namespace }) } },
    }
    const answer = await api.post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review, signal)
    return (answer as { readonly status: { readonly allowed: boolean } }).status.allowed
  }

  async function allowedVerbs(program: string, namespace?: string): Promise<readonly string[]> {
    const answers = await Promise.all(secretVerbs.map((verb) => maySecrets(program, verb, namespace)))
    return secretVerbs.filter((_, index) => answers[index])
  }

  const createPod = async (namespace: string): Promise<Pod> =>
    (await server.api.create(resourceTypes.Pod, clientPod({ namespace, name: 'client' }), { signal })) as unknown as Pod

  /** What the programs asked of the API server. */
  const asked = (select: (event: AuditEvent) => boolean): Promise<readonly AuditEvent[]> => {
    const accounts = new Set(programs.map((name) => `system:serviceaccount:${mesh.namespace}:${name}`))
    return server.auditEvents(
      (event) => event.userAgent !== 'rbac-test' && accounts.has(event.user.username) && select(event),
    )
  }

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({ server, cluster, name: 'rbac' })
    await cluster.createNamespace(unmonitored)
    await mesh.createMonitoredNamespace(monitored)
  }, 180_000)

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  }, 90_000)

  it.each(programs)('%s may do nothing to the Secrets of the cluster', async (program) => {
    await expect(allowedVerbs(program)).resolves.toEqual([])
    await expect(allowedVerbs(program, unmonitored)).resolves.toEqual([])
    await expect(allowedVerbs(program, 'kube-system')).resolves.toEqual([])
  })

  it('only injector and controller may write Secrets into namespaces, and only into monitored ones', async () => {
    await expect(allowedVerbs('osm-injector', monitored)).resolves.toEqual(secretVerbs)
    await expect(allowedVerbs('osm-controller', monitored)).resolves.toEqual(secretVerbs)
    await expect(allowedVerbs('osm-bootstrap', monitored)).resolves.toEqual([])
    await expect(mesh.bootstrapSecretsBinding(unmonitored)).resolves.toBeUndefined()
  })

  it('until a namespace has been bound, injection fails with that reason', async () => {
    await mesh.scale('osm-controller', 0)
    const labels = { 'openservicemesh.io/monitored-by': mesh.name }
    await cluster.createNamespace(unbound, {
      labels,
      annotations: { 'openservicemesh.io/sidecar-injection': 'enabled' },
    })
    const refusal = await createPod(unbound).catch((error: unknown) => error)
    expect(String(refusal)).toMatch(/osm-inject\.k8s\.io.*RoleBinding osm-rbac-bootstrap-secrets/s)

    await mesh.scale('osm-controller', 1)
    await mesh.bound(unbound)
    const pod = await eventually(
      () => createPod(unbound).catch((error: unknown) => String(error)),
      (answer) => typeof answer !== 'string',
    )
    expect(pod).toMatchObject({ metadata: { labels: { 'osm-proxy-uuid': expect.any(String) } } })
  })

  it('the binding goes when the namespace leaves the mesh', async () => {
    const patch = { metadata: { labels: { 'openservicemesh.io/monitored-by': null } } }
    const name = { namespace: '', name: unbound }
    await server.api.mergePatch(resourceTypes.Namespace, name, patch, { signal })
    await eventually(
      () => mesh.bootstrapSecretsBinding(unbound),
      (binding) => binding === undefined,
    )
    await eventually(
      () => allowedVerbs('osm-injector', unbound),
      (verbs) => verbs.length === 0,
    )
  })

  it('they have asked for nothing that they may not have, and for no Secrets across namespaces', async () => {
    const outside = await asked(
      ({ objectRef }) =>
        objectRef?.resource === 'secrets' &&
        ![mesh.namespace, monitored, unbound].includes(objectRef.namespace ?? 'the whole cluster'),
    )
    expect(outside).toEqual([])
    const refused = await asked(({ responseStatus }) => responseStatus?.code === 403)
    // The one refusal that is a test of its own: the injector finds out that a namespace has not been bound.
    expect(
      refused.filter(({ objectRef }) => !(objectRef?.resource === 'secrets' && objectRef.namespace === unbound)),
    ).toEqual([])
    expect((await asked(() => true)).length).toBeGreaterThan(0)
  })
})
