import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

import { fakeContext, typedInput } from '../../test/fake-context.js'
import type { Findings } from '../analyze/findings.js'
import { runCli } from '../run-cli.js'

const split = (name: string, annotations = ''): string => `apiVersion: split.smi-spec.io/v1alpha2
kind: TrafficSplit
metadata: { name: ${name}, namespace: shop${annotations} }
spec: { service: '<none> & "more"', backends: [{ service: store, weight: 100 }] }
`
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: store, namespace: shop }
spec: {}
`
const service = `apiVersion: v1
kind: Service
metadata: { name: store, namespace: shop }
spec: { selector: { app: store }, ports: [{ port: 80 }] }
`
const namespace = `apiVersion: v1
kind: Namespace
metadata:
  name: shop
  labels:
    openservicemesh.io/monitored: osm
  annotations:
    openservicemesh.io/monitored-by: osm
`
const idle = `apiVersion: policy.openservicemesh.io/v1alpha1
kind: Egress
metadata: { name: idle, namespace: shop }
spec: { sources: [], hosts: [example.com], ports: [{ number: 80, protocol: http }], colour: red }
`

describe('osm analyze', () => {
  let cwd: string
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), 'osm-analyze-'))
    const suppressed = ', annotations: { openservicemesh.io/suppress-findings: "OSM_SPEC_SPLIT_*, OSM_OTHER" }'
    const files = {
      bad: split('bad').replace(`'<none> & "more"'`, 'none'),
      odd: split('odd'),
      quiet: split('quiet', suppressed).replace(`'<none> & "more"'`, 'none'),
      deployment,
      idle,
      namespace,
      service,
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, `${name}.yaml`), text)
  })
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))

  let input = ''
  async function analyze(...args: readonly string[]): Promise<{ code: number; out: string; err: string }> {
    const { context, stdout, stderr } = fakeContext({ cwd, stdin: () => typedInput([input]) })
    const code = await runCli(['analyze', ...args], context)
    return { code, out: stdout.text, err: stderr.text }
  }

  async function findings(...args: readonly string[]): Promise<Findings> {
    return JSON.parse((await analyze(...args, '-o', 'json')).out) as Findings
  }

  it('reads objects of the mesh and workloads from standard input, beside files', async () => {
    const pod = 'containers: [{ name: store, image: store }]'
    const template = `template: { metadata: { annotations: { openservicemesh.io/sidecar-injection: perhaps } }, spec: { ${pod} } }`
    input = [
      split('piped').replace(`'<none> & "more"'`, 'none'),
      deployment.replace('spec: {}', `spec: { ${template} }`),
    ].join('---\n')
    const found = (await findings('-', 'service.yaml', '-')).findings
    const places = found.map(({ object, origin }) => [object?.kind, origin?.kind === 'file' && origin.file])
    expect(places).toContainEqual(['TrafficSplit', 'standard input'])
    expect(places).toContainEqual(['Deployment', 'standard input'])
    expect(found.filter(({ code }) => code === 'OSM_SPEC_DUPLICATE')).toEqual([])
    input = 'x'.repeat(11 * 1024 * 1024)
    const { code, err } = await analyze('-')
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('standard input cannot be read: has more than 10485760 bytes'),
    ])
  })

  it('finds what is wrong in files, and names file, line, object and code', async () => {
    const { code, out } = await analyze('bad.yaml', 'service.yaml')
    expect(code).toBe(1)
    expect(out).toMatch(/^bad\.yaml:4:\d+: error OSM_SPEC_SPLIT_SERVICE {2}TrafficSplit shop\/bad: spec\.service$/m)
    expect(out).toMatch(/^1 error, \d+ warnings?$/m)
  })

  it('leaves out what the annotation of an object or an option suppresses, and counts it', async () => {
    const found = await findings('quiet.yaml', 'service.yaml')
    expect(found.findings.map(({ code }) => code)).not.toContain('OSM_SPEC_SPLIT_SERVICE')
    expect(found.suppressed).toContainEqual(expect.objectContaining({ code: 'OSM_SPEC_SPLIT_SERVICE' }))
    expect((await analyze('quiet.yaml', 'service.yaml')).out).toMatch(/^\d suppressed/m)
    expect(await analyze('bad.yaml', 'service.yaml', '--suppress', 'OSM_SPEC_SPLIT_SERVICE')).toMatchObject({ code: 0 })
    expect(await analyze('bad.yaml', 'quiet.yaml', 'service.yaml')).toMatchObject({ code: 1 })
  })

  it('counts objects of other programs instead of warning of each', async () => {
    const found = await findings('deployment.yaml', 'service.yaml')
    expect(found).toMatchObject({ foreignObjects: 1 })
    expect(found.findings.map(({ code }) => code)).not.toContain('OSM_SPEC_KIND')
    expect((await analyze('deployment.yaml', 'service.yaml')).out).toContain('1 objects of other programs')
  })

  it('finds labels and annotations that look like those of the mesh, in their line', async () => {
    const { out, code } = await analyze('namespace.yaml')
    expect(code).toBe(0)
    expect(out).toMatch(
      /^namespace\.yaml:6:\d+: warning OSM_ANALYZE_KEY_UNKNOWN {2}Namespace shop: metadata\.labels\["openservicemesh\.io\/monitored"\]$/m,
    )
    expect(out).toMatch(/^namespace\.yaml:8:\d+: warning OSM_ANALYZE_KEY_MISPLACED/m)
    expect((await findings('namespace.yaml')).suppressed).toEqual([])
  })

  it('keeps to one namespace', async () => {
    expect((await findings('bad.yaml', '-n', 'bank')).findings).toEqual([])
    expect((await findings('bad.yaml', '-n', 'shop')).findings).not.toEqual([])
  })

  it('fails on warnings only where that is asked for', async () => {
    const { findings: found } = await findings('idle.yaml')
    expect(found.map(({ severity }) => severity)).toContain('warning')
    expect((await analyze('idle.yaml')).code).toBe(0)
    expect((await analyze('idle.yaml', '--fail-on', 'warning')).code).toBe(1)
    expect((await analyze('bad.yaml', '--fail-on', 'never')).code).toBe(0)
  })

  it('writes SARIF with a rule for each code and the place of each finding', async () => {
    const report = JSON.parse((await analyze('bad.yaml', 'service.yaml', '-o', 'sarif')).out) as {
      runs: readonly [
        {
          tool: { driver: { rules: readonly { id: string; shortDescription: { text: string } }[] } }
          results: readonly { ruleId: string; ruleIndex: number; level: string; locations: readonly unknown[] }[]
        },
      ]
    }
    const [{ tool, results }] = report.runs
    const result = results.find(({ ruleId }) => ruleId === 'OSM_SPEC_SPLIT_SERVICE')
    expect(result).toMatchObject({
      level: 'error',
      locations: [
        {
          physicalLocation: { artifactLocation: { uri: 'bad.yaml' }, region: { startLine: 4 } },
          logicalLocations: [{ fullyQualifiedName: 'TrafficSplit shop/bad spec.service' }],
        },
      ],
    })
    expect(tool.driver.rules[result?.ruleIndex ?? -1]).toMatchObject({
      id: 'OSM_SPEC_SPLIT_SERVICE',
      shortDescription: { text: expect.stringContaining('TrafficSplit') as unknown },
    })
  })

  it('writes a JUnit report that what a user wrote cannot break', async () => {
    const { out, code } = await analyze('odd.yaml', '-o', 'junit')
    expect(code).toBe(1)
    expect(out).toMatch(/<testsuites tests="\d+" failures="[1-9]/)
    expect(out).toContain('&lt;none&gt; &amp; ')
    expect(out).not.toContain('<none>')
    expect((await analyze('service.yaml', '--suppress', 'OSM_*', '-o', 'junit')).out).toContain('name="no findings"')
  })

  it('refuses --against-mesh without files, and a file that is not there', async () => {
    expect(await analyze('--against-mesh')).toMatchObject({ code: 2 })
    expect(await analyze('no.yaml')).toMatchObject({
      code: 1,
      err: expect.stringContaining('OSM_CLI_INPUT') as unknown,
    })
  })
})
