import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { stringify } from 'yaml'

import { type Summary, summarize } from './statistics.js'

/** `osm analyze` of a folder, from its start to its end. */
export interface Analyze {
  readonly objects: number
  /** Milliseconds. */
  readonly wall: Summary
  /** Milliseconds of processors, which other work on the machine touches less. */
  readonly processor: Summary
}

const NAMESPACES = 50
/** Of each service: its account, itself, its routes, who may call it, and its Deployment. */
const OBJECTS_OF_SERVICE = 5
/** Has a process say at its end what it took. */
const TELL_USAGE =
  'data:text/javascript,process.on("exit",()=>{const{userCPUTime:u,systemCPUTime:s}=process.resourceUsage();process.stderr.write(`\\nmicroseconds ${u+s}`)})'

/** Analyzes a folder in which nothing is wrong: each service has a file, and is called by another one. */
export async function measureAnalyze(options: {
  readonly program: string
  readonly objects: number
  readonly rounds: number
}): Promise<Analyze> {
  const run = promisify(execFile)
  const folder = mkdtempSync(join(tmpdir(), 'osm-bench-analyze-'))
  const services = options.objects / OBJECTS_OF_SERVICE
  const [wall, processor]: [number[], number[]] = [[], []]
  try {
    for (let index = 0; index < services; index += 1)
      writeFileSync(join(folder, `service-${index}.yaml`), serviceFile(index, services))
    // The first reads the program from the disk.
    for (let n = 0; n <= options.rounds; n += 1) {
      const start = performance.now()
      const { stdout, stderr } = await run(process.execPath, [
        '--import',
        TELL_USAGE,
        options.program,
        'analyze',
        folder,
      ])
      if (!stdout.includes('0 errors, 0 warnings'))
        throw new Error(`nothing is wrong in the folder, and osm says:\n${stdout}`)
      if (n === 0) continue
      wall.push(performance.now() - start)
      processor.push(Number(/microseconds (\d+)/.exec(stderr)?.[1]) / 1000)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  return { objects: options.objects, wall: summarize(wall), processor: summarize(processor) }
}

function serviceFile(index: number, services: number): string {
  const place = (of: number): { readonly name: string; readonly namespace: string } => ({
    name: `app-${of}`,
    namespace: `namespace-${of % NAMESPACES}`,
  })
  const metadata = place(index)
  const account = (of: number): object => ({ kind: 'ServiceAccount', ...place(of) })
  const labels = { app: metadata.name }
  const container = {
    name: 'app',
    image: 'app',
    ports: [{ name: 'http', containerPort: 8080 }],
    readinessProbe: { httpGet: { path: '/', port: 8080 } },
  }
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    },
    {
      apiVersion: 'specs.smi-spec.io/v1alpha4',
      kind: 'HTTPRouteGroup',
      metadata,
      spec: { matches: [{ name: 'all', pathRegex: `/${metadata.name}/.*`, methods: ['GET'] }] },
    },
    {
      apiVersion: 'access.smi-spec.io/v1alpha3',
      kind: 'TrafficTarget',
      metadata,
      spec: {
        destination: account(index),
        rules: [{ kind: 'HTTPRouteGroup', name: metadata.name, matches: ['all'] }],
        sources: [account((index + 1) % services)],
      },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { serviceAccountName: metadata.name, containers: [container] },
        },
      },
    },
  ]
  // As people write them: YAML, which takes longer to read than JSON.
  return objects.map((object) => stringify(object)).join('---\n')
}
