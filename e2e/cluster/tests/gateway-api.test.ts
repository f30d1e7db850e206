import { readFileSync, readdirSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { root } from '../../../tools/lib/paths.mjs'
import { tryCommand } from '../run-command.js'
import { haproxyValues } from '../support/driver-package.js'
import { clusterTest } from '../support/failure-report.js'
import { failedTests, findingsOf, keptReport } from '../support/gateway-api-report.js'
import { Mesh } from '../support/mesh.js'
import { SharedCluster } from '../support/shared-cluster.js'

const setUpTimeoutMs = 540_000
const suiteTimeoutMs = 840_000
const logs = join(root, '.cache/cluster-reports')

/** Where set-up has put the suite. Without it, jest.config.mjs leaves this file out. */
const suite = process.env.OSM_GATEWAY_API ?? ''

/** Of the pods. Another class than this one is run on demand: it needs an image of its sidecar, and minutes that the tier does not have. */
const sidecarClass = process.env.OSM_GATEWAY_API_CLASS ?? 'envoy'

const profiles = sidecarClass === 'envoy' ? ['MESH-HTTP', 'MESH-GRPC'] : ['MESH-HTTP']
/** Everything that HTTPRoutes have beyond the core of the profile. */
const httpFeatures = [
  'MeshClusterIPMatching',
  'MeshConsumerRoute',
  'MeshHTTPRouteBackendRequestHeaderModification',
  'MeshHTTPRouteNamedRouteRule',
  'MeshHTTPRouteQueryParamMatching',
  'MeshHTTPRouteRedirectPath',
  'MeshHTTPRouteRedirectPort',
  'MeshHTTPRouteRewritePath',
  'MeshHTTPRouteSchemeRedirect',
  // Of other profiles; more tests of meshes are run with them.
  'HTTPRoute303RedirectStatusCode',
  'HTTPRoute307RedirectStatusCode',
  'HTTPRoute308RedirectStatusCode',
  'HTTPRouteParentRefPort',
  'HTTPRouteResponseHeaderModification',
]
/** Features that a class has beyond the core of the profiles. */
const features: Readonly<Record<string, readonly string[]>> = {
  envoy: httpFeatures,
  pipy: httpFeatures,
  haproxy: httpFeatures,
}
/** Half of it calls the address of a pod behind a Service with a cluster IP, which class envoy alone carries. */
const leftOut = sidecarClass === 'envoy' ? [] : ['MeshFrontend']
/** Of the namespaces of the suite. */
const annotations = { 'openservicemesh.io/sidecar-injection': 'enabled', 'openservicemesh.io/pod-addresses': 'enabled' }

let cluster: SharedCluster
let mesh: Mesh
let folder: string

const test = (name: string, run: () => Promise<void>): void => clusterTest(name, () => cluster, run, suiteTimeoutMs)

beforeAll(async () => {
  cluster = SharedCluster.open()
  folder = await mkdtemp(join(tmpdir(), 'osm-gateway-api-'))
  const crds = join(suite, 'crds')
  const files = readdirSync(crds).flatMap((name) => ['-f', join(crds, name)])
  // Applied by the server: a definition is too large for the annotation of the other way. Meshes of other files notice the definitions, and may.
  await cluster.kubectl.run(['apply', '--server-side', ...files])
  mesh = await Mesh.install(cluster, {
    name: 'gateway-api',
    values: {
      enablePermissiveTrafficPolicy: true,
      ...(sidecarClass === 'haproxy' ? await haproxyValues(cluster) : {}),
    },
    sidecarClass,
  })
}, setUpTimeoutMs)

afterAll(async () => {
  await mesh.uninstall()
  await rm(folder, { recursive: true, force: true })
}, setUpTimeoutMs)

interface SuiteRun {
  /** What the suite says, line by line. */
  readonly log: string
  readonly report: string
}

/** Runs the suite to its end. */
async function runSuite(): Promise<SuiteRun> {
  const { version } = JSON.parse(readFileSync(join(root, 'packages/controller/package.json'), 'utf8')) as {
    readonly version: string
  }
  const path = join(folder, 'report.yaml')
  const settings = {
    'conformance-profiles': profiles.join(','),
    'supported-features': (features[sidecarClass] ?? []).join(','),
    'skip-tests': leftOut.join(','),
    'namespace-labels': `openservicemesh.io/monitored-by=${mesh.name}`,
    'namespace-annotations': Object.entries(annotations)
      .map(([name, value]) => `${name}=${value}`)
      .join(','),
    mode: `class-${sidecarClass}`,
    organization: 'osm-ts',
    project: 'osm-ts',
    url: 'README.md',
    version: `v${version}`,
    contact: 'MAINTAINERS.md',
    'report-output': path,
  }
  const args = ['-test.v', ...Object.entries(settings).map(([name, value]) => `-${name}=${value}`)]
  const options = { env: { KUBECONFIG: cluster.kubeconfig }, timeoutMs: suiteTimeoutMs - 60_000 }
  const { stdout, stderr } = await tryCommand(join(suite, 'suite'), args, options)
  const log = stdout + stderr
  await mkdir(logs, { recursive: true })
  await writeFile(join(logs, 'gateway-api.log'), log)
  return { log, report: await readFile(path, 'utf8') }
}

describe('the conformance suite of the Gateway API', () => {
  test(`finds of class ${sidecarClass} what its kept report says`, async () => {
    const { log, report } = await runSuite()
    const kept = findingsOf(keptReport(sidecarClass, report))
    expect(findingsOf(report)).toEqual(kept)
    // Tests outside of every profile are not in the report, so that none of them may fail.
    expect(failedTests(log)).toEqual(kept.failed)
  })
})
