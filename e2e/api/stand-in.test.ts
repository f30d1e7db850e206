import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { resourceTypes } from '@osm-ts/kubernetes'
import { eventually } from '@osm-ts/driver-api/toolkit'
import { sharedApiServer, type ApiServer } from './harness/index.js'
import { ClusterStandIn, prepareImages, requestFrom, type Deployment, type Job } from './stand-in/index.js'

const signal = AbortSignal.timeout(120_000)
const namespace = 'stand-in-test'

describe('what replaces the rest of a cluster', () => {
  let server: ApiServer
  let cluster: ClusterStandIn

  beforeAll(async () => {
    server = await sharedApiServer()
    cluster = await ClusterStandIn.start({ server, images: prepareImages(server.folder, process.env) }, signal)
    await cluster.createNamespace(namespace)
  })

  afterAll(() => cluster.stop())

  async function createJob(name: string, script: string): Promise<Job> {
    const volumeMounts = [{ name: 'settings', mountPath: '/etc/settings' }]
    const container = { name: 'main', image: 'busybox', command: ['/bin/sh', '-c', script], volumeMounts }
    const volumes = [{ name: 'settings', configMap: { name: 'settings', optional: true } }]
    const spec = { template: { spec: { restartPolicy: 'Never', containers: [container], volumes } }, backoffLimit: 0 }
    const metadata = { name, namespace }
    await server.api.create(resourceTypes.Job, { apiVersion: 'batch/v1', kind: 'Job', metadata, spec }, { signal })
    return eventually(
      async () => (await server.api.get(resourceTypes.Job, metadata, signal)) as unknown as Job,
      ({ status }) => status?.conditions?.some(({ type }) => type === 'Complete' || type === 'Failed') ?? false,
    )
  }

  it('runs the pods of a Deployment and leads its Service to them', async () => {
    const labels = { app: 'greeter' }
    const container = {
      name: 'main',
      image: 'localhost/http-server:v1',
      env: [
        { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'HOST', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
        { name: 'PORT', value: '8080' },
      ],
      ports: [{ name: 'http', containerPort: 8080 }],
      readinessProbe: { httpGet: { path: '/ready', port: 'http' } },
    }
    const template = { metadata: { labels }, spec: { containers: [container] } }
    const metadata = { name: 'greeter', namespace }
    const spec = { replicas: 2, selector: { matchLabels: labels }, template }
    await server.api.create(
      resourceTypes.Deployment,
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec },
      { signal },
    )
    const service = { clusterIP: 'None', selector: labels, ports: [{ port: 80, targetPort: 'http' }] }
    await server.api.create(
      resourceTypes.Service,
      { apiVersion: 'v1', kind: 'Service', metadata, spec: service },
      { signal },
    )
    await eventually(
      async () => (await server.api.get(resourceTypes.Deployment, metadata, signal)) as unknown as Deployment,
      ({ status }) => status?.availableReplicas === 2,
    )

    const {
      items: [slice],
    } = await server.api.list(resourceTypes.EndpointSlice, { namespace }, signal)
    expect(slice).toMatchObject({ ports: [{ port: 8080 }] })
    const [one, other] = cluster.pods(namespace)
    const answer = await eventually(
      () => requestFrom(one!, `http://greeter:8080/hello`),
      ({ status }) => status === 200,
    )
    expect([one?.name, other?.name]).toContain((JSON.parse(answer.body) as { readonly server: string }).server)

    await server.api.delete(resourceTypes.Deployment, metadata, { signal })
    await eventually(
      () => cluster.pods(namespace).length,
      (count) => count === 0,
    )
  })

  it('runs Jobs to their end, and tells failure from success', async () => {
    await expect(createJob('good', 'true')).resolves.toMatchObject({
      status: { conditions: [{ type: 'SuccessCriteriaMet' }, { type: 'Complete' }] },
    })
    await expect(createJob('bad', 'exit 3')).resolves.toMatchObject({
      status: { conditions: [{ type: 'FailureTarget' }, { type: 'Failed' }] },
    })
  })

  it('mounts volumes and the token of the service account, for no one but the pod', async () => {
    const settings = { metadata: { name: 'settings', namespace }, data: { colour: 'green' } }
    await server.api.create(resourceTypes.ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', ...settings }, { signal })
    const account = '/var/run/secrets/kubernetes.io/serviceaccount'
    const checks = [
      `test -s ${account}/token`,
      `grep -q CERTIFICATE ${account}/ca.crt`,
      `grep -qx ${namespace} ${account}/namespace`,
      'grep -qx green /etc/settings/colour',
      'grep -q localhost /etc/hosts',
    ]
    await expect(createJob('mounted', checks.join(' && '))).resolves.toMatchObject({
      status: { conditions: [{ type: 'SuccessCriteriaMet' }, { type: 'Complete' }] },
    })
    expect([existsSync('/etc/settings'), existsSync(account)]).toEqual([false, false])
  })

  it('lets nothing out of the network of a pod', async () => {
    const metadata = { name: 'alone', namespace }
    const spec = { containers: [{ name: 'main', image: 'localhost/idle' }] }
    await server.api.create(resourceTypes.Pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec }, { signal })
    const pod = await eventually(
      () => cluster.pods(namespace).find(({ isReady }) => isReady),
      (found) => found !== undefined,
    )
    await expect(requestFrom(pod!, 'http://192.0.2.77/')).resolves.toMatchObject({ status: 0, error: 'ENETUNREACH' })
  })
})
