import { describe, expect, it } from '@jest/globals'
import { parseAllDocuments } from 'yaml'

import { fakeContext } from '../../test/fake-context.js'
import { runCli } from '../run-cli.js'

const testdata = new URL('../../testdata/inject', import.meta.url).pathname

async function injectWith(
  variables: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { context, stdout, stderr } = fakeContext({ cwd: testdata, variables })
  const code = await runCli(['inject', ...args], context)
  return { code, stdout: stdout.text, stderr: stderr.text }
}

const inject = (...args: readonly string[]): ReturnType<typeof injectWith> => injectWith({}, ...args)

interface Manifest {
  readonly kind: string
  readonly spec: {
    readonly template?: Template
    readonly jobTemplate?: { readonly spec: { readonly template: Template } }
  }
}
interface Template {
  readonly metadata: Readonly<Record<string, unknown>>
  readonly spec: Readonly<Record<'containers' | 'initContainers', readonly { readonly name: string }[]>>
}

describe('osm inject', () => {
  it('prints the objects with their sidecars, and all others as they are', async () => {
    const { code, stdout, stderr } = await inject('-f', 'objects.yaml', '-c', 'mesh.yaml')
    expect([code, stderr]).toEqual([0, ''])
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest)
    expect(objects.map(({ kind }) => kind)).toEqual(['Deployment', 'Service', 'Pod', 'CronJob', 'StatefulSet'])
    const templates = [objects[0]?.spec.template, objects[3]?.spec.jobTemplate?.spec.template]
    for (const template of templates) {
      expect(template?.spec.initContainers.map(({ name }) => name)).toEqual(['osm-init', 'sidecar'])
      // The name and the namespace are for the controller to give.
      expect(Object.keys(template?.metadata ?? {}).sort()).toEqual(['annotations', 'labels'])
    }
    expect(stdout).not.toContain('PRIVATE')
  })

  it.each([
    ['injected', {}, []],
    ['injected', { OSM_NAMESPACE: '' }, []],
    ['skipped', { OSM_NAMESPACE: 'shop' }, []],
    ['skipped', {}, ['--osm-namespace', 'shop']],
    ['injected', { OSM_NAMESPACE: 'shop' }, ['--osm-namespace', 'mesh']],
  ])('has a pod %s by %j and %j: none of the control plane gets a sidecar', async (expected, variables, flags) => {
    const { stdout } = await injectWith(variables, '-f', 'objects.yaml', '-c', 'mesh.yaml', '--explain', ...flags)
    expect(stdout).toContain(`Deployment shop/books: ${expected}`)
  })

  it('injects every object with a pod template, and says which ones it passes over', async () => {
    const { code, stdout } = await inject('-f', 'other-kinds.yaml', '--explain')
    expect(code).toBe(0)
    for (const title of ['Rollout shop/r', 'DeploymentConfig shop/dc', 'PodTemplate shop/pt'])
      expect(stdout).toContain(`${title}: injected`)
    expect(stdout).toContain('ConfigMap shop/c: skipped, it has no pod template\n')
    expect(stdout).toContain(
      'Fleet shop/f: skipped, its pod template at spec.server.pods is not at a known path; use --template-path spec.server.pods\n',
    )
  })

  it('injects a pod template at the path that is given, and warns of it otherwise', async () => {
    const without = await inject('-f', 'other-kinds.yaml')
    expect(without.stderr).toContain('Fleet shop/f: skipped')
    const { stdout, stderr } = await inject(
      '-f',
      'other-kinds.yaml',
      '--template-path',
      'spec.server.pods',
      '--explain',
    )
    expect(stdout).toContain('Fleet shop/f: injected')
    expect(stderr).toBe('')
  })

  it('explains each decision', async () => {
    const { code, stdout } = await inject('-f', 'objects.yaml', '-c', 'mesh.yaml', '--explain')
    expect(code).toBe(0)
    expect(stdout.split('\n')).toEqual([
      'Deployment shop/books: injected (envoy)',
      '  enabled by annotation openservicemesh.io/sidecar-injection of namespace shop',
      '  sidecar class envoy, by MeshConfig',
      '  liveness probe of container app goes to port 15901 of the sidecar, which asks port 8080 by http',
      '  readiness probe of container app stays: port 9100 is excluded from redirection, so that it reaches the workload',
      'Pod shop/node-agent: skipped (host-network)',
      '  the pod uses the network of its node, whose traffic is not its own to redirect',
      'CronJob shop/nightly: injected (envoy)',
      '  enabled by annotation openservicemesh.io/sidecar-injection of namespace shop',
      '  sidecar class envoy, by MeshConfig',
      'StatefulSet elsewhere/db: skipped (unmonitored-namespace)',
      '  namespace elsewhere has no label openservicemesh.io/monitored-by=osm; osm namespace add elsewhere sets it',
      'Service shop/books: skipped, it has no pod template',
      '',
    ])
  })

  it('shows the changes, where they belong in the object', async () => {
    const { stdout } = await inject('-f', 'objects.yaml', '-c', 'mesh.yaml', '--diff', '--native-sidecar', 'off')
    const lines = stdout.split('\n').filter((line) => !line.startsWith('    '))
    expect(lines.slice(0, 8)).toEqual([
      'Deployment shop/books',
      '+ /spec/template/metadata/labels/osm-proxy-uuid',
      '+ /spec/template/metadata/annotations',
      '~ /spec/template/spec/containers/0/livenessProbe/httpGet/path',
      '~ /spec/template/spec/containers/0/livenessProbe/httpGet/port',
      '+ /spec/template/spec/containers/1',
      '+ /spec/template/spec/initContainers',
      '+ /spec/template/spec/volumes',
    ])
    expect(lines).toContain('  no change')
    expect(stdout).toContain('    image: example/envoy:1')
  })

  it('gives the same as JSON', async () => {
    const explained = JSON.parse(
      (await inject('-f', 'objects.yaml', '-c', 'mesh.yaml', '--explain', '-o', 'json')).stdout,
    ) as unknown
    expect(explained).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          title: 'Pod shop/node-agent',
          outcome: 'skipped',
          reason: 'host-network',
          operations: [],
        }),
      ]),
    )
    const list = JSON.parse((await inject('-f', 'objects.yaml', '-o', 'json')).stdout) as { readonly kind: string }
    expect(list.kind).toBe('List')
  })

  it('takes a namespace that it knows nothing of for one of the mesh, and says so', async () => {
    const { stdout } = await inject('-f', 'objects.yaml', '--explain')
    expect(stdout).toContain(
      'StatefulSet elsewhere/db: injected (envoy)\n  namespace elsewhere is not in the config and is treated as part of the mesh',
    )
  })

  it('ends with 1 when a pod would be refused, and says why', async () => {
    const { code, stderr } = await inject('-f', 'refused.yaml')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /^osm: Job default\/once would be refused: annotation .*outbound-port-exclusion-list of the pod: "80;--flag" is not a port.*\[OSM_INJECT_ANNOTATION\]\n/,
    )
    expect(stderr).toMatch(
      /\nosm: Deployment default\/books would be refused: .*spec.containers is not a list of containers.*\[OSM_INJECT_POD\]\n$/,
    )
    const { stdout } = await inject('-f', 'refused.yaml', '--explain')
    expect(stdout).toContain('Job default/once: refused (OSM_INJECT_ANNOTATION)')
  })

  it.each([
    [['-f', 'missing.yaml'], /missing.yaml cannot be read/],
    [['-f', 'refused.yaml', '-c', '../../package.json'], /object without a kind/],
    [['-f', 'refused.yaml', '-c', 'nothing'], /nothing cannot be read/],
  ])('says what is wrong with its files: %j', async (args, message) => {
    const { code, stderr } = await inject(...args)
    expect(code).toBe(1)
    expect(stderr).toMatch(message)
  })
})
