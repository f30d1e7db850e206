import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { connectKubernetes, type KubernetesApi, resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { sharedApiServer, type ApiServer, type AuditEvent } from './harness/index.js'
import { ClusterStandIn, InstalledMesh, clientPod, prepareImages, type Pod as PodObject } from './stand-in/index.js'
import { askSecurely, type SecureRequest } from './support/ask-securely.js'

const signal = AbortSignal.timeout(300_000)
const monitored = 'rbac-monitored'
const unmonitored = 'rbac-unmonitored'
const unbound = 'rbac-unbound'
const asking = 'rbac-asking'
const programs = ['osm-controller', 'osm-injector', 'osm-bootstrap', 'osm-dashboard'] as const
const secretVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] as const
const injectorVerbs = ['create', 'update', 'patch']
const controllerVerbs = ['get', 'list', 'patch', 'delete']
const { AccessCert, Egress, Namespace, Pod, RoleBinding, Secret, ValidatingWebhookConfiguration } = resourceTypes
const apiVersion = 'policy.openservicemesh.io/v1alpha1'

describe('what the programs may do', () => {
  let server: ApiServer
  let cluster: ClusterStandIn
  let mesh: InstalledMesh

  /** The API server, as the account of a program. */
  const asProgram = async (program: string): Promise<KubernetesApi> =>
    connectKubernetes({
      kubeconfig: await server.kubeconfigFor({ namespace: mesh.namespace, name: program }),
      userAgent: 'rbac-test',
    })

  /** Whether the API server would let the account of a program do something with Secrets; in no namespace: in all of them. */
  async function maySecrets(program: string, verb: string, namespace?: string): Promise<boolean> {
    const api = await asProgram(program)
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

  const createPod = async (namespace: string): Promise<PodObject> =>
    (await server.api.create(Pod, clientPod({ namespace, name: 'client' }), { signal })) as unknown as PodObject

  /** What the programs asked of the API server. */
  const asked = (select: (event: AuditEvent) => boolean): Promise<readonly AuditEvent[]> => {
    const accounts = new Set(programs.map((name) => `system:serviceaccount:${mesh.namespace}:${name}`))
    return server.auditEvents(
      (event) => event.userAgent !== 'rbac-test' && accounts.has(event.user.username) && select(event),
    )
  }

  /** Verbs that a program has used on Secrets of a namespace, successfully. */
  async function usedVerbs(program: string, namespace: string): Promise<readonly string[]> {
    const account = `system:serviceaccount:${mesh.namespace}:${program}`
    const events = await asked(
      ({ user, objectRef, responseStatus }) =>
        user.username === account &&
        objectRef?.resource === 'secrets' &&
        objectRef.namespace === namespace &&
        (responseStatus?.code ?? 0) < 400,
    )
    return secretVerbs.filter((verb) => events.some((event) => event.verb === verb))
  }

  const secretNames = async (namespace: string): Promise<readonly string[]> =>
    (await server.api.list(Secret, { namespace }, signal)).items.map(({ metadata }) => metadata.name)

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    mesh = await InstalledMesh.install({
      server,
      cluster,
      name: 'rbac',
      values: {
        dashboard: { enable: true },
        featureFlags: { enableAccessCertPolicy: true, enableEgressPolicy: true },
        machines: { enable: true, serviceType: 'ClusterIP' },
      },
    })
    await cluster.createNamespace(unmonitored)
    await mesh.createMonitoredNamespace(monitored)
  })

  afterAll(async () => {
    await mesh.uninstall()
    await cluster.stop()
  })

  it.each(programs)('%s may do nothing to the Secrets of the cluster', async (program) => {
    await expect(allowedVerbs(program)).resolves.toEqual([])
    await expect(allowedVerbs(program, unmonitored)).resolves.toEqual([])
    await expect(allowedVerbs(program, 'kube-system')).resolves.toEqual([])
  })

  it('only the controller and the page may have tokens reviewed', async () => {
    const review = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: 'a.b.c', audiences: ['osm-machines.rbac'] },
    }
    const reviewed = async (program: string): Promise<unknown> => {
      const api = await asProgram(program)
      return api.post('/apis/authentication.k8s.io/v1/tokenreviews', review, signal)
    }
    for (const program of ['osm-controller', 'osm-dashboard'])
      await expect(reviewed(program)).resolves.not.toMatchObject({ status: { authenticated: true } })
    await expect(reviewed('osm-injector')).rejects.toMatchObject({ code: 'OSM_KUBERNETES_FORBIDDEN' })
    await expect(reviewed('osm-bootstrap')).rejects.toMatchObject({ code: 'OSM_KUBERNETES_FORBIDDEN' })
  })

  it('only injector and controller hold verbs on Secrets of namespaces, and only of monitored ones', async () => {
    await eventually(
      () => allowedVerbs('osm-controller', monitored),
      (verbs) => verbs.length > 0,
    )
    await expect(allowedVerbs('osm-injector', monitored)).resolves.toEqual(injectorVerbs)
    await expect(allowedVerbs('osm-controller', monitored)).resolves.toEqual(controllerVerbs)
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
    await server.api.mergePatch(Namespace, name, patch, { signal })
    await eventually(
      () => mesh.bootstrapSecretsBinding(unbound),
      (binding) => binding === undefined,
    )
    await eventually(
      () => allowedVerbs('osm-injector', unbound),
      (verbs) => verbs.length === 0,
    )
  })

  it('they use every verb on Secrets that they hold', async () => {
    const { metadata } = await createPod(monitored)
    await eventually(
      () => secretNames(monitored),
      (names) => names.length === 1,
    )
    await eventually(
      () => usedVerbs('osm-controller', monitored),
      (verbs) => verbs.includes('patch'),
      { what: 'the owner of the Secret of a sidecar' },
    )
    await server.api.delete(Pod, { namespace: monitored, name: metadata.name }, { signal })
    await eventually(
      () => secretNames(monitored),
      (names) => names.length === 0,
      { what: 'the end of the Secret of a sidecar' },
    )
    await expect(usedVerbs('osm-injector', monitored)).resolves.toEqual(injectorVerbs)
    await expect(usedVerbs('osm-controller', monitored)).resolves.toEqual(controllerVerbs)
  })

  it('the controller holds further verbs only while an object requests a Secret, and uses them', async () => {
    await mesh.createMonitoredNamespace(asking)
    await eventually(
      () => allowedVerbs('osm-controller', asking),
      (verbs) => verbs.length > 0,
    )
    await expect(allowedVerbs('osm-controller', asking)).resolves.toEqual(controllerVerbs)
    const cert = {
      sn: 1,
      expiration: '2030-01-01T00:00:00Z',
      subjectAltNames: ['pay.example.com'],
      secret: { name: 'pay', namespace: asking },
    }
    const egress = {
      apiVersion,
      kind: 'Egress',
      metadata: { name: 'pay', namespace: asking },
      spec: {
        sources: [{ kind: 'ServiceAccount', name: 'default', namespace: asking, mtls: { issuer: 'other', cert } }],
        hosts: ['pay.example.com'],
        ports: [{ number: 443, protocol: 'https' }],
      },
    }
    const accessCert = (name: string) => ({
      apiVersion,
      kind: 'AccessCert',
      metadata: { name: 'caller', namespace: asking },
      spec: { subjectAltNames: [name], secret: { name: 'caller', namespace: asking } },
    })
    await server.api.create(Egress, egress, { signal })
    await eventually(
      () => usedVerbs('osm-controller', asking),
      (verbs) => verbs.includes('watch'),
      { what: 'a watch of the Secret that the Egress names' },
    )
    await expect(allowedVerbs('osm-controller', asking)).resolves.toEqual(['get', 'list', 'watch', 'patch', 'delete'])
    await server.api.create(AccessCert, accessCert('caller.example'), { signal })
    const certificate = async () =>
      (await server.api.get(Secret, { namespace: asking, name: 'caller' }, signal))?.metadata
    const first = await eventually(certificate, (found) => found !== undefined)
    await expect(allowedVerbs('osm-controller', asking)).resolves.toEqual(secretVerbs)
    await server.api.mergePatch(
      AccessCert,
      { namespace: asking, name: 'caller' },
      { spec: accessCert('other.example').spec },
      { signal },
    )
    await eventually(certificate, (found) => found?.resourceVersion !== first?.resourceVersion)
    for (const [type, name] of [
      [AccessCert, 'caller'],
      [Egress, 'pay'],
    ] as const)
      await server.api.delete(type, { namespace: asking, name }, { signal })
    await eventually(
      () => allowedVerbs('osm-controller', asking),
      (verbs) => verbs.join() === controllerVerbs.join(),
    )
    await eventually(certificate, (found) => found === undefined)
    await expect(usedVerbs('osm-controller', asking)).resolves.toEqual(secretVerbs.filter((verb) => verb !== 'patch'))
  })

  describe('a token of a program that was stolen', () => {
    const user = { namespace: monitored, name: 'of-a-user' }
    const labels = { 'app.kubernetes.io/instance': 'rbac', 'osm-proxy-uuid': 'ffffffff-ffff-4fff-8fff-ffffffffffff' }
    const manifest = (more: object) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      ...more,
      metadata: { ...user, labels, ...(more as { readonly metadata?: object }).metadata },
    })

    beforeAll(async () => {
      await server.api.create(
        Secret,
        { apiVersion: 'v1', kind: 'Secret', metadata: user, stringData: { word: 'secret' } },
        { signal },
      )
    })

    it('of the injector reads and changes no Secret of a user', async () => {
      const api = await asProgram('osm-injector')
      await expect(api.get(Secret, user, signal)).rejects.toMatchObject({ status: 403 })
      await expect(api.list(Secret, { namespace: monitored }, signal)).rejects.toMatchObject({ status: 403 })
      await expect(api.delete(Secret, user, { signal })).rejects.toMatchObject({ status: 403 })
      await expect(api.mergePatch(Secret, user, {}, { signal })).rejects.toMatchObject({ status: 422 })
      await expect(api.mergePatch(Secret, user, { metadata: { labels } }, { signal })).rejects.toMatchObject({
        status: 422,
      })
      await expect(api.replace(Secret, manifest({}), { signal })).rejects.toMatchObject({ status: 422 })
    })

    it('of the injector has no token of another account made', async () => {
      const api = await asProgram('osm-injector')
      const metadata = {
        namespace: monitored,
        name: 'sidecar-bootstrap-config-token',
        annotations: { 'kubernetes.io/service-account.name': 'default' },
      }
      const token = manifest({ type: 'kubernetes.io/service-account-token', metadata })
      await expect(api.create(Secret, token, { signal })).rejects.toMatchObject({ status: 422 })
      await expect(api.create(Secret, manifest({ type: 'Opaque' }), { signal })).rejects.toMatchObject({ status: 422 })
    })

    it('of the controller changes and deletes no Secret of a user', async () => {
      const api = await asProgram('osm-controller')
      await expect(api.mergePatch(Secret, user, { metadata: { labels } }, { signal })).rejects.toMatchObject({
        status: 422,
      })
      await expect(api.delete(Secret, user, { signal })).rejects.toMatchObject({ status: 422 })
      await expect(secretNames(monitored)).resolves.toContain(user.name)
    })

    it('of the controller binds roles in namespaces of the mesh only, and to the control plane only', async () => {
      const api = await asProgram('osm-controller')
      const name = `osm-${mesh.name}-egress-secrets`
      const binding = (namespace: string, subject: string) => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { namespace, name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [{ kind: 'ServiceAccount', name: 'osm-controller', namespace: subject }],
      })
      const create = (namespace: string, subject: string): Promise<unknown> =>
        api.create(RoleBinding, binding(namespace, subject), { signal, dryRun: true })
      await expect(create('kube-system', mesh.namespace)).rejects.toMatchObject({ status: 422 })
      await expect(create(unmonitored, mesh.namespace)).rejects.toMatchObject({ status: 422 })
      await expect(create(monitored, monitored)).rejects.toMatchObject({ status: 422 })
      await expect(create(monitored, mesh.namespace)).resolves.toBeDefined()
    })
  })

  describe('the page', () => {
    const viewer = { namespace: monitored, name: 'viewer' }
    const stranger = { namespace: monitored, name: 'stranger' }
    const audience = 'osm-dashboard'
    let roots: string
    let page: string

    const askPage = (path: string, asked: Omit<SecureRequest, 'roots' | 'serverName' | 'signal'> = {}) =>
      askSecurely(`${page}${path}`, { roots, serverName: `osm-dashboard.${mesh.namespace}.svc`, signal, ...asked })

    beforeAll(async () => {
      const name = { namespace: '', name: `osm-validator-mesh-${mesh.name}` }
      const found = (await server.api.get(ValidatingWebhookConfiguration, name, signal)) as unknown as {
        readonly webhooks: readonly { readonly clientConfig: { readonly caBundle: string } }[]
      }
      roots = Buffer.from(found.webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString('utf8')
      const [address] = await mesh.endpoints('osm-dashboard')
      page = `https://${address ?? ''}:8443`
      for (const metadata of [viewer, stranger])
        await server.api.post(
          `/api/v1/namespaces/${metadata.namespace}/serviceaccounts`,
          { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
          signal,
        )
      const binding = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { namespace: mesh.namespace, name: 'viewers' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'osm-dashboard-viewer' },
        subjects: [{ kind: 'ServiceAccount', ...viewer }],
      }
      await server.api.create(RoleBinding, binding, { signal })
    })

    it('is shown to no one without a token that the API server accepts for it', async () => {
      const paths = ['/page.js', '/api/events', '/api/policy?uuid=x']
      const tokens = [undefined, 'nonsense', await server.tokenFor(viewer), await server.tokenFor(viewer, 'other')]
      for (const token of tokens)
        for (const path of paths)
          await expect(askPage(path, token === undefined ? {} : { token })).resolves.toMatchObject({ status: 401 })
      const question = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
      await expect(askPage('/api/why', question)).resolves.toMatchObject({ status: 401 })
      await expect(askPage('/')).resolves.toMatchObject({ status: 303, headers: { location: 'login' } })
    })

    it('is not shown to an account without the right to see it', async () => {
      const token = await server.tokenFor(stranger, audience)
      const answer = await askPage('/api/events', { token })
      expect(answer.status).toBe(403)
      expect(answer.text).toContain('Role osm-dashboard-viewer')
    })

    it('shows the mesh to an account with that right, and answers its questions', async () => {
      const token = await server.tokenFor(viewer, audience)
      const events = await askPage('/api/events', { token, until: 'event: problems' })
      expect(events.status).toBe(200)
      expect(events.text).toContain(`control plane in namespace ${mesh.namespace}`)
      expect(events.text).not.toContain('does not answer')
      const body = JSON.stringify({
        from: `${monitored}/default`,
        to: `${monitored}/nowhere`,
        method: 'GET',
        path: '/',
        headers: '',
      })
      const why = await askPage('/api/why', {
        token,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      expect(why.status).toBe(200)
      expect(why.text).toContain(monitored)
    })

    it('is read from controllers that answer its account alone', async () => {
      const [address] = await mesh.endpoints('osm-controller')
      const account = { namespace: mesh.namespace, name: 'osm-dashboard' }
      const pages = `osm-controller-pages.${mesh.name}`
      const status = async (token?: string, path = '/debug/status') =>
        (
          await askSecurely(`https://${address ?? ''}:9098${path}`, {
            roots,
            serverName: 'osm-pages.cluster.local',
            signal,
            ...(token !== undefined && { token }),
          })
        ).status
      await expect(status()).resolves.toBe(401)
      await expect(status(await server.tokenFor(account))).resolves.toBe(401)
      await expect(status(await server.tokenFor(viewer, pages))).resolves.toBe(401)
      const token = await server.tokenFor(account, pages)
      await expect(status(token)).resolves.toBe(200)
      await expect(status(token, '/debug/config')).resolves.toBe(404)
    })
  })

  it('they have requested nothing that they may not have, and for no Secrets across namespaces', async () => {
    const outside = await asked(
      ({ objectRef }) =>
        objectRef?.resource === 'secrets' &&
        ![mesh.namespace, monitored, unbound, asking].includes(objectRef.namespace ?? 'the whole cluster'),
    )
    expect(outside).toEqual([])
    const refused = await asked(({ responseStatus }) => responseStatus?.code === 403)
    // The refusals that are expected: requests before the leader has bound the role for them.
    const isBeforeBinding = ({ objectRef }: AuditEvent): boolean =>
      objectRef?.resource === 'secrets' && [unbound, asking].includes(objectRef.namespace ?? '')
    expect(refused.filter((event) => !isBeforeBinding(event))).toEqual([])
    expect((await asked(() => true)).length).toBeGreaterThan(0)
  })
})
